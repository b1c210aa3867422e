"""Whether runs may be compared: the same samples, and which settings beside the model differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from vbench.errors import DataError
from vbench.results.comparison import changes
from vbench.results.run import Run
from vbench.results.samples import read_samples
from vbench.results.text import visible
from vbench.schema import identity

_ASKED = ("kind", "cluster", "question", "texts", "target", "groups", "clips")
"""What makes a sample, beside its name."""

_PLACES = ("dataset.root", "dataset.file", "dataset.videos", "dataset.kept")
"""Where data lie: the samples themselves are compared."""

_WORDS = ("model.visual.", "model.generation.")
"""Settings that stand below a model and are words of their own."""

_SHOWN = 8
"""Samples that an error names."""

Name = tuple[str, str]
"""A sample's test and sample_id."""

_Asked = Mapping[str, Any]
"""A row of samples.parquet."""


@dataclass(frozen=True)
class Setting:
    """A setting that is not the same in all runs, in their order; None where a run has none."""

    name: str
    values: tuple[Any, ...]


def check_samples(runs: Sequence[Run]) -> dict[str, int]:
    """Checks that samples of the same name are the same in all runs.

    Args:
        runs: Finished runs.

    Returns:
        How many samples each run asks that not all of them do, by folder; empty if none.

    Raises:
        DataError: Question, texts, target, source, groups, span or video of a sample differ; it
            says which.
    """
    tables = [read_samples(run.path, ("test", "sample_id", *_ASKED)) for run in runs]
    if all(_same_table(tables[0], table) for table in tables[1:]):
        return {}
    known: dict[Name, tuple[Run, _Asked]] = {}
    names: list[set[Name]] = []
    for run, table in zip(runs, tables, strict=True):
        own = {(row["test"], row["sample_id"]): row for row in table.to_pylist()}
        _refuse(run, own, known)
        for name, sample in own.items():
            if name not in known or not any(clip["content"] for clip in known[name][1]["clips"]):
                known[name] = (run, sample)
        names.append(set(own))
    common = set.intersection(*names)
    return {
        str(run.path): len(own) - len(common)
        for run, own in zip(runs, names, strict=True)
        if len(own) > len(common)
    }


def _refuse(run: Run, own: Mapping[Name, _Asked], known: Mapping[Name, tuple[Run, _Asked]]) -> None:
    """Raises if a sample that an earlier run has too is not the same."""
    found = {
        name: kinds
        for name, sample in own.items()
        if name in known and (kinds := list(_apart(known[name][1], sample)))
    }
    if not found:
        return
    told = [
        f"{visible('/'.join(name))} ({', '.join(kinds)})"
        for name, kinds in list(found.items())[:_SHOWN]
    ]
    more = f" … and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    other = known[next(iter(found))][0].path
    raise DataError(
        f"{len(found)} samples of the same name are not the same",
        where=f"{other}, {run.path}",
        why=", ".join(told) + more,
        mend=f"vbench diff {other} {run.path} shows how they differ",
    )


def _apart(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Iterator[str]:
    for key in _ASKED[:-1]:
        if ours[key] != theirs[key]:
            yield key
    spans, others = (
        [(clip["video_id"], clip["start_s"], clip["end_s"]) for clip in side["clips"]]
        for side in (ours, theirs)
    )
    if spans != others:
        yield "clips"
    elif any(
        a["content"] and b["content"] and a["content"] != b["content"]
        for a, b in zip(ours["clips"], theirs["clips"], strict=True)
    ):
        yield "bytes of the video"


def _same_table(a: pa.Table, b: pa.Table) -> bool:
    """Says whether two files ask the same in the same order; a quick yes, or a no to look into.

    The paths of the videos are of no concern, and models that open none know no content.
    """
    if len(a) != len(b):
        return False
    rest = [name for name in a.column_names if name != "clips"]
    ours, theirs = _clips(a), _clips(b)
    return bool(ours) and ours == theirs and a.select(rest).equals(b.select(rest))


def _clips(table: pa.Table) -> list[pa.Array]:
    """Returns what makes the clips, column by column; nothing where that takes a closer look."""
    lists = table["clips"].combine_chunks()
    if isinstance(lists, pa.ChunkedArray):
        return []
    clips = lists.flatten()
    told = [clips.field(name) for name in ("video_id", "start_s", "end_s", "content")]
    return [lists.value_lengths(), *told]


def settings_apart(runs: Sequence[Run]) -> list[Setting]:
    """Returns the settings that can change a score and are not the same, but for the model's own.

    What a model is shown and how it writes are words of the command, not the model's own.

    Args:
        runs: Finished runs.
    """
    known = [identity(run.config) for run in runs]
    names = {
        change.name: None
        for other in known[1:]
        for change in changes(known[0], other)
        if change.name not in _PLACES
        and (not change.name.startswith("model.") or change.name.startswith(_WORDS))
    }
    return [Setting(name, tuple(own.get(name) for own in known)) for name in sorted(names)]
