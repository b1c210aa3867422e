"""Run folders that cannot be written to, from the start or all of a sudden."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import vbench
from vbench.cli import main
from vbench.errors import RunError
from vbench.results.run import Run


@pytest.mark.parametrize("kind", ["a file", "under a file", "locked", "something else"])
def test_run_folders_that_cannot_be_used(
    kind: str, videos: Path, tools: Any, tmp_path: Path
) -> None:
    run_dir = tmp_path / "run"
    match kind:
        case "a file":
            run_dir.write_text("mine")
        case "under a file":
            (tmp_path / "file").write_text("mine")
            run_dir = tmp_path / "file" / "run"
        case "locked":
            run_dir.mkdir(mode=0o500)
        case "something else":
            run_dir.mkdir()
            (run_dir / "thesis.tex").write_text("mine")
    with pytest.raises(RunError) as caught, tools.subject_to_permissions():
        tools.evaluate(videos / "controls.jsonl", run_dir)
    assert str(run_dir) in caught.value.where
    assert caught.value.mend
    left = [path.name for path in tmp_path.rglob("*") if path.is_file()]
    assert left in ([], ["run"], ["file"], ["thesis.tex"])


@contextmanager
def full_disk(folder: Path, share: float, needed: Sequence[int]) -> Iterator[Callable[[], None]]:
    """Makes a folder a disk that is too small; what it gives makes room on it.

    Only root may mount; where that is not allowed, it is files that may not become so large.

    Args:
        folder: Does not exist.
        share: Of the room that is needed.
        needed: Sizes of the files to come.
    """
    folder.mkdir()
    size = int(share * sum(size // 4096 + 1 for size in needed)) * 4096
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=777", "none", str(folder)]
    if not subprocess.run(mount, capture_output=True, check=False).returncode:
        grow = ["mount", "-o", "remount,size=64m", str(folder)]
        try:
            yield lambda: subprocess.run(grow, check=True)
        finally:
            subprocess.run(["umount", "-l", str(folder)], check=True)
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(share * max(needed)), hard))
    try:
        yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("share", [0.1, 0.4, 0.7, 0.95])
def test_a_full_disk_stops_the_run_and_room_on_it_resumes(
    share: float, videos: Path, tools: Any, tmp_path: Path, clean_run: Run, capfd: Any
) -> None:
    needed = [path.stat().st_size for path in clean_run.path.rglob("*") if path.is_file()]
    run_dir = tmp_path / "disk" / "run"
    more = ["loader.batch_size=1", "loader.flush_seconds=0"]
    words = tools.command(videos / "controls.jsonl", run_dir, *more)
    with full_disk(tmp_path / "disk", share, needed) as make_room:
        assert main(words) == 1
        said = capfd.readouterr().err
        assert "vbench: cannot write to the run folder\n  where: " + str(run_dir) in said
        assert "free space" in said
        assert "Traceback" not in said
        assert not list(run_dir.rglob(".*.tmp"))
        for file in run_dir.rglob("*.parquet"):
            pd.read_parquet(file)
        make_room()
        assert main(words) == 0
        records = vbench.load_run(run_dir).records
        clean = clean_run.records
        pd.testing.assert_frame_equal(records.drop(columns="scores"), clean.drop(columns="scores"))
        np.testing.assert_allclose(np.stack(records.scores), np.stack(clean.scores), atol=1e-6)


def test_a_disk_that_fails_anywhere_is_told_in_plain_words(
    videos: Path, tools: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*unused: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("vbench.evaluation.write_hydra", fail)
    with pytest.raises(RunError, match="cannot write to the run folder"):
        tools.evaluate(videos / "controls.jsonl", tmp_path / "run")
