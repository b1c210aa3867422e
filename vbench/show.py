"""The story of `vbench show`: everything a run folder holds about one sample."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from vbench.results.folders import run_folder
from vbench.results.lookup import sample
from vbench.results.text import aligned, visible


def print_sample(run: str, name: str, as_json: bool = False) -> None:
    """Prints one sample of a run, finished or not.

    Args:
        run: The run folder.
        name: See `lookup.find_sample`.
        as_json: Strict JSON instead of text.

    Raises:
        RunError: There is no such run or sample.
    """
    found = sample(run_folder(run), name)
    if as_json:
        sys.stdout.write(json.dumps(found, indent=2, allow_nan=False) + "\n")
    else:
        sys.stdout.write("\n".join(lines(found)) + "\n")


def lines(found: Mapping[str, Any]) -> list[str]:
    """Returns a sample as text for a terminal; nothing in it can steer the terminal.

    Args:
        found: From `lookup.sample`.
    """
    verdict = found["outcome"] or ("not graded yet" if found["status"] else "not answered yet")
    facts = [
        ("run", f"{found['run']} ({found['state']})"),
        ("source", found["cluster"]),
        ("kind", f"{found['kind']}{_meaning(found)}"),
        *(("group", f"{key}={value}") for key, value in found["groups"].items()),
        ("question", found["question"] or ""),
        ("status", " ".join(filter(None, [found["status"], found["reason"]]))),
        ("truncated", "a text is longer than the model reads" if found["truncated"] else ""),
    ]
    return [
        visible(f"{found['test']}/{found['sample_id']}: {verdict}"),
        *aligned([fact for fact in facts if fact[1]]),
        "",
        *_clip_lines(found["clips"]),
        *_text_lines(found),
        *_reply_lines(found),
        *_score_lines(found),
    ]


def _meaning(found: Mapping[str, Any]) -> str:
    target = found["target"]
    if found["kind"] == "match":
        return ", clip i belongs to text i"
    if target is None:
        return ", the right answer is not known"
    if found["kind"] == "open":
        return f", the answer is '{target}'"
    return f", {'clip' if found['kind'] == 't2v' else 'text'} {int(target) + 1} is right"


def _clip_lines(clips: Iterable[Mapping[str, Any]]) -> list[str]:
    text = []
    for number, clip in enumerate(clips, 1):
        end = "the end" if clip["end_s"] is None else f"{clip['end_s']:g} s"
        span = f"{clip['start_s']:g} s to {end}"
        text.append(visible(f"clip {number}: {clip['video_id']}, {span}"))
        facts = [("file", clip["path"])]
        if clip["status"] not in (None, "ok"):
            facts.append((clip["status"], clip["reason"]))
        if clip["frame_indices"]:
            facts += [
                ("frames", f"{len(clip['frame_indices'])} of {clip['frames_wanted']} wanted"),
                ("indices", " ".join(map(str, clip["frame_indices"]))),
                ("seconds", " ".join(f"{at:.2f}" for at in clip["timestamps_s"])),
                ("strip", clip["strip"] or ""),
            ]
        text += aligned([fact for fact in facts if fact[1]])
    return [*text, ""]


def _text_lines(found: Mapping[str, Any]) -> list[str]:
    text = []
    width = len(found["texts"])
    for number, own in enumerate(found["texts"]):
        text.append(visible(f"text {number + 1}: {own}"))
        if found["scores"] is not None and len(found["requests"]) % width == 0:
            asked = found["requests"][number % width]
            as_given = asked["text"] == own or asked["render"]
            rows = [] if as_given else [("asked as", asked["text"])]
            if asked["truncated"]:
                rows.append(("truncated", "longer than the model reads"))
            text += aligned(rows)
    return [*text, ""]


def _reply_lines(found: Mapping[str, Any]) -> list[str]:
    text = []
    for number, asked in enumerate(found["requests"], 1):
        reply = asked["reply"]
        if reply is None:
            continue
        shape = " x ".join(map(str, reply["frame_shape"]))
        told = zip(asked["continuations"], reply["log_probs"], strict=False)
        facts = [
            ("prompt", reply["prompt"]),
            ("answer", reply["text"] or ""),
            *((f"log P({one})", _number(value)) for one, value in told),
            ("read as", found["rule"] if number == len(found["requests"]) else ""),
            ("video", f"{shape} in {reply['visual_tokens']} tokens" if shape else ""),
            ("tokens", f"{reply['prompt_tokens']} in, {reply['reply_tokens']} out"),
            ("finished", reply["finish_reason"]),
        ]
        text += [f"request {number}", *aligned([fact for fact in facts if fact[1]])]
    return [*text, ""] if text else []


def _score_lines(found: Mapping[str, Any]) -> list[str]:
    if found["scores"] is None:
        rows = [(r["text"], r["status"] or "", _number(r["score"])) for r in found["requests"]]
        return ["requests", *aligned(rows)]
    head = ["", *(f"text {n + 1}" for n in range(len(found["texts"])))]
    matrix = [
        [
            f"clip {i + 1}",
            *(_number(v) + ("*" if _right(found, i, j) else " ") for j, v in enumerate(values)),
        ]
        for i, values in enumerate(found["scores"])
    ]
    return ["scores (* is right)", *aligned([head, *matrix], right=True)]


def _right(found: Mapping[str, Any], clip: int, text: int) -> bool:
    if found["kind"] == "match":
        return clip == text
    target: str | None = found["target"]
    return target == str(clip if found["kind"] == "t2v" else text)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"
