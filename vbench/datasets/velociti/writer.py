"""Writes annotation files in the structures that `reader` reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vbench.datasets.velociti.layout import TEST_FILES, Layout

PairTest = Mapping[str, Mapping[str, Mapping[str, str]]]
"""video → event key → {"pos", "neg"}, or {"pos_cap", "neg_cap", "neg_vid"} for control."""


@dataclass(frozen=True, slots=True)
class Annotations:
    """Everything that the JSON files of a set say."""

    positives: Mapping[str, Mapping[str, str]]
    """video → event (`Ev1` to `Ev5`) → its caption."""
    pairs: Mapping[str, PairTest] = field(default_factory=dict)
    """Test → its entries; `control` stands for both control tests. Empty tests get no file."""
    ivat: Sequence[str] | None = None
    """The videos of IVAT; None: all that have positives."""


def write_annotations(root: Path, annotations: Annotations) -> None:
    """Writes vidsitu_dict.json, pos_caps.json and a file per test that has entries.

    Args:
        root: The set's folder; `data/` is made in it.
        annotations: What to write.
    """
    folder = Layout.new(root).annotations
    folder.mkdir(parents=True, exist_ok=True)
    ivat = frozenset(annotations.ivat or ())
    events = {
        video: {event: {"pos": caption} for event, caption in captions.items()}
        for video, captions in annotations.positives.items()
        if annotations.ivat is None or video in ivat
    }
    write_json(folder / TEST_FILES["ivat"], events)
    write_json(folder / "pos_caps.json", annotations.positives)
    for test, entries in annotations.pairs.items():
        if entries:
            name = "control.json" if test == "control" else TEST_FILES[test]
            write_json(folder / name, entries)


def write_json(file: Path, value: object) -> None:
    """Writes a document, one top-level entry a line, so that it can be read and compared by eye."""
    entries = value.items() if isinstance(value, Mapping) else None
    if entries is None:
        file.write_text(json.dumps(value, ensure_ascii=False) + "\n", encoding="utf-8")
        return
    lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in entries)
    file.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
