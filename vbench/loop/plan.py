"""From samples to the least work that answers them: each file once, each clip once, each text once.

A request is answered from stored predictions: for an encoder the clip's and the text's embedding,
for a pair scorer the pair's score, for a language model its reply. The plan knows which keys a
request needs and which pieces of work make them; what is already stored is not planned again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from vbench.loop.keys import Address, Base, digest, fingerprint, hash_file
from vbench.protocols import Encoder, PairScorer, Scores, TextScorer, VideoLanguageModel
from vbench.records import Clip, Request


class Sampler(Protocol):
    """What the plan needs to know of a sampler."""

    def digest(self) -> str:
        """Returns a text that changes whenever the chosen frames would."""
        ...


NO_FILE = ""
"""The path of what is asked of a language model without any video."""


@dataclass(frozen=True)
class TextWork:
    """Texts to embed, or to score, in one go."""

    texts: tuple[tuple[str, str], ...]
    """(key, text)."""


@dataclass(frozen=True)
class FileWork:
    """One file with everything that is asked of it: it is opened and decoded once."""

    path: str
    clips: tuple[tuple[str, Clip], ...]
    """(key, clip) to embed."""
    pairs: tuple[tuple[str, Clip, str], ...] = ()
    """(key, clip, text) to score."""
    asks: tuple[tuple[str, str, Request], ...] = ()
    """(key, key of the clip it is about, request) to put to a language model."""
    fingerprint: str = ""
    """Hash of the content; not taken where no file is opened."""


Work = TextWork | FileWork


@dataclass
class Plan:
    """All work of a run, in a fixed order that every rank and every resumed run agrees on."""

    keys: dict[Request, tuple[str, ...]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    """key → text, for encoders and text scorers."""
    files: dict[str, FileWork] = field(default_factory=dict)
    """path → work."""
    bases: dict[str, Base] = field(default_factory=dict)
    """What the answers of this plan share, by digest."""
    addresses: dict[str, Address] = field(default_factory=dict)
    """key → what that answer is computed from; answers without one are not cached."""

    frame_base: str = ""
    """Digest of what the embeddings of single frames share; empty where there are none."""

    def base(self, fields: Base) -> str:
        """Adds a base and returns its digest."""
        name = digest(fields)
        self.bases[name] = fields
        return name

    def work(
        self, done: Collection[str], texts_per_batch: int, rank: int = 0, world: int = 1
    ) -> list[Work]:
        """Returns what is left for one rank: texts first, then files, then questions without one.

        The stripe is cut from the whole plan before finished keys are dropped, so ranks that look
        at the folder at different moments still cover everything exactly once.

        Args:
            done: Keys with a final row.
            texts_per_batch: Texts, or questions without a file, per piece of work.
            rank: This process, from 0.
            world: Number of processes.
        """
        mine = [item for item in list(self.texts.items())[rank::world] if item[0] not in done]
        chunks = range(0, len(mine), texts_per_batch)
        work: list[Work] = [TextWork(tuple(mine[i : i + texts_per_batch])) for i in chunks]
        for file in [file for file in self.files.values() if file.path][rank::world]:
            clips = tuple(item for item in file.clips if item[0] not in done)
            pairs = tuple(item for item in file.pairs if item[0] not in done)
            asks = tuple(item for item in file.asks if item[0] not in done)
            if asks:  # a clip that has its row is shown again for the questions that are left
                about = {clip for _, clip, _ in asks}
                clips = tuple(item for item in file.clips if item in clips or item[0] in about)
            if clips or pairs or asks:
                work.append(replace(file, clips=clips, pairs=pairs, asks=asks))
        blind = self.files[NO_FILE].asks[rank::world] if NO_FILE in self.files else ()
        left = [item for item in blind if item[0] not in done]
        chunks = range(0, len(left), texts_per_batch)
        work += [FileWork(NO_FILE, (), asks=tuple(left[i : i + texts_per_batch])) for i in chunks]
        return work

    def contents(self) -> dict[str, str]:
        """Returns the hash of the file behind each clip's key."""
        return {key: file.fingerprint for file in self.files.values() for key, _ in file.clips}

    def all_keys(self) -> set[str]:
        """Returns every key that must have a row when the run is complete."""
        return {key for keys in self.keys.values() for key in keys}


