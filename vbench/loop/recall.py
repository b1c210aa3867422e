"""Between the embedding cache and a run: what is known already, and why the rest is not."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from vbench.loop.cache import EmbeddingCache, Entry
from vbench.loop.keys import Address
from vbench.loop.plan import Plan, TextWork, Work
from vbench.loop.strips import lay_out
from vbench.records import Clip, Prediction, Reply, Request

_FACTS = ("frame_indices", "timestamps_s", "frames_wanted", "truncated", "audio", "score")
"""What a row says beside its embedding that belongs to the answer, not to where the file lies."""


_REPLY = tuple(f.name for f in dataclasses.fields(Reply) if f.name not in ("status", "reason"))
_NO_VECTOR = np.empty(0, dtype=np.float32)


def keys_of(work: Iterable[Work]) -> list[str]:
    """Returns the keys of what pieces of work would compute and the cache might hold."""
    found = []
    for item in work:
        if isinstance(item, TextWork):
            found += [key for key, _ in item.texts]
        else:
            found += [key for key, _ in item.clips] + [key for key, _, _ in item.asks]
    return found


class CachedFrames:
    """Embeddings of single frames from the cache; crosses to decode workers.

    Args:
        cache: Shared by all runs.
        base: Digest of what the frames' embeddings share.
    """

    def __init__(self, cache: EmbeddingCache, base: str) -> None:
        self.cache = cache
        self.base = base

    def item(self, content: str, index: int) -> str:
        """Returns what a frame is called in the cache."""
        return f"{content}:{index}"

    def get(self, content: str, indices: Collection[int]) -> dict[int, np.ndarray]:
        """Returns the embeddings that are known, each (d,), float32."""
        keys = {Address(self.base, self.item(content, index)).key: index for index in indices}
        return {keys[key]: entry.vector for key, entry in self.cache.get(keys).items()}


class Recall:
    """Answers of one plan from the cache, and back into it.

    Args:
        plan: Knows what each key is computed from.
        cache: Shared by all runs.
        strips: Where the run keeps its frame strips, if it shows any.
    """

    def __init__(self, plan: Plan, cache: EmbeddingCache, strips: Path | None = None) -> None:
        self.plan = plan
        self.cache = cache
        self.strips = strips
        self._clips: dict[str, Clip] = {
            key: clip for file in plan.files.values() for key, clip in file.clips
        }
        self._asks: dict[str, Request] = {
            key: request for file in plan.files.values() for key, _, request in file.asks
        }

    def rows(self, keys: Collection[str]) -> list[Prediction]:
        """Returns the rows for the keys that are cached, and lays out their strips.

        A clip whose strip is wanted and not there is left to be decoded.
        """
        found = self.cache.get(keys)
        usable = [key for key in keys if key in found and self._lay_out(key, found[key].strip)]
        return [self._row(key, found[key]) for key in usable]

    def keep(self, rows: Iterable[Prediction]) -> None:
        """Caches what has been computed; failures are not answers and are not kept."""
        entries = [
            Entry(
                address,
                _NO_VECTOR if row.embedding is None else row.embedding,
                _facts(row),
                self._strip(row.key),
            )
            for row in rows
            if row.status == "ok" and (address := self.plan.addresses.get(row.key))
        ]
        if entries:
            self.cache.put(entries, self.plan.bases)

    def keep_frames(self, rows: Iterable[Prediction]) -> None:
        """Caches embeddings of single frames."""
        base = self.plan.frame_base
        entries = [
            Entry(Address(base, row.key), row.embedding)
            for row in rows
            if row.embedding is not None
        ]
        if entries:
            self.cache.put(entries, self.plan.bases)

    def account(self, keys: Collection[str], found: Collection[str]) -> dict[str, Any]:
        """Returns, by kind, how many answers were asked and found, and why the others were not.

        Args:
            keys: What was looked for.
            found: What was found.
        """
        told: dict[str, Any] = {}
        hits = set(found)
        for base, fields in self.plan.bases.items():
            asked = [self._address(key) for key in keys if self._address(key).base == base]
            missed = [address for address in asked if address.key not in hits]
            if asked:
                told[fields["kind"]] = {
                    "asked": len(asked),
                    "found": len(asked) - len(missed),
                    "missed": dict(self.cache.explain(missed, fields).most_common()),
                }
        return told

    def _lay_out(self, key: str, strip: bytes | None) -> bool:
        if self.strips is None or key not in self._clips:
            return True
        file = self.strips / f"{key}.jpg"
        if strip is not None and not file.exists():
            lay_out(strip, file)
        return file.exists()

    def _strip(self, key: str) -> bytes | None:
        file = self.strips / f"{key}.jpg" if self.strips is not None else None
        return file.read_bytes() if file is not None and file.exists() else None

    def _address(self, key: str) -> Address:
        return self.plan.addresses[key]

    def _row(self, key: str, entry: Entry) -> Prediction:
        facts: dict[str, Any] = dict(entry.facts)
        if key in self._asks:
            return self._reply_row(key, facts)
        for name in ("frame_indices", "timestamps_s"):
            facts[name] = tuple(facts[name])
        clip = self._clips.get(key)
        vector = entry.vector if len(entry.vector) else None
        if clip is None:
            return Prediction(key, "text", "ok", vector, **facts)
        facts |= {"video_id": clip.video_id, "path": clip.path}
        return Prediction(key, "clip", "ok", vector, **facts)

    def _reply_row(self, key: str, facts: dict[str, Any]) -> Prediction:
        facts["token_ids"] = tuple(map(tuple, facts["token_ids"]))
        for name in ("log_probs", "frame_shape"):
            facts[name] = tuple(facts[name])
        clip = next(iter(self._asks[key].clips), None)
        where = (clip.video_id, clip.path) if clip else ("", "")
        return Prediction(
            key, "reply", "ok", video_id=where[0], path=where[1], reply=Reply(**facts)
        )


def _facts(row: Prediction) -> dict[str, object]:
    if row.reply is not None:
        return {name: getattr(row.reply, name) for name in _REPLY}
    return {name: getattr(row, name) for name in _FACTS}
