"""The least work that answers what a language model is asked: each view once, each request once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from vbench.loop.keys import Address, fingerprint, hash_file
from vbench.loop.plan import NO_FILE, FileWork, Plan, Sampler, scoring_identity
from vbench.protocols import VideoLanguageModel
from vbench.records import Clip, Request, Task


def plan_language(
    requests: Iterable[Request],
    model: VideoLanguageModel,
    sampler: Sampler,
    precision: str,
    hash_file: Callable[[Path], str] = hash_file,
) -> Plan:
    """Plans a language model: one row per view, saying what was shown, and one per request.

    Args:
        requests: In sample order; repeated requests cost nothing.
        model: Its identity and preprocessing enter the keys; what it `needs` decides whether a
            file is decoded, handed over or left alone.
        sampler: Chooses frames within each clip's span.
        precision: The arithmetic, part of every key.
        hash_file: Hashes one file's bytes; may remember.
    """
    plan = Plan()
    seen = {"sampler": sampler.digest()} if "frames" in model.needs else {}
    if model.preprocess is not None:
        seen["preprocess"] = model.preprocess.digest()
    told = {"kind": "reply", "precision": precision, **seen}
    view_base, reply_bases = plan.base({"kind": "view", **seen}), dict[Task, str]()
    sees = bool(model.needs & {"frames", "video"})
    files: dict[str, _File] = {}
    for request in dict.fromkeys(requests):
        clip = request.clips[0] if sees and request.clips else None
        path = clip.path if clip else NO_FILE
        if path not in files:
            files[path] = _File(fingerprint(path, hash_file) if clip else "")
        file, span, view = files[path], "", ""
        if clip:
            span = f"{file.fingerprint}:{clip.start_s}:{clip.end_s}"
            shown = Address(view_base, span)
            view = shown.key
            plan.addresses[view] = shown
            file.clips[view] = clip
        if request.task not in reply_bases:
            name = model.identity() if request.task == "generate" else scoring_identity(model)
            reply_bases[request.task] = plan.base(told | {"model": name})
        base = reply_bases[request.task]
        at = Address(base, json.dumps([span, *_said(request)], ensure_ascii=True))
        plan.keys[request] = (view, at.key) if view else (at.key,)
        if at.key not in plan.addresses:  # the same bytes under another path: asked once
            file.asks.append((at.key, view, request))
        plan.addresses[at.key] = at
    plan.files = {path: file.work(path) for path, file in files.items() if file.asks}
    return plan


@dataclass
class _File:
    """What is asked of one file, while it is collected."""

    fingerprint: str
    clips: dict[str, Clip] = field(default_factory=dict)
    asks: list[tuple[str, str, Request]] = field(default_factory=list)

    def work(self, path: str) -> FileWork:
        """Returns the piece of work."""
        clips = tuple(self.clips.items())
        return FileWork(path, clips, asks=tuple(self.asks), fingerprint=self.fingerprint)


def _said(request: Request) -> list[object]:
    if request.message is None:
        return [request.text]
    told = request.message
    candidates = [[one.text, one.form] for one in request.continuations]
    return [told.text, told.system, told.render, candidates, *told.turns]
