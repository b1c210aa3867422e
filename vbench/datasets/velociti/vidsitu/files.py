"""Writes a built set: v1 annotation files, provenance, facts, report and datasheet."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from vbench.datasets.velociti.layout import TEST_FILES, VIDEO_FOLDER, Layout
from vbench.datasets.velociti.vidsitu.builder import Built
from vbench.datasets.velociti.vidsitu.datasheet import datasheet
from vbench.datasets.velociti.vidsitu.labels import EVENTS
from vbench.datasets.velociti.vidsitu.pairs import Pair, Statement, provenance, say, texts
from vbench.datasets.velociti.vidsitu.settings import MANIFEST
from vbench.datasets.velociti.vidsitu.tally import Tally
from vbench.datasets.velociti.writer import Annotations, write_annotations

SAMPLES = "samples.jsonl"
FACTS = "provenance.json"
REPORT = "build_report.json"
DATASHEET = "DATASHEET.md"


@dataclass(frozen=True, slots=True)
class Account:
    """How a set came about, beside the set itself."""

    settings: Mapping[str, object]
    labels: Mapping[str, object]
    """Which label files were read: name and hash."""
    reading: Tally
    """What the label files did not give."""
    spent: Mapping[str, int] | None = None
    """Questions and tokens of this process; None for templates."""

    @property
    def annotation(self) -> int:
        """Which annotator's labels were used."""
        value = self.settings["annotation"]
        return value if isinstance(value, int) else 0


def write_set(root: Path, built: Built, account: Account, videos: Path | None) -> None:
    """Writes every file of a set.

    Args:
        root: An existing folder.
        built: The tests.
        account: How they came about.
        videos: The folder of the videos, to which a link is made; None: none.
    """
    positives = {
        video.video_id: {name: own[name].text for name in EVENTS if name in own}
        for video in built.videos
        if (own := built.captions.get(video.video_id))
    }
    pairs = {test: _entries(of) for test, of in built.pairs.items()}
    write_annotations(root, Annotations(positives, pairs, built.ivat))
    _write_samples(root / SAMPLES, built, account.annotation)
    clashes = _write_facts(root / FACTS, built)
    report = build_report(built, account, clashes)
    _write_json(root / REPORT, report)
    (root / DATASHEET).write_text(datasheet(report), encoding="utf-8")
    if videos is not None:
        link = Layout.new(root).annotations / VIDEO_FOLDER
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(videos.resolve(), target_is_directory=True)
    _write_json(root / MANIFEST, {**account.settings, "labels": account.labels})


def build_report(built: Built, account: Account, clashes: int) -> dict[str, object]:
    """Returns counts of what was built and of what was not, as a JSON object."""
    tests = {}
    for name in TEST_FILES:
        of = built.pairs.get("control" if name.startswith("control") else name, [])
        videos = built.ivat if name == "ivat" else [pair.video for pair in of]
        tests[name] = {"videos": len(set(videos)), "tests": len(videos)}
    return {
        "settings": account.settings,
        "labels": account.labels,
        "videos": len(built.videos),
        "events": sum(len(video.events) for video in built.videos),
        "captions": sum(map(len, built.captions.values())),
        "tests": tests,
        "reading": account.reading.document(),
        "building": built.tally.document(),
        "captions_of_two_meanings": clashes,
        "language_model": account.spent,
    }


def _entries(pairs: list[Pair]) -> dict[str, dict[str, dict[str, str]]]:
    nested: dict[str, dict[str, dict[str, str]]] = {}
    for pair in pairs:
        entry = {"pos": pair.true.text, "neg": pair.false.text}
        if pair.donor is not None:
            entry = {
                "pos_cap": pair.true.text,
                "neg_cap": pair.false.text,
                "neg_vid": pair.donor,
            }
        nested.setdefault(pair.video, {})[pair.key] = entry
    return nested


def _write_samples(file: Path, built: Built, annotation: int) -> None:
    with file.open("w", encoding="utf-8") as lines:
        for test, pairs in built.pairs.items():
            for pair in pairs:
                entry = provenance(test, pair, annotation)
                lines.write(json.dumps(entry, ensure_ascii=False) + "\n")


def _write_facts(file: Path, built: Built) -> int:
    """Writes what oracles may know, in the toy set's structure, a clip or a caption at a time.

    Returns:
        How many captions say one thing in one video and another in another; the first is kept.
    """
    claims: dict[str, Statement] = {}
    clashes = 0
    for statement in _statements(built):
        known = claims.setdefault(statement.text, statement)
        clashes += known.claim != statement.claim
    with file.open("w", encoding="utf-8") as out:
        out.write('{"clips": {\n')
        clips = (
            (video.video_id, [_event(e.roles, e.start_s, e.end_s) for e in video.facts()])
            for video in built.videos
        )
        out.writelines(_joined(clips))
        out.write('},\n"captions": {\n')
        # Sorted, for the order of writing would tell true captions from false ones.
        captions: Iterator[tuple[str, object]] = (
            (
                text,
                {
                    "relation": claims[text].claim.relation,
                    "events": [dict(event.roles) for event in claims[text].claim.events],
                },
            )
            for text in sorted(claims)
        )
        out.writelines(_joined(captions))
        out.write("}}\n")
    return clashes


def _statements(built: Built) -> Iterator[Statement]:
    for captions in built.captions.values():
        yield from map(say, captions.values())
    for pairs in built.pairs.values():
        yield from texts(pairs)


def _event(roles: tuple[tuple[str, str], ...], start_s: float, end_s: float) -> object:
    return {"roles": dict(roles), "start_s": start_s, "end_s": end_s}


def _joined(entries: Iterator[tuple[str, object]]) -> Iterator[str]:
    for number, (key, value) in enumerate(entries):
        yield f"{',' if number else ''}{json.dumps(key)}: {json.dumps(value)}\n"


def _write_json(file: Path, value: object) -> None:
    file.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
