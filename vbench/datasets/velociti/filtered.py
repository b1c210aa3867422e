"""`vbench build dataset=velociti/filtered`: what quality control keeps of a set, as a set."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vbench.datasets.velociti.json_files import read_json
from vbench.datasets.velociti.layout import TEST_FILES, Layout
from vbench.datasets.velociti.release import Velociti, read_kept
from vbench.datasets.velociti.writer import write_json
from vbench.datasets.whole import write_whole
from vbench.errors import DataError

MANIFEST = "filtered.json"


@dataclass
class FilteredVelociti(Velociti):
    """A set of v1's layout that holds what quality control keeps of another.

    Tests that nobody judged come along whole. Videos are linked, never copied.
    """

    source_root: str = ""
    """The set that was judged."""
    name: str = "velociti/filtered"

    def build(self) -> Path:
        """Writes the set, and `filtered.json`: what it was made from and what became of each test.

        Returns:
            Its folder.

        Raises:
            DataError: A file is missing or malformed, or the folder holds something.
        """
        if not self.source_root or not self.kept:
            raise DataError(
                "what is to be filtered is not named",
                where="dataset.source_root, dataset.kept",
                mend="name the set that was judged, and the kept.jsonl of vbench annotate",
            )
        source = Layout.find(Path(self.source_root).expanduser())
        judged = read_kept(Path(self.kept).expanduser())
        root = Path(self.root).expanduser()
        if not write_whole(root, lambda folder: _fill(folder, source, judged), "the filtered set"):
            raise DataError(
                f"'{root}' is not empty",
                where=f"dataset.root={root}",
                mend="give an empty or a new folder as dataset.root",
            )
        return root

    def counts(self) -> Mapping[str, int]:
        """Returns nothing: a filtered set was never released."""
        return {}


def _fill(folder: Path, source: Layout, judged: Mapping[tuple[str, str], bool]) -> None:
    target = Layout.new(folder)
    target.annotations.mkdir(parents=True)
    tests: dict[str, Counter[str]] = {}
    for name in dict.fromkeys(TEST_FILES.values()):
        if (source.annotations / name).is_file():
            document: Any = read_json(source.annotations / name).value
            own = [test for test, file in TEST_FILES.items() if file == name]
            kept, counts = _filtered(document, own, judged)
            tests |= dict.fromkeys(own, counts)
            write_json(target.annotations / name, kept)
    for there, here in (
        (source.videos, target.videos),
        (source.segments, target.segments),
        (source.frames, target.frames),
    ):
        if there.is_dir():
            here.parent.mkdir(parents=True, exist_ok=True)
            here.symlink_to(there.resolve(), target_is_directory=True)
    manifest = {
        "source": str(source.annotations),
        "source_sha256": annotations_sha256(source.annotations),
        "sha256": annotations_sha256(target.annotations),
        "tests": {test: dict(counts) for test, counts in tests.items()},
    }
    write_json(folder / MANIFEST, manifest)


def annotations_sha256(folder: Path) -> str:
    """Returns a hash of all annotation files of a set: names and contents."""
    found = hashlib.sha256()
    for name in sorted(set(TEST_FILES.values())):
        if (folder / name).is_file():
            content = json.loads((folder / name).read_text(encoding="utf-8-sig"))
            found.update(json.dumps([name, content], ensure_ascii=True).encode())
    return found.hexdigest()


def _filtered(
    document: Mapping[str, Mapping[str, Any]],
    tests: list[str],
    judged: Mapping[tuple[str, str], bool],
) -> tuple[dict[str, dict[str, Any]], Counter[str]]:
    """Returns the entries that stay; one that two tests read stays if each that was judged does."""
    concerned = {test for test, _ in judged} & set(tests)
    kept: dict[str, dict[str, Any]] = {}
    counts: Counter[str] = Counter()

    def stays(sample: str) -> bool:
        good = all(judged.get((test, sample), False) for test in concerned)
        counts["kept" if good else "dropped"] += 1
        return good

    for video, events in document.items():
        if tests == ["ivat"]:
            if stays(video):
                kept[video] = dict(events)
            continue
        own = {event: entry for event, entry in events.items() if stays(f"{video}/{event}")}
        if own:
            kept[video] = own
    return kept, counts
