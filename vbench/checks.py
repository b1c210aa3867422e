"""Rules that tie dataset, model and prompt together, checked before any weight is loaded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from vbench.errors import ConfigError, DataError
from vbench.prompts import Prompt
from vbench.protocols import Dataset
from vbench.records import Sample

_FAMILIES = ("embed_frames", "score")
"""The method that makes a model an encoder, a pair scorer."""


def check_pairing(
    dataset: Dataset, model: object, prompt: Prompt, samples: Sequence[Sample]
) -> None:
    """Checks that the model can be asked what the samples need.

    Args:
        dataset: The source of the samples.
        model: An encoder or a pair scorer; only its class is looked at.
        prompt: How texts are rendered.
        samples: The samples that will be asked.

    Raises:
        ConfigError: The parts do not fit one another.
        DataError: There are no samples, or two share a name.
    """
    _check_samples(dataset, samples)
    # The class, not the instance: an attribute of the instance may load the weights.
    kind = type(model)
    if not any(callable(getattr(kind, method, None)) for method in _FAMILIES):
        raise ConfigError(
            f"{kind.__name__} is no model",
            where=f"model ({kind.__module__}.{kind.__qualname__})",
            why="it implements neither FrameEncoder nor PairScorer (vbench/protocols.py)",
            mend="choose another model, or give the class the methods of one protocol",
        )
    if "facts" in getattr(kind, "needs", ()) and dataset.facts() is None:
        raise ConfigError(
            f"an oracle cannot answer dataset {dataset.name}",
            where=f"model ({kind.__name__}), dataset {dataset.name}",
            why="it looks answers up in the truth about the clips, which this dataset has none of",
            mend="use dataset=velociti/toy, or a model that looks at the frames",
        )
    if "frames" in getattr(kind, "needs", ()) and getattr(dataset, "is_unrendered", False):
        raise DataError(
            f"dataset {dataset.name} has no videos",
            where=f"dataset {dataset.name}",
            why="it was built with render=false, which is enough for oracles only",
            mend="build it again with render=true: its videos are added",
        )
    for sample in samples:
        _check_sample(sample, prompt, kind.__name__)


def check_metric(metric: object, model: object) -> None:
    """Checks that the metric can read the model's scores.

    Args:
        metric: Reads them.
        model: An encoder or a pair scorer; only its class is looked at.

    Raises:
        ConfigError: The metric needs probabilities, and the model gives cosines.
    """
    kind = type(model)
    if getattr(metric, "needs_probabilities", False) and hasattr(kind, "embed_frames"):
        raise ConfigError(
            f"metric {type(metric).__name__} cannot read the scores of {kind.__name__}",
            where=f"metric ({type(metric).__name__}), model ({kind.__name__})",
            why="it asks on which side of 0.5 a probability lies; an encoder's score is a cosine",
            mend="use metric=velociti, or a model that gives the probability of a yes",
        )


def _check_samples(dataset: Dataset, samples: Sequence[Sample]) -> None:
    if not samples:
        raise DataError(
            f"dataset {dataset.name} has no samples",
            where=f"dataset {dataset.name}",
            mend="check its files and filters",
        )
    counts = Counter((sample.test, sample.sample_id) for sample in samples)
    (test, sample_id), count = counts.most_common(1)[0]
    if count > 1:
        raise DataError(
            f"{count} samples of test {test} are called '{sample_id}'",
            where=f"dataset {dataset.name}",
            why="a sample's answers are stored under its name, which must be its own",
            mend="make the names unique within a test",
        )


def _check_sample(sample: Sample, prompt: Prompt, model: str) -> None:
    where = f"test {sample.test}, sample {sample.sample_id}"
    if sample.kind == "open":
        raise ConfigError(
            f"{model} cannot answer an open question",
            where=where,
            why="it compares a clip with given texts and writes none of its own",
            mend="give the dataset options (dataset.kind=mcq), or use a model that generates text",
        )
    if prompt.needs_question and not sample.question:
        raise ConfigError(
            "the prompt shows the question, and a sample has none",
            where=where,
            mend="use prompt=option_only, or name the column that holds the question",
        )
