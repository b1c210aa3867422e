from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vbench.errors import RunError
from vbench.records import Clip, Prediction, Request, Sample
from vbench.results.answers import Tally, answer
from vbench.results.store import RunFolder
from vbench.scorers.similarity import Similarity

CLIP = Clip("v", "v.mp4")
SAMPLE = Sample("agent_iden", "s", "v2t", "c", (CLIP,), ("yes", "no"), 0)
YES, NO = Request((CLIP,), "yes"), Request((CLIP,), "no")
KEYS = {YES: ("clip", "yes"), NO: ("clip", "no")}


def unit(*values: float) -> np.ndarray:
    return (np.array(values) / np.linalg.norm(values)).astype(np.float32)


def rows(**extra: Prediction) -> dict[str, Prediction]:
    base = {
        "clip": Prediction("clip", "clip", "ok", embedding=unit(1, 0)),
        "yes": Prediction("yes", "text", "ok", embedding=unit(1, 1)),
        "no": Prediction("no", "text", "ok", embedding=unit(0, 1), truncated=True),
    }
    return base | extra


def test_two_embeddings_give_their_cosine() -> None:
    found = answer(("clip", "yes"), rows())
    assert found is not None
    assert found.value == pytest.approx(0.5**0.5, abs=1e-7)
    assert not found.truncated


def test_a_pair_row_gives_its_score() -> None:
    found = answer(("p",), {"p": Prediction("p", "pair", "ok", score=0.25)})
    assert found is not None
    assert found.value == 0.25


def test_missing_rows_are_no_answer_and_failures_are() -> None:
    assert answer(("clip", "gone"), rows()) is None
    failed = rows(clip=Prediction("clip", "clip", "decode_error", reason="garbage"))
    found = answer(("clip", "no"), failed)
    assert found is not None
    assert (found.status, found.reason, found.truncated) == ("decode_error", "garbage", True)


def a_tally(tmp_path: Path) -> Tally:
    asked = [(SAMPLE, Similarity().requests(SAMPLE, _AsIs()))]
    return Tally(RunFolder(tmp_path), asked, KEYS, Similarity())


class _AsIs:
    needs_question = False

    def render(self, sample: Sample, text: str) -> str:
        return text


def test_samples_complete_as_rows_arrive(tmp_path: Path) -> None:
    tally, writer = a_tally(tmp_path), RunFolder(tmp_path)
    stored = rows()
    writer.write_predictions([stored["clip"], stored["yes"]])
    assert tally.newly_complete() == []
    with pytest.raises(RunError, match="1 of 1 samples"):
        tally.scores()
    writer.write_predictions([stored["no"]])
    (score,) = tally.newly_complete()
    assert score.status == "ok"
    assert score.truncated
    np.testing.assert_allclose(score.values, [0.5**0.5, 0.0], atol=1e-7)
    assert tally.newly_complete() == []
    assert tally.done() == {"clip", "yes", "no"}


def test_failures_are_unscored_reported_and_tried_again(tmp_path: Path) -> None:
    tally = a_tally(tmp_path)
    broken = Prediction("clip", "clip", "decode_error", reason="garbage", path="v.mp4")
    stored = rows(clip=broken)
    RunFolder(tmp_path).write_predictions(stored.values())
    (score,) = tally.scores()
    assert (score.status, score.reason, score.values) == ("decode_error", "garbage", ())
    assert [row.path for row in tally.failures()] == ["v.mp4"]
    assert tally.done() == {"yes", "no"}
    assert tally.newly_complete() == []
    RunFolder(tmp_path).write_predictions([rows()["clip"]])
    assert tally.scores()[0].status == "ok"
    assert tally.failures() == []
