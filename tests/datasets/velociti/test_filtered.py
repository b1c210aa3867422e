"""A set that holds what quality control kept, with a hash of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vbench.cli import main
from vbench.datasets.toy.benchmark import ToyVelociti
from vbench.datasets.velociti.filtered import FilteredVelociti, annotations_sha256
from vbench.datasets.velociti.release import Velociti
from vbench.errors import DataError


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("toy") / "set"
    return ToyVelociti(str(root), 6, 1, render=False).build()


def judge(source: Path, file: Path, drop: int = 3) -> set[tuple[str, str]]:
    """Judges agent_iden and IVAT, and drops every so many."""
    samples = Velociti(str(source), tests=["agent_iden", "ivat"]).samples()
    rows = [
        {"test": s.test, "sample_id": s.sample_id, "kept": bool(n % drop)}
        for n, s in enumerate(samples)
    ]
    file.write_text("\n".join(map(json.dumps, rows)))
    return {(str(row["test"]), str(row["sample_id"])) for row in rows if row["kept"]}


def names(root: Path) -> set[tuple[str, str]]:
    return {(s.test, s.sample_id) for s in Velociti(str(root)).samples()}


def test_what_is_kept_stays_and_unjudged_tests_are_whole(source: Path, tmp_path: Path) -> None:
    kept = judge(source, tmp_path / "kept.jsonl")
    root = tmp_path / "new"
    words = [f"dataset.source_root={source}", f"dataset.kept={tmp_path}/kept.jsonl"]
    assert main(["build", "dataset=velociti/filtered", *words, f"dataset.root={root}"]) == 0
    before, after = names(source), names(root)
    judged = {"agent_iden", "ivat"}
    assert {name for name in after if name[0] in judged} == kept
    assert {n for n in after if n[0] not in judged} == {n for n in before if n[0] not in judged}


def test_the_hash_is_new_and_that_of_the_contents(source: Path, tmp_path: Path) -> None:
    kept = judge(source, tmp_path / "kept.jsonl")
    roots = [tmp_path / name for name in ("a", "b")]
    for root in roots:
        FilteredVelociti(
            str(root), source_root=str(source), kept=str(tmp_path / "kept.jsonl")
        ).build()
    told = [json.loads((root / "filtered.json").read_text()) for root in roots]
    assert told[0]["sha256"] == told[1]["sha256"] == annotations_sha256(roots[0] / "data")
    assert told[0]["sha256"] != told[0]["source_sha256"] == annotations_sha256(source / "data")
    counts = told[0]["tests"]["agent_iden"]
    assert counts["kept"] == sum(test == "agent_iden" for test, _ in kept)
    assert counts["kept"] + counts["dropped"] == 30


def test_videos_are_linked(tmp_path: Path) -> None:
    source = ToyVelociti(str(tmp_path / "set"), 4, 2).build()
    judge(source, tmp_path / "kept.jsonl")
    root = FilteredVelociti(
        str(tmp_path / "new"), source_root=str(source), kept=str(tmp_path / "kept.jsonl")
    ).build()
    clips = [clip for sample in Velociti(str(root)).samples() for clip in sample.clips]
    assert all(Path(clip.path).is_file() for clip in clips)
    assert (root / "data/videos/velociti_videos_10s").is_symlink()


def test_what_is_missing_is_told(source: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not named"):
        FilteredVelociti(str(tmp_path / "x")).build()
    (tmp_path / "kept.jsonl").write_text("{}")
    with pytest.raises(DataError, match="quality control"):
        FilteredVelociti(
            str(tmp_path / "x"), source_root=str(source), kept=str(tmp_path / "kept.jsonl")
        ).build()
    judge(source, tmp_path / "kept.jsonl")
    (tmp_path / "y").mkdir()
    (tmp_path / "y" / "mine").touch()
    with pytest.raises(DataError, match="not empty"):
        FilteredVelociti(
            str(tmp_path / "y"), source_root=str(source), kept=str(tmp_path / "kept.jsonl")
        ).build()
