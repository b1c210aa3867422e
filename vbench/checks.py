"""Rules that tie dataset, model and prompt together, checked before any weight is loaded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from vbench.errors import ConfigError, DataError
from vbench.protocols import Dataset
from vbench.records import Sample

_ENCODERS = ("embed_frames", "embed_clips")
_ENCODER = ("needs", "module", "preprocess", "identity", "embed_texts")
_MEMBERS = {
    "embed_clips": ("ClipEncoder", _ENCODER),
    "embed_frames": ("FrameEncoder", (*_ENCODER, "pool")),
    "answer": ("VideoLanguageModel", ("needs", "tasks", "preprocess", "module", "identity")),
    "score_texts": ("TextScorer", ("needs", "module", "identity")),
    "score": ("PairScorer", ("needs", "identity")),
}
"""The method that makes a model one of a protocol, and what else that asks for."""

_TASKS = {
    "match": "it compares clips with texts, and the model reads messages",
    "score": "it asks how probable a reply is, which the model does not tell",
    "generate": "it reads what the model writes, and the model writes nothing",
}


def check_pairing(
    dataset: Dataset, model: object, scorer: Any, prompt: Any, samples: Sequence[Sample]
) -> None:
    """Checks that the model can be asked what the scorer and the samples need.

    Args:
        dataset: The source of the samples.
        model: Of any family; nothing that loads weights is looked at.
        scorer: Makes requests of samples.
        prompt: How texts are rendered.
        samples: The samples that will be asked.

    Raises:
        ConfigError: The parts do not fit one another.
        DataError: There are no samples, or two share a name.
    """
    _check_samples(dataset, samples)
    _check_members(model)
    kind = type(model)
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
    _check_scorer(model, scorer, prompt)
    for sample in samples:
        _check_sample(sample, scorer, prompt)


def _check_members(model: object) -> None:
    # The class, not the instance: an attribute of the instance may load the weights.
    kind = type(model)
    where = f"model ({kind.__module__}.{kind.__qualname__})"
    family = next((n for n in _MEMBERS if callable(getattr(kind, n, None))), None)
    if family is None:
        raise ConfigError(
            f"{kind.__name__} is no model",
            where=where,
            why="it implements no protocol of vbench/protocols.py",
            mend="choose another model, or give the class the methods of one protocol",
        )
    protocol, members = _MEMBERS[family]
    own = vars(model) if hasattr(model, "__dict__") else {}
    lacking = [member for member in members if not hasattr(kind, member) and member not in own]
    if lacking:
        raise ConfigError(
            f"{kind.__name__} is half a {protocol}",
            where=where,
            why=f"it has {family} and lacks {', '.join(lacking)}",
            mend=f"vbench/protocols.py says of {protocol} what they are",
        )


def check_metric(metric: object, model: object, scorer: Any) -> None:
    """Checks that the metric can read the scores.

    Args:
        metric: Reads them.
        model: Of any family; only its class is looked at.
        scorer: A language model's says whether its scores are `probabilities`.

    Raises:
        ConfigError: The metric needs probabilities, and the scores are none.
    """
    if not getattr(metric, "needs_probabilities", False):
        return
    kind, name = type(model), type(scorer).__name__
    if any(hasattr(kind, method) for method in _ENCODERS):
        source, why = kind.__name__, "an encoder's score is a cosine"
        mend = "use metric=velociti, or a model that gives the probability of a yes"
    elif scorer.task != "match" and not scorer.probabilities:
        source, why = name, f"those of {name} say which text fits best, not whether one is entailed"
        mend = "use scorer=entailment, or metric=velociti"
    else:
        return
    raise ConfigError(
        f"metric {type(metric).__name__} cannot read the scores of {source}",
        where=f"metric ({type(metric).__name__}), model ({kind.__name__}), scorer ({name})",
        why=f"it asks on which side of 0.5 a probability lies; {why}",
        mend=mend,
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


def _check_sample(sample: Sample, scorer: Any, prompt: Any) -> None:
    if sample.kind not in scorer.kinds:
        raise ConfigError(
            f"{type(scorer).__name__} cannot score samples of kind {sample.kind}",
            where=f"test {sample.test}, sample {sample.sample_id}",
            why=f"it scores {', '.join(scorer.kinds)}",
            mend=_MENDS.get(sample.kind, "choose another scorer"),
        )
    if prompt.needs_question and not sample.question:
        raise ConfigError(
            "the prompt shows the question, and a sample has none",
            where=f"test {sample.test}, sample {sample.sample_id}",
            mend=f"use {_NO_QUESTION[scorer.task]}, or name the column that holds the question",
        )


_NO_QUESTION = {
    "match": "prompt=option_only",
    "score": "a prompt that shows no question (prompt=describe, velociti_v2, velociti_v2_mcq)",
    "generate": "a prompt that shows no question (prompt=velociti_v2_mcq)",
}

_MENDS = {
    "open": "give the dataset options (dataset.kind=mcq), or use a scorer that reads answers",
    "mcq": "use scorer=option_probability or scorer=letters, or scorer=similarity with an encoder",
}


def _check_scorer(model: object, scorer: Any, prompt: Any) -> None:
    kind, name = type(model), type(scorer).__name__
    tasks = model.tasks if hasattr(kind, "answer") else {"match"}  # type: ignore[attr-defined]
    if scorer.task not in tasks:
        raise ConfigError(
            f"{name} cannot be used with {kind.__name__}",
            where=f"scorer ({name}), model ({kind.__name__})",
            why=_TASKS[scorer.task] if "match" not in tasks else "it asks a language model",
            mend={
                "score": "use scorer=entailment, option_probability or caption_likelihood",
                "generate": "use scorer=letters or scorer=pair_choice",
                "match": "use scorer=similarity",
            }[min(tasks)],
        )
    wanted = "render" if scorer.task == "match" else "message"
    if not callable(getattr(type(prompt), wanted, None)):
        raise ConfigError(
            f"prompt {type(prompt).__name__} does not go with {name}",
            where=f"prompt ({type(prompt).__name__}), scorer ({name})",
            why="it renders a text to compare"
            if wanted == "message"
            else "it tells a model a task",
            mend="leave prompt out: each scorer has its own (docs/language_models.md)",
        )