def plan_encoder(
    requests: Iterable[Request],
    model: Encoder,
    sampler: Sampler,
    precision: str,
    hash_file: Callable[[Path], str] = hash_file,
) -> Plan:
    """Plans a dual encoder: unique clips by file, unique texts.

    Args:
        requests: In sample order; repeated requests cost nothing.
        model: Its identity and preprocessing enter the keys.
        sampler: Chooses frames within each clip's span.
        precision: The arithmetic, part of every key.
        hash_file: Hashes one file's bytes; may remember.
    """
    plan = Plan()
    shared = {"model": model.identity(), "precision": precision}
    pixels = {"preprocess": model.preprocess.digest()}
    text_base = plan.base({"kind": "text", **shared})
    clip_base = plan.base({"kind": "clip", **shared, **pixels, "sampler": sampler.digest()})
    if not hasattr(type(model), "embed_clips"):
        plan.frame_base = plan.base({"kind": "frame", **shared, **pixels})
    clips: dict[str, dict[str, Clip]] = {}
    prints: dict[str, str] = {}
    for request in dict.fromkeys(requests):
        (clip,) = request.clips
        if clip.path not in prints:
            prints[clip.path] = fingerprint(clip.path, hash_file)
        at = Address(clip_base, f"{prints[clip.path]}:{clip.start_s}:{clip.end_s}")
        text = Address(text_base, request.text)
        plan.keys[request] = (clip_key, text_key) = (at.key, text.key)
        if clip_key not in plan.addresses:  # the same bytes under another path: encoded once
            clips.setdefault(clip.path, {})[clip_key] = clip
        plan.texts[text_key] = request.text
        plan.addresses |= {clip_key: at, text_key: text}
    plan.files = {
        path: FileWork(path, tuple(of.items()), fingerprint=prints[path])
        for path, of in clips.items()
    }
    return plan


def plan_pairs(requests: Iterable[Request], model: PairScorer) -> Plan:
    """Plans a pair scorer that opens no file: one row per pair, grouped by file.

    Args:
        requests: In sample order; repeated requests cost nothing.
        model: Its identity enters the keys.
    """
    plan = Plan()
    base = ["pair", model.identity()]
    pairs: dict[str, list[tuple[str, Clip, str]]] = {}
    for request in dict.fromkeys(requests):
        (clip,) = request.clips
        key = digest(*base, clip.video_id, clip.start_s, clip.end_s, request.text)
        pairs.setdefault(clip.path, []).append((key, clip, request.text))
        plan.keys[request] = (key,)
    plan.files = {path: FileWork(path, (), tuple(of)) for path, of in pairs.items()}
    return plan


def plan_texts(requests: Iterable[Request], model: TextScorer, precision: str) -> Plan:
    """Plans a model that scores texts by themselves: one row per unique text, whatever its clips.

    Args:
        requests: In sample order; repeated requests cost nothing.
        model: Its identity enters the keys.
        precision: The arithmetic, part of every key.
    """
    plan = Plan()
    name = scoring_identity(model)
    base = plan.base({"kind": "text score", "model": name, "precision": precision})
    for request in dict.fromkeys(requests):
        at = Address(base, request.text)
        plan.keys[request] = (at.key,)
        plan.texts[at.key] = request.text
        plan.addresses[at.key] = at
    return plan


def scoring_identity(model: TextScorer | VideoLanguageModel) -> str:
    """Returns what of a model can change a score: its identity, if it knows nothing less."""
    return model.scoring_identity() if isinstance(model, Scores) else model.identity()
