"""Our runs as rivals of a paper's rows: which row each makes, and what else may differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from vbench.results.comparison import changes
from vbench.results.layouts import RunSummary
from vbench.results.paper import PaperRow
from vbench.results.run import Run
from vbench.schema import compose, identity

ENTRIES = "velociti/v1"
"""The folder of conf/entry that makes the rows of the paper's tables."""

CORRECTED = "_corrected"

_ANY = ("dataset.root", "dataset.videos", "dataset.tests", "limit", "seed", "model.text_batch")
"""Settings that no entry fixes: where data lie, which samples are asked, speed."""

_SUBSET = "velociti/human_subset"


@dataclass(frozen=True)
class Rival:
    """A run, as a table of a paper shows it."""

    run: Run
    shown: RunSummary

    @property
    def choices(self) -> Mapping[str, str]:
        """What was chosen from each folder of conf/."""
        found: Mapping[str, str] = self.run.config["command"]["choices"]
        return found

    @property
    def model(self) -> str:
        """The file of conf/model."""
        return str(self.choices.get("model", ""))

    @property
    def dataset(self) -> str:
        """The file of conf/dataset."""
        return str(self.choices.get("dataset", ""))

    @property
    def key(self) -> str:
        """The row that its entry makes, `_corrected` included; "" without one of these entries."""
        folder, _, key = str(self.choices.get("entry", "")).rpartition("/")
        return key if folder == ENTRIES else ""

    @property
    def corrected(self) -> bool:
        """Whether it mends what the official code does wrong."""
        return self.key.endswith(CORRECTED)

    @property
    def is_velociti(self) -> bool:
        """Whether it asks of released samples."""
        return self.dataset.startswith(ENTRIES) or self.dataset == _SUBSET

    def makes(self, row: PaperRow) -> bool:
        """Says whether it is a run of that row: by its entry, or without one by its model."""
        if self.key:
            return self.key.removesuffix(CORRECTED) == row.key
        return bool(row.model) and row.model == self.model

    def entry_of(self, row: PaperRow) -> str:
        """Returns the entry that it is held against."""
        return f"{ENTRIES}/{self.key or row.key}"

    def has_items_of(self, row: PaperRow) -> bool:
        """Says whether it asks of the samples behind the row."""
        if row.key in ("human", "gemini"):
            return self.dataset == _SUBSET
        return self.dataset.startswith(ENTRIES)

    def shares_data(self, other: Rival) -> bool:
        """Says whether two runs ask of the same dataset, in the same place."""
        ours, theirs = (r.run.config["dataset"] for r in (self, other))
        return self.dataset == other.dataset and ours.get("root") == theirs.get("root")

    def label(self, printed: str) -> str:
        """Names it after the row that it makes."""
        return f"{printed} (ours{', corrected' if self.corrected else ''}){self.shown.mark}"


def deciding(rival: Rival) -> str:
    """Returns the settings that decide a number: frames, prompt, scorer, dtype, tie, pooling.

    Args:
        rival: The run.
    """
    config, choices = rival.run.config, rival.choices
    sampler = {k: v for k, v in config["sampler"].items() if k in ("num_frames", "fps", "order")}
    parts = [
        f"dataset {rival.dataset}",
        f"sampler {choices.get('sampler')} {_pairs(sampler)}".rstrip(),
        f"prompt {choices.get('prompt')}",
        f"scorer {choices.get('scorer')} {_pairs(_plain(config['scorer']))}".rstrip(),
        f"dtype {config['trainer']['precision']}",
        f"tie {config['metric'].get('tie', 'strict')}",
    ]
    if "pooling" in config["model"]:
        parts.append(f"pooling {config['model']['pooling']}")
    return ", ".join(parts)


def _plain(node: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in node.items() if k != "_target_" and isinstance(v, str | int | float)}


def _pairs(settings: Mapping[str, Any]) -> str:
    text = " ".join(f"{key}={value}" for key, value in settings.items())
    return f"({text})" if text else ""


@cache
def _published(entry: str) -> dict[str, object]:
    from vbench.composition import plain

    return identity(plain(compose([f"entry={entry}"])))


def differing(rival: Rival, row: PaperRow) -> Iterator[str]:
    """Yields the settings of a run that are not those of the row's entry.

    A row that waits for an adapter has no entry, and so nothing to differ from.
    """
    if row.waits_for and not rival.key:
        return
    ours = identity(rival.run.config)
    for change in changes(_published(rival.entry_of(row)), ours):
        if change.name not in _ANY and not change.name.startswith("command"):
            yield f"{change.name} is {change.b}, not {change.a}"


def flips(rivals: Sequence[Rival]) -> dict[str, int]:
    """Counts, by test, the samples that some of the runs answer rightly and some do not.

    Args:
        rivals: Runs of the same samples.
    """
    right: dict[tuple[str, str], set[bool]] = {}
    for rival in rivals:
        records = rival.run.records
        for test, sample, outcome in zip(
            records["test"], records["sample_id"], records["outcome"], strict=True
        ):
            right.setdefault((test, sample), set()).add(outcome == "right")
    found: dict[str, int] = {}
    for (test, _), seen in right.items():
        found[test] = found.get(test, 0) + (len(seen) > 1)
    return found
