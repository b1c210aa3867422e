"""Decoders that hang, crash and misbehave, each in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
import torch

import vbench
from vbench.errors import RunError
from vbench.loop.data import Prepared, PreparedClip, PreparedFile
from vbench.loop.loader import Loader
from vbench.loop.plan import FileWork, TextWork, Work
from vbench.loop.workers import StartMethod
from vbench.records import Clip


@dataclass
class Fake:
    """Prepares an item by doing what its path says."""

    paths: list[str]
    work: list[Work] = field(init=False)

    def __post_init__(self) -> None:
        self.work = [
            TextWork((("t", "text"),))
            if path == "text"
            else FileWork(path, (("a", Clip("v", path)), ("b", Clip("v", path, 1, 2))))
            for path in self.paths
        ]

    def __getitem__(self, index: int) -> Prepared:
        work = self.work[index]
        if isinstance(work, TextWork):
            return work
        command, _, value = work.path.partition(" ")
        match command:
            case "sleep":
                time.sleep(float(value))
            case "die":
                os.kill(os.getpid(), signal.Signals[value])
            case "exit":
                os._exit(int(value))
            case "raise":
                raise ValueError("first\nsecond")
            case "full":
                raise RunError("cannot write", where=value, why="no space", mend="free some")
            case "nothing":
                return PreparedFile(work.path, [], None, work.pairs)
        clips = [PreparedClip(key, clip, rows=(0, 1)) for key, clip in work.clips]
        size = 600 if command == "big" else 4
        pixels = torch.full((2, 3, size, size), float(index)).permute(0, 1, 3, 2)
        return PreparedFile(work.path, clips, pixels)


@pytest.fixture(autouse=True)
def no_orphans() -> Iterator[None]:
    """Every test ends with as many child processes and threads as it found."""
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    threads = threading.active_count()
    yield
    left = [c for c in psutil.Process().children(recursive=True) if c.pid not in before]
    # the spawn method's own bookkeeper stays for the next spawn
    assert [c.cmdline() for c in left if "resource_tracker" not in " ".join(c.cmdline())] == []
    assert threading.active_count() == threads


def items(
    *paths: str,
    workers: int = 2,
    timeout_s: float = 30,
    batch_size: int = 2,
    start_method: StartMethod | None = None,
) -> list[Prepared]:
    loader = Loader(Fake(list(paths)), batch_size, workers, timeout_s, start_method)
    batches = list(loader)
    assert len(batches) == -(-len(paths) // batch_size)
    return [item for batch in batches for item in batch.work]


def file(item: Prepared) -> PreparedFile:
    assert isinstance(item, PreparedFile)
    return item


def check_ok(item: Prepared, index: int) -> None:
    assert {clip.status for clip in file(item).clips} == {"ok"}
    pixels = file(item).pixels
    assert pixels is not None
    assert pixels.dtype == torch.float32
    assert (pixels == index).all()


def check_lost(item: Prepared, path: str, reason: str) -> None:
    """All clips failed for the reason, and are there in full for the record."""
    assert file(item).path == path
    assert file(item).pixels is None
    assert [clip.key for clip in file(item).clips] == ["a", "b"]
    for clip in file(item).clips:
        assert clip.status == "decode_error"
        assert clip.clip.path == path
        assert reason in clip.reason
        assert "\n" not in clip.reason


HANGS = {
    "sleep 600": "took longer than 5 s and was stopped (loader.decode_timeout_s)",
    "die SIGSTOP": "took longer than 5 s",
}
CRASHES = {
    "die SIGSEGV": "died of SIGSEGV",
    "die SIGKILL": "died of SIGKILL; was there too little memory?",
    "exit 3": "ended with exit code 3",
    "exit 0": "ended with exit code 0",
    "raise": "ValueError: first second",
}


@pytest.mark.parametrize(("faults", "workers"), [(HANGS | CRASHES, 3), (CRASHES, 1), (CRASHES, 30)])
def test_each_fault_costs_its_own_file_only(faults: dict[str, str], workers: int) -> None:
    paths = ["text"]
    for fault in faults:
        paths += ["ok", fault, "big"]
    prepared = items(*paths, workers=workers, timeout_s=5, batch_size=3)
    assert len(prepared) == len(paths)
    assert isinstance(prepared[0], TextWork)
    for number, (fault, reason) in enumerate(faults.items()):
        good, bad, big = prepared[1 + 3 * number : 4 + 3 * number]
        check_ok(good, 1 + 3 * number)
        check_lost(bad, fault, reason)
        check_ok(big, 3 + 3 * number)


def test_spawned_workers_do_the_same() -> None:
    paths = ["big", "die SIGSEGV", "ok", "text"]
    big, dead, good, text = items(*paths, workers=1, start_method="spawn")
    check_ok(big, 0)
    check_lost(dead, "die SIGSEGV", "died of SIGSEGV")
    check_ok(good, 2)  # by the replacement, spawned too
    assert text == TextWork((("t", "text"),))


def test_order_is_that_of_the_work() -> None:
    paths = ["sleep 0.3", "ok", "big", "sleep 0.1", "nothing", "ok", "ok"]
    prepared = items(*paths, workers=3, batch_size=1)
    assert [file(item).path for item in prepared] == paths


@pytest.mark.parametrize("workers", [0, 2])
def test_no_work_no_batches(workers: int) -> None:
    assert items(workers=workers) == []


def test_without_workers_faults_are_recorded_too() -> None:
    good, bad = items("ok", "raise", workers=0)
    check_ok(good, 0)
    check_lost(bad, "raise", "ValueError: first second")


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_a_full_disk_ends_the_loop_with_its_own_error(workers: int) -> None:
    with pytest.raises(RunError) as caught:
        items("ok", "full disk", *["ok"] * 50, workers=workers)
    assert (caught.value.where, caught.value.mend) == ("disk", "free some")


def test_little_is_prepared_ahead(tmp_path: Path) -> None:
    loader = Loader(Recording(["ok"] * 40, tmp_path), batch_size=3, workers=2, timeout_s=30)
    next(iter(loader))
    time.sleep(0.5)  # enough for all 40, were it not for the bound
    assert len(list(tmp_path.iterdir())) <= 3 + 3 + 2
    loader.close()


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_large_files_come_alone_and_wait_for_one_another(
    workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vbench.loop.loader.BATCH_BYTES", 2 * 3 * 600 * 600 * 4)
    monkeypatch.setattr("vbench.loop.loader.WAITING_BYTES", 1)
    paths = ["ok", "ok", "ok", "big", "big", "ok", "big", "sleep 0.1", "big"]
    loader = Loader(Recording(paths, tmp_path), 3, workers, 30)
    sizes = [len(batch.work) for batch in loader]
    assert sizes == [3, 1, 1, 2, 2]
    taken = iter(Loader(Recording(["big"] * 20, tmp_path / "second"), 3, workers, 30))
    next(taken)
    time.sleep(0.5)
    assert len(list((tmp_path / "second").iterdir())) <= 1 + workers + 1
    taken.close()


@dataclass
class Recording(Fake):
    folder: Path

    def __getitem__(self, index: int) -> Prepared:
        self.folder.mkdir(exist_ok=True)
        (self.folder / str(index)).touch()
        return super().__getitem__(index)


@pytest.mark.parametrize("taken", [0, 1])
@pytest.mark.parametrize("path", ["sleep 600", "big"])
def test_leaving_early_ends_the_workers(taken: int, path: str) -> None:
    loader = Loader(Fake([*["ok"] * 2, *[path] * 20]), 2, 3, 900)
    batches = iter(loader)
    for _ in range(taken):
        next(batches)
    loader.close()
    loader.close()
    assert next(batches, None) is None


def test_a_loader_can_be_run_again() -> None:
    loader = Loader(Fake(["ok", "big", "ok"]), 2, 2, 30)
    next(iter(loader))
    again = [item for batch in loader for item in batch.work]
    assert [file(item).path for item in again] == ["ok", "big", "ok"]


def test_a_worker_that_cannot_start_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    unpicklable = Loader(Unpicklable(["ok"]), 1, 1, 30, "spawn")
    with pytest.raises(RunError, match="cannot be started") as caught:
        list(unpicklable)
    assert "num_workers=0" in caught.value.mend
    monkeypatch.setattr("vbench.loop.workers._die_with", lambda parent: os._exit(9))
    with pytest.raises(RunError, match="exit code 9"):
        items("ok", "ok")


def test_a_script_that_is_run_again_in_a_worker_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing.current_process(), "_name", "vbench-decode")
    with pytest.raises(RunError) as caught:
        vbench.evaluate("model=toy/clip")
    assert "if __name__ == '__main__'" in caught.value.mend


@dataclass
class Unpicklable(Fake):
    handle: Callable[[], None] = lambda: None


ORPHANS = """
import os, sys
sys.path.insert(0, {folder!r})
from test_loader import Fake, Loader
loader = Loader(Fake(["ok", "ok", "sleep 600", "sleep 600"]), 2, 2, 900)
next(iter(loader))
import time; time.sleep(0.5)
print(*[c.pid for c in __import__("psutil").Process().children()], flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills the children of the killed")
def test_killing_the_parent_leaves_no_decoder_running() -> None:
    script = ORPHANS.format(folder=str(Path(__file__).parent))
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        workers = [psutil.Process(int(pid)) for pid in process.stdout.readline().split()]
        assert len(workers) == 2
        process.kill()
    _, alive = psutil.wait_procs(workers, timeout=20)
    assert alive == []
