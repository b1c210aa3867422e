"""Rules between dataset, model, prompt and samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from vbench.checks import check_metric, check_pairing
from vbench.errors import ConfigError, DataError
from vbench.metrics.strict_vle import StrictVLE
from vbench.metrics.velociti import Velociti
from vbench.prompts import OptionOnly, QuestionOption
from vbench.records import Claim, Clip, Event, Facts, Sample

SAMPLE = Sample(
    "colours", "1", "mcq", "yt1", (Clip("v", "v.mp4"),), ("red", "blue"), 0, question="Which?"
)


class Truth:
    def events_in(self, clip: Clip) -> tuple[Event, ...]:
        return ()

    def claim_of(self, text: str) -> Claim:
        return Claim(())


class Data:
    name = "mine"

    def __init__(self, truth: Facts | None = None) -> None:
        self.truth = truth

    def samples(self) -> list[Sample]:
        return [SAMPLE]

    def facts(self) -> Facts | None:
        return self.truth


class Oracle:
    needs = frozenset({"facts"})

    def score(self, clip: Clip, texts: Sequence[str]) -> list[float]:
        return [0.0 for _ in texts]


class Encoder:
    needs = frozenset({"frames"})

    @property
    def module(self) -> Any:
        raise AssertionError("weights were loaded before the checks")

    def embed_frames(self, pixels: Any) -> Any:
        return pixels


def test_what_fits_passes_without_loading_weights() -> None:
    check_pairing(Data(), Encoder(), QuestionOption(), [SAMPLE])
    check_pairing(Data(Truth()), Oracle(), OptionOnly(), [replace(SAMPLE, question=None)])


@pytest.mark.parametrize(
    ("model", "prompt", "samples", "kind", "parts"),
    [
        (Oracle(), OptionOnly(), [SAMPLE], ConfigError, ["truth", "dataset=velociti/toy"]),
        (object(), OptionOnly(), [SAMPLE], ConfigError, ["object is no model", "protocols.py"]),
        (Encoder(), OptionOnly(), [replace(SAMPLE, kind="open", texts=())], ConfigError,
         ["open question", "test colours, sample 1", "dataset.kind=mcq"]),
        (Encoder(), QuestionOption(), [SAMPLE, replace(SAMPLE, sample_id="2", question=None)],
         ConfigError, ["sample 2", "prompt=option_only"]),
        (Encoder(), QuestionOption(), [replace(SAMPLE, question="")], ConfigError, ["question"]),
        (Encoder(), OptionOnly(), [], DataError, ["dataset mine has no samples"]),
        (Encoder(), OptionOnly(), [SAMPLE, SAMPLE], DataError, ["2 samples", "called '1'"]),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_explained(
    model: object,
    prompt: OptionOnly | QuestionOption,
    samples: list[Sample],
    kind: type[Exception],
    parts: list[str],
) -> None:
    with pytest.raises(kind) as caught:
        check_pairing(Data(), model, prompt, samples)
    assert [part for part in [*parts, "where:", "mend:"] if part not in str(caught.value)] == []


def test_names_need_be_unique_within_a_test_only() -> None:
    check_pairing(Data(), Encoder(), OptionOnly(), [SAMPLE, replace(SAMPLE, test="shapes")])


def test_a_metric_that_needs_probabilities_refuses_cosines() -> None:
    class Encoder:
        def embed_frames(self) -> None: ...

    class Oracle:
        def score(self) -> None: ...

    with pytest.raises(ConfigError, match="cannot read the scores of Encoder"):
        check_metric(StrictVLE(), Encoder())
    check_metric(StrictVLE(), Oracle())
    check_metric(Velociti(), Encoder())
