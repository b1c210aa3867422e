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
from vbench.prompts import OptionOnly, QuestionOption, Template
from vbench.records import Claim, Clip, Event, Facts, Sample, Task
from vbench.scorers.caption_likelihood import CaptionLikelihood
from vbench.scorers.entailment import Entailment
from vbench.scorers.letters import Letters
from vbench.scorers.option_probability import OptionProbability
from vbench.scorers.pair_choice import PairChoice
from vbench.scorers.similarity import Similarity

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


class Named:
    preprocess = None

    def identity(self) -> str:
        return "a double"


class Oracle(Named):
    needs = frozenset({"facts"})

    def score(self, clip: Clip, texts: Sequence[str]) -> list[float]:
        return [0.0 for _ in texts]


class Encoder(Named):
    needs = frozenset({"frames"})

    @property
    def module(self) -> Any:
        raise AssertionError("weights were loaded before the checks")

    def embed_frames(self, pixels: Any) -> Any:
        return pixels

    pool = embed_texts = embed_frames


class Unpooled(Named):
    needs = frozenset({"frames"})

    def embed_frames(self, pixels: Any) -> Any:
        return pixels


class Mute(Named):
    needs = frozenset({"frames"})
    module = None

    def answer(self, asked: Any) -> Any:
        return asked


class Speaker(Named):
    """A language model."""

    needs = frozenset({"frames"})

    def __init__(self, *tasks: Task) -> None:
        self.tasks = frozenset(tasks)

    @property
    def module(self) -> Any:
        raise AssertionError("weights were loaded before the checks")

    def answer(self, asked: Any) -> Any:
        return asked


PAIR = replace(SAMPLE, kind="v2t", question=None)
ASK, OPTIONS = Template("{caption}"), Template("{question} {options}")


def test_what_fits_passes_without_loading_weights() -> None:
    nameless = replace(SAMPLE, question=None)
    check_pairing(Data(), Encoder(), Similarity(), QuestionOption(), [SAMPLE])
    check_pairing(Data(Truth()), Oracle(), Similarity(), OptionOnly(), [nameless])
    check_pairing(Data(), Speaker("score"), Entailment(), ASK, [PAIR])
    check_pairing(Data(), Speaker("score"), OptionProbability(), OPTIONS, [SAMPLE])
    check_pairing(Data(), Speaker("score", "generate"), Letters(), OPTIONS, [SAMPLE])
    check_pairing(Data(), Speaker("generate"), PairChoice(read="text"), ASK, [PAIR])


@pytest.mark.parametrize(
    ("model", "prompt", "samples", "kind", "parts"),
    [
        (Oracle(), OptionOnly(), [SAMPLE], ConfigError, ["truth", "dataset=velociti/toy"]),
        (object(), OptionOnly(), [SAMPLE], ConfigError, ["object is no model", "protocols.py"]),
        (Unpooled(), OptionOnly(), [SAMPLE], ConfigError,
         ["Unpooled is half a FrameEncoder", "lacks module, embed_texts, pool"]),
        (Mute(), OptionOnly(), [SAMPLE], ConfigError,
         ["Mute is half a VideoLanguageModel", "has answer and lacks tasks"]),
        (Encoder(), OptionOnly(), [replace(SAMPLE, kind="open", texts=())], ConfigError,
         ["samples of kind open", "test colours, sample 1", "dataset.kind=mcq"]),
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
        check_pairing(Data(), model, Similarity(), prompt, samples)
    assert [part for part in [*parts, "where:", "mend:"] if part not in str(caught.value)] == []


def test_names_need_be_unique_within_a_test_only() -> None:
    twins = [SAMPLE, replace(SAMPLE, test="shapes")]
    check_pairing(Data(), Encoder(), Similarity(), OptionOnly(), twins)


@pytest.mark.parametrize(
    ("model", "scorer", "prompt", "sample", "parts"),
    [
        (Encoder(), Entailment(), ASK, PAIR,
         ["Entailment cannot be used with Encoder", "asks a language model", "scorer=similarity"]),
        (Speaker("score"), Similarity(), OptionOnly(), PAIR,
         ["Similarity cannot be used with Speaker", "reads messages", "scorer=entailment"]),
        (Speaker("generate"), Entailment(), ASK, PAIR,
         ["does not tell", "scorer=letters or scorer=pair_choice"]),
        (Speaker("generate"), PairChoice(), ASK, PAIR, ["PairChoice cannot be used"]),
        (Speaker("score"), PairChoice(read="text"), ASK, PAIR, ["writes nothing"]),
        (Speaker("score"), Entailment(), OptionOnly(), PAIR,
         ["prompt OptionOnly does not go with Entailment", "leave prompt out"]),
        (Encoder(), Similarity(), ASK, PAIR, ["prompt Template does not go with Similarity"]),
        (Speaker("score"), Entailment(), ASK, SAMPLE,
         ["Entailment cannot score samples of kind mcq", "scorer=option_probability"]),
        (Speaker("score"), OptionProbability(), OPTIONS, PAIR, ["kind v2t", "mcq, yes_no"]),
        (Speaker("generate"), Letters(), OPTIONS, PAIR,
         ["shows the question", "prompt=velociti_v2_mcq"]),
    ],
)  # fmt: skip
def test_model_scorer_and_prompt_must_speak_the_same_language(
    model: object, scorer: Any, prompt: Any, sample: Sample, parts: list[str]
) -> None:
    with pytest.raises(ConfigError) as caught:
        check_pairing(Data(), model, scorer, prompt, [sample])
    assert [part for part in [*parts, "where:", "mend:"] if part not in str(caught.value)] == []


def test_a_metric_that_needs_probabilities_refuses_cosines() -> None:
    class Encoder(Named):
        def embed_frames(self) -> None: ...

    class Oracle:
        def score(self) -> None: ...

    with pytest.raises(ConfigError, match="cannot read the scores of Encoder"):
        check_metric(StrictVLE(), Encoder(), Similarity())
    check_metric(StrictVLE(), Oracle(), Similarity())
    check_metric(Velociti(), Encoder(), Similarity())


@pytest.mark.parametrize(
    "scorer", [CaptionLikelihood(), PairChoice(), OptionProbability(), Letters()]
)
def test_a_metric_that_needs_probabilities_refuses_other_scores(scorer: Any) -> None:
    with pytest.raises(ConfigError, match=f"the scores of {type(scorer).__name__}") as caught:
        check_metric(StrictVLE(), Speaker("score"), scorer)
    assert "scorer=entailment" in str(caught.value)
    check_metric(StrictVLE(), Speaker("score"), Entailment())
    check_metric(Velociti(), Speaker("score"), scorer)
