"""Looking at files in processes that can be killed."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from vbench.loop.survey import survey


def look(path: str) -> tuple[str, int]:
    if "hang" in path:
        time.sleep(600)
    if "die" in path:
        os.kill(os.getpid(), signal.SIGKILL)
    if "raise" in path:
        raise RuntimeError("not\nforeseen")
    return Path(path).name, os.getpid()


PATHS = ["a", "die", "b", "raise", "c", "hang", "d"]


@pytest.mark.parametrize("workers", [1, 2])
def test_what_kills_a_worker_costs_one_file(workers: int) -> None:
    found = list(survey(look, PATHS, workers, timeout_s=2.0))
    assert [path for path, _ in found] == PATHS
    good = {path: result for path, result in found if not isinstance(result, str)}
    assert [name for name, _ in good.values()] == ["a", "b", "c", "d"]
    assert os.getpid() not in {process for _, process in good.values()}
    said = {path: result for path, result in found if isinstance(result, str)}
    assert "SIGKILL" in said["die"]
    assert said["raise"] == "RuntimeError: not foreseen"
    assert "longer than 2 s" in said["hang"]


def test_without_workers_this_process_looks() -> None:
    found = dict(survey(look, ["a", "raise"], 0, timeout_s=1.0))
    assert found == {"a": ("a", os.getpid()), "raise": "RuntimeError: not foreseen"}
    assert list(survey(look, [], None, timeout_s=1.0)) == []


def test_leaving_early_ends_the_workers() -> None:
    import multiprocessing

    files = survey(look, ["a", "b", "c", "hang"], 2, timeout_s=600.0)
    assert next(files)[0] == "a"
    files.close()
    assert multiprocessing.active_children() == []
