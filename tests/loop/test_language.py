"""Planning and asking language models, with a model that writes down what it is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from vbench.errors import RunError
from vbench.loop.ask_language import AskLanguageModel
from vbench.loop.cache import EmbeddingCache
from vbench.loop.data import PreparedClip, PreparedFile
from vbench.loop.plan import NO_FILE, FileWork, Plan
from vbench.loop.plan_language import plan_language
from vbench.loop.recall import Recall, keys_of
from vbench.loop.views import hear, make_views
from vbench.protocols import ClipTiming, View
from vbench.records import Clip, Continuation, Message, Prediction, Reply, Request

YES_NO = (Continuation("Yes"), Continuation("No"))


class Digest:
    def __init__(self, name: str = "8 frames") -> None:
        self.name = name

    def digest(self) -> str:
        return self.name


@dataclass
class Model:
    """Answers with the text it was asked; fails where it is told to."""

    name: str = "m"
    needs: frozenset[str] = frozenset({"frames", "text"})
    preprocess: Any = field(default_factory=lambda: Digest("224"))
    most: int = 10**9
    refuse: str = "\0"
    stop: str = "\0"
    asked: list[tuple[str, list[str]]] = field(default_factory=list)

    def identity(self) -> str:
        return self.name

    def answer(self, asked: Sequence[tuple[View | None, Sequence[Request]]]) -> list[list[Reply]]:
        if sum(len(requests) for _, requests in asked) > self.most:
            raise torch.OutOfMemoryError
        replies = []
        for view, requests in asked:
            said = [said_in(request) for request in requests]
            if self.stop in said:
                raise RunError("the budget is spent")
            self.asked.append((view.clip.path if view else "", said))
            replies.append(
                [Reply("refused", "no") if self.refuse in s else Reply(text=s) for s in said]
            )
        return replies


def said_in(request: Request) -> str:
    assert request.message is not None
    return request.message.text


def requests_of(tmp_path: Path) -> list[Request]:
    for name in "ab":
        (tmp_path / name).write_bytes(name.encode())
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    clips = [Clip("a", a), Clip("a", a, 0.0, 4.0), Clip("b", b)]
    return [
        Request((clip,), message=Message(text), continuations=YES_NO)
        for clip in clips
        for text in ("x", "y", "x")
    ]


def plan_of(requests: Sequence[Request], model: Model | None = None, sampler: str = "8") -> Plan:
    return plan_language(requests, model or Model(), Digest(sampler), "32-true")  # type: ignore[arg-type]


def asks(work: Sequence[object]) -> list[str]:
    return [key for item in work if isinstance(item, FileWork) for key, _, _ in item.asks]


def test_each_file_view_and_question_is_planned_once(tmp_path: Path) -> None:
    plan = plan_of(requests_of(tmp_path))
    assert [len(work.clips) for work in plan.files.values()] == [2, 1]
    assert [len(work.asks) for work in plan.files.values()] == [4, 2]
    assert len(plan.all_keys()) == 3 + 6


def test_every_part_of_the_question_is_in_the_key(tmp_path: Path) -> None:
    request = requests_of(tmp_path)[0]
    others = [
        Request(request.clips, message=Message("other"), continuations=YES_NO),
        Request(request.clips, message=Message("x", system="be brief"), continuations=YES_NO),
        Request(request.clips, message=Message("x", render="raw"), continuations=YES_NO),
        Request(request.clips, message=Message("x")),
        Request(request.clips, message=Message("x"), continuations=YES_NO[::-1]),
        Request(
            request.clips,
            message=Message("x"),
            continuations=(Continuation("Yes", "bare"), Continuation("No")),
        ),
        Request((), message=Message("x"), continuations=YES_NO),
    ]
    keys = {plan_of([one]).keys[one][-1] for one in [request, *others]}
    keys |= {plan_of([request], Model(name="n")).keys[request][-1]}
    keys |= {plan_of([request], Model(preprocess=Digest("448"))).keys[request][-1]}
    keys |= {plan_of([request], sampler="16").keys[request][-1]}
    assert len(keys) == len(others) + 4


def test_a_view_is_shown_again_only_for_questions_that_are_left(tmp_path: Path) -> None:
    plan = plan_of(requests_of(tmp_path))
    (first, second) = plan.files.values()
    views = {key for key, _ in (*first.clips, *second.clips)}
    answered = {key for key, _, _ in first.asks[1:]} | views
    (left,) = list(plan.work(answered | {key for key, _, _ in second.asks}, 64))
    assert isinstance(left, FileWork)
    assert asks([left]) == [first.asks[0][0]]
    assert [key for key, _ in left.clips] == [first.asks[0][1]]
    assert not plan.work(plan.all_keys(), 64)


@pytest.mark.parametrize("needs", [frozenset({"text"}), frozenset({"text", "frames"})])
def test_questions_without_a_file_are_cut_into_pieces_and_shared_out(
    tmp_path: Path, needs: frozenset[str]
) -> None:
    clips = requests_of(tmp_path)[0].clips if needs == {"text"} else ()
    requests = [Request(clips, message=Message(str(n))) for n in range(10)]
    plan = plan_of(requests, Model(needs=needs, preprocess=None))
    assert list(plan.files) == [NO_FILE]
    shares = [plan.work((), 2, rank, 3) for rank in range(3)]
    assert [[len(asks([item])) for item in share] for share in shares] == [[2, 2], [2, 1], [2, 1]]
    assert sorted(asks([item for share in shares for item in share])) == sorted(plan.all_keys())


def prepared(plan: Plan, status: str = "ok") -> list[PreparedFile]:
    return [
        PreparedFile(
            work.path,
            [
                PreparedClip(key, clip, status=status, reason="bad file")  # type: ignore[arg-type]
                for key, clip in work.clips
            ],
            None,
            asks=work.asks,
            fingerprint=work.fingerprint,
        )
        for work in plan.files.values()
    ]


def ask(model: Model, files: Sequence[PreparedFile]) -> dict[str, Prediction]:
    rows = AskLanguageModel(model)(files, torch.device("cpu"), torch.float32)  # type: ignore[arg-type]
    assert len({row.key for row in rows}) == len(rows)
    return {row.key: row for row in rows}


def test_questions_about_one_view_are_asked_together(tmp_path: Path) -> None:
    model, plan = Model(), plan_of(requests_of(tmp_path))
    rows = ask(model, prepared(plan))
    assert [said for _, said in model.asked] == [["x", "y"]] * 3
    assert rows.keys() == plan.all_keys()
    for request, keys in plan.keys.items():
        reply = rows[keys[-1]].reply
        assert reply is not None and reply.text == said_in(request)
        assert rows[keys[-1]].path == request.clips[0].path


def test_out_of_memory_asks_less_at_a_time_and_loses_nothing(tmp_path: Path) -> None:
    model, plan = Model(most=1), plan_of(requests_of(tmp_path))
    rows = ask(model, prepared(plan))
    assert {row.status for row in rows.values()} == {"ok"}
    assert all(len(said) == 1 for _, said in model.asked)
    rows = ask(Model(most=0), prepared(plan))
    assert {row.status for row in rows.values() if row.kind == "reply"} == {"oom"}


def test_a_refusal_is_the_answer_to_one_question_only(tmp_path: Path) -> None:
    plan = plan_of(requests_of(tmp_path))
    rows = ask(Model(refuse="y"), prepared(plan))
    replies = [(row.reply.text, row.status) for row in rows.values() if row.reply]
    assert sorted(map(str, replies)) == sorted(["('x', 'ok')", "(None, 'refused')"] * 3)


def test_a_file_that_cannot_be_read_is_never_asked_about(tmp_path: Path) -> None:
    model, plan = Model(), plan_of(requests_of(tmp_path))
    rows = ask(model, prepared(plan, "decode_error"))
    assert not model.asked
    assert rows.keys() == plan.all_keys()
    assert {(row.status, row.reason) for row in rows.values()} == {("decode_error", "bad file")}


def test_what_ends_the_run_is_not_tried_again(tmp_path: Path) -> None:
    model, plan = Model(stop="y"), plan_of(requests_of(tmp_path))
    with pytest.raises(RunError, match="budget"):
        ask(model, prepared(plan))


def test_replies_and_views_are_remembered_across_runs(tmp_path: Path) -> None:
    requests = requests_of(tmp_path)
    plan, cache = plan_of(requests), EmbeddingCache(tmp_path / "cache" / "e.sqlite")
    clip = Prediction(
        next(iter(plan.files.values())).clips[0][0],
        "clip",
        "ok",
        frame_indices=(3, 5),
        timestamps_s=(0.3, 0.5),
        frames_wanted=2,
    )
    reply = Reply(log_probs=(-0.1, float("nan")), token_ids=((1, 2), (3,)), frame_shape=(2, 4, 4))
    told = Prediction(plan.keys[requests[0]][-1], "reply", "ok", reply=reply)
    lost = Prediction(plan.keys[requests[1]][-1], "reply", "model_error", reply=Reply())
    Recall(plan, cache).keep([clip, told, lost])
    again = plan_of(requests)
    found = {row.key: row for row in Recall(again, cache).rows(keys_of(again.work((), 64)))}
    assert found.keys() == {clip.key, told.key}
    assert (found[clip.key].frame_indices, found[clip.key].embedding) == ((3, 5), None)
    kept = found[told.key].reply
    assert kept is not None and kept.log_probs[0] == -0.1 and np.isnan(kept.log_probs[1])
    assert (kept.token_ids, kept.frame_shape) == (((1, 2), (3,)), (2, 4, 4))
    assert found[told.key].path == requests[0].clips[0].path
    assert (
        set(again.all_keys()) - found.keys() == set(keys_of(again.work(found, 64))) - found.keys()
    )


class Sizes:
    """Refuses a clip of one frame; tells the shapes of the others."""

    def view(self, frames: Sequence[np.ndarray], timing: ClipTiming) -> Mapping[str, Any]:
        if len(frames) == 1:
            raise ValueError("two frames\nat least")
        return {"shapes": [frame.shape for frame in frames], "first": int(frames[0][0, 0, 0])}

    def digest(self) -> str:
        return "sizes"


def test_views_are_made_of_each_clip_s_own_frames_in_order() -> None:
    pixels = torch.arange(3, dtype=torch.uint8).reshape(3, 1, 1, 1).expand(3, 2, 4, 3)
    timing = ClipTiming((0, 1), (0.0, 0.5), 2.0, 3)
    two = PreparedClip("two", Clip("v", "f"), rows=(2, 0), timing=timing)
    one = PreparedClip("one", Clip("v", "f", 0, 1), rows=(1,), timing=timing)
    make_views([two, one], pixels, Sizes())
    assert two.inputs == {"shapes": [(2, 4, 3)] * 2, "first": 2}
    assert (one.status, one.reason) == ("model_error", "ValueError: two frames at least")


def test_a_model_that_listens_gets_the_sound_of_each_clip_s_span() -> None:
    clips = [PreparedClip(name, Clip("v", name, 1.0, 2.0)) for name in ("loud", "silent", "broken")]
    loud, silent, broken = clips
    loud.inputs = {"pixels": 1}

    def read(path: str, start_s: float, end_s: float | None) -> np.ndarray:
        assert (start_s, end_s) == (1.0, 2.0)
        if path == "broken":
            raise ValueError("no such codec")
        return np.ones(4 if path == "loud" else 0, np.float32)

    hear(clips, read)
    assert loud.inputs is not None and loud.inputs.keys() == {"pixels", "audio"}
    assert (loud.audio, silent.audio) == ("heard", "")
    assert (broken.status, broken.reason) == ("decode_error", "sound: no such codec")
