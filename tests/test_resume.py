"""Runs that are killed at any moment and started again: nothing is lost, doubled or changed."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest
import yaml

import vbench
from vbench.records import FINAL

VIDEOS = 4
SMALL = ["loader.batch_size=1", "loader.texts_per_batch=6", "loader.flush_seconds=0"]

SERVER = """
import json, os, signal, sys, time
import vbench.cli

def child(words, write):
    fsync, seen = os.fsync, [0]
    def dying_fsync(file):
        seen[0] += 1
        if seen[0] == write:
            os.kill(os.getpid(), signal.SIGKILL)  # complete, but not yet under its name
        fsync(file)
    os.fsync = dying_fsync
    signal.alarm(300)  # whoever hangs dies of it
    os._exit(vbench.cli.main(words))

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # tables are not answers
print(vbench.cli.main(sys.argv[1:]), file=answers, flush=True)
for line in sys.stdin:
    words, seconds, write = json.loads(line)
    pid = os.fork()
    if not pid:
        child(words, write)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(pid, signal.SIGKILL)  # nobody else has its number: it has not been waited for
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    print(code, file=answers, flush=True)
"""
"""Runs a command, then forks others: all is imported, so that kills hit the run itself."""

Command = Callable[..., int]
"""Runs a command, or kills it after some seconds or at its n-th write; gives the exit code."""


def real(words: list[str], seconds: float | None = None) -> int:
    """As typed into a console."""
    command = [sys.executable, "-m", "vbench", "evaluate", *words]
    try:
        return subprocess.run(command, timeout=seconds or 300, check=False).returncode
    except subprocess.TimeoutExpired:  # it has been killed
        assert seconds is not None
        return -signal.SIGKILL


@pytest.fixture(scope="session")
def toy_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("resume") / "set"
    words = ["dataset=velociti/toy", f"num_videos={VIDEOS}", "seed=7", f"dataset.root={root}"]
    subprocess.run([sys.executable, "-m", "vbench", "build", *words], check=True, timeout=300)
    return root


def words(toy_set: Path, run_dir: Path, *more: str) -> list[str]:
    data = ["dataset=velociti/toy", f"dataset.num_videos={VIDEOS}", "dataset.seed=7"]
    where = [f"dataset.root={toy_set}", f"run_dir={run_dir}", "trainer=cpu", "logger=none"]
    return [*data, *where, "model=toy/clip", "loader.num_workers=1", "loader.cache=false", *more]


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the run lies that nobody disturbs: the first of `forked`."""
    return tmp_path_factory.mktemp("whole") / "run"


@pytest.fixture(scope="session")
def forked(
    toy_set: Path, whole: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Command]:
    first = words(toy_set, whole, "loader.num_workers=0")
    with (
        (tmp_path_factory.mktemp("server") / "log").open("w+") as log,
        subprocess.Popen(
            [sys.executable, "-c", SERVER, *first], stdin=-1, stdout=-1, stderr=log, text=True
        ) as server,
    ):
        ask, answers = server.stdin, server.stdout
        assert ask is not None
        assert answers is not None

        def answer() -> int:
            code = answers.readline().strip()
            if code not in ("0", "-9"):
                log.seek(0)
                raise AssertionError(f"{code}: {log.read()[-3000:]}")
            return int(code)

        def run(words: list[str], seconds: float | None = None, write: int = 0) -> int:
            ask.write(json.dumps([words, seconds, write]) + "\n")
            ask.flush()
            return answer()

        assert answer() == 0
        yield run
        ask.close()


def check_intact(run_dir: Path) -> None:
    """Every file that has its name is complete."""
    for file in run_dir.rglob("[!.]*.parquet"):
        pd.read_parquet(file)
    for file in run_dir.glob("*.json"):
        json.loads(file.read_text())
    for file in run_dir.glob("config.yaml"):
        assert yaml.safe_load(file.read_text())["seed"] == 0


def check_same(run_dir: Path, whole: Path) -> None:
    """A finished run is what it would have been without kills, and asked nothing twice."""
    ours, theirs = vbench.load_run(run_dir), vbench.load_run(whole)
    pd.testing.assert_frame_equal(
        ours.records.drop(columns="scores"), theirs.records.drop(columns="scores")
    )
    scores = [np.concatenate(list(run.records.scores)) for run in (ours, theirs)]
    np.testing.assert_allclose(*scores, atol=1e-5)
    shards = (run_dir / "predictions").glob("[!.]*.parquet")
    rows = pd.concat([pd.read_parquet(shard) for shard in shards])
    final = rows[rows.status.isin(list(FINAL))]
    assert final.key.is_unique
    assert len(final) == len(rows)
    assert ours.exit_code == 0


def kill_and_resume(
    run: Command, count: int, seconds: float, tmp_path: Path, command: Callable[[Path], list[str]]
) -> Iterator[Path]:
    """Kills and resumes until so many kills have hit; yields the folders of runs that got through.

    Args:
        run: Runs a command.
        count: Kills.
        seconds: What a run takes; kills come at random moments within.
        tmp_path: For run folders.
        command: What to run in a folder.
    """
    dice, hit, number = random.Random(), 0, 0
    while True:
        run_dir = tmp_path / f"run{number}"
        late = None if hit >= count else dice.uniform(0, seconds)
        code = run(command(run_dir), late)
        check_intact(run_dir)
        if code == 0:
            yield run_dir
            if hit >= count:
                return
            number += 1
            seconds *= 0.8  # else most kills would come too late where runs became faster
        hit += code != 0


@pytest.mark.parametrize(
    ("count", "cached"),
    [(5, False), (2, True), *(pytest.param(20, c, marks=pytest.mark.slow) for c in (False, True))],
)
def test_runs_killed_at_random_moments_resume_to_the_same_records(
    forked: Command, toy_set: Path, whole: Path, tmp_path: Path, count: int, cached: bool
) -> None:
    cache = [f"paths.cache={tmp_path}/cache", f"loader.cache={str(cached).lower()}"]
    started = time.monotonic()
    assert forked(words(toy_set, tmp_path / "run", *SMALL)) == 0
    seconds = time.monotonic() - started
    finished = kill_and_resume(
        forked, count, seconds, tmp_path, lambda run_dir: words(toy_set, run_dir, *SMALL, *cache)
    )
    for run_dir in finished:
        check_same(run_dir, whole)
    if cached:
        with sqlite3.connect(tmp_path / "cache" / "embeddings.sqlite") as database:
            assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.mark.slow
def test_the_real_command_killed_at_random_moments(
    forked: Command, toy_set: Path, whole: Path, tmp_path: Path
) -> None:
    started = time.monotonic()
    assert real(words(toy_set, tmp_path / "run", *SMALL)) == 0
    seconds = time.monotonic() - started
    for run_dir in kill_and_resume(
        real, 5, seconds, tmp_path, lambda run_dir: words(toy_set, run_dir, *SMALL)
    ):
        check_same(run_dir, whole)


@pytest.mark.parametrize(
    "writes", [[1, 2, 4, 7, 11], pytest.param(range(1, 60), marks=pytest.mark.slow)]
)
def test_runs_killed_between_writing_and_naming_a_file(
    forked: Command, toy_set: Path, whole: Path, tmp_path: Path, writes: list[int]
) -> None:
    for write in writes:
        code = forked(words(toy_set, tmp_path / "run", *SMALL), write=write)
        check_intact(tmp_path / "run")
        if code == 0:
            break
    # What is left of a write that a power cut tore is not mistaken for anything.
    (tmp_path / "run" / "predictions" / ".torn.parquet.1.abc.tmp").write_bytes(b"PAR1")
    assert forked(words(toy_set, tmp_path / "run")) == 0
    check_same(tmp_path / "run", whole)


@pytest.mark.parametrize(
    "stop", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)
def test_ctrl_c_and_sigterm_stop_a_run_that_resumes(
    forked: Command, toy_set: Path, whole: Path, tmp_path: Path, stop: signal.Signals
) -> None:
    run_dir = tmp_path / "run"
    tiny = ["loader.texts_per_batch=1", "loader.batch_size=1", "loader.flush_seconds=0"]
    # What a shell runs in the background inherits an ignored Ctrl-C; what a terminal runs does not.
    listening = (
        "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); "
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    vbench_words = ["-m", "vbench", "evaluate", *words(toy_set, run_dir, *tiny)]
    command = [sys.executable, "-c", listening, sys.executable, *vbench_words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while not list(run_dir.glob("predictions/[!.]*.parquet")):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(stop)
        _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "type the same command to resume" in said
    assert "Traceback" not in said
    assert json.loads((run_dir / "status.json").read_text())["state"] == "interrupted"
    assert_gone(run_dir)
    assert forked(words(toy_set, run_dir)) == 0
    check_same(run_dir, whole)


def processes(run_dir: Path, rank: int | None = None) -> list[psutil.Process]:
    """Returns the processes of a run or of one of its ranks, decode workers last."""
    found = []
    for process in psutil.process_iter(["cmdline", "create_time", "environ"]):
        own_rank = int((process.info["environ"] or {}).get("LOCAL_RANK", 0))
        if f"run_dir={run_dir}" in (process.info["cmdline"] or ()) and rank in (None, own_rank):
            found.append((process.info["create_time"], process))
    return [process for _, process in sorted(found, key=lambda each: each[0])]


def two(toy_set: Path, run_dir: Path, *more: str) -> list[str]:
    return words(toy_set, run_dir, "trainer.devices=2", *more)


@pytest.mark.slow
@pytest.mark.parametrize("victim", [0, 1])
def test_a_failing_rank_ends_the_run_in_plain_words(
    forked: Command, toy_set: Path, whole: Path, tmp_path: Path, victim: int
) -> None:
    shutil.copytree(toy_set, tmp_path / "set")
    video = sorted((tmp_path / "set").rglob("*.mp4"))[2 + victim]
    video.write_bytes(b"garbage")
    command = [sys.executable, "-m", "vbench", "evaluate"]
    command += two(tmp_path / "set", tmp_path / "run", "on_error=fail")
    done = subprocess.run(command, timeout=300, capture_output=True, text=True, check=False)
    assert done.returncode in (1, -signal.SIGKILL)  # Lightning kills the first when another fails
    assert "on_error=fail ends the run" in done.stderr
    assert str(video) in done.stderr
    assert "bug in vbench" not in done.stderr
    assert json.loads((tmp_path / "run" / "status.json").read_text())["state"] == "failed"
    assert_gone(tmp_path / "run")
    shutil.copytree(toy_set, tmp_path / "set", dirs_exist_ok=True)
    assert real(two(tmp_path / "set", tmp_path / "run", "on_error=fail")) == 0
    assert real(two(tmp_path / "set", tmp_path / "run", "on_error=fail")) == 0
    assert vbench.load_run(tmp_path / "run").exit_code == 0


@pytest.mark.slow
@pytest.mark.parametrize("victim", [0, 1])
def test_killing_a_rank_never_hangs_the_rest(
    forked: Command, toy_set: Path, whole: Path, tmp_path: Path, victim: int
) -> None:
    run_dir = tmp_path / "run"
    command = [sys.executable, "-m", "vbench", "evaluate", *two(toy_set, run_dir, *SMALL)]
    with subprocess.Popen(command) as process:
        while not list((run_dir / "predictions").glob("[!.]*.parquet")):
            assert process.poll() is None
            time.sleep(0.05)
        processes(run_dir, victim)[0].kill()
        assert process.wait(timeout=300) != 0
    assert_gone(run_dir)
    check_intact(run_dir)
    assert real(two(toy_set, run_dir)) == 0
    check_same(run_dir, whole)


def at_once(
    words: list[str],
    first_later_by: float = 0,
    victim: int | None = None,
    begun: Callable[[], object] = bool,
) -> list[tuple[int, str]]:
    """Starts two ranks as torchrun and Slurm do; gives exit code and words of each, first first.

    Args:
        words: Of the command.
        first_later_by: Seconds.
        victim: The rank that is killed, if any.
        begun: When it is.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    started = []
    for rank in ("1", "0"):
        ranks = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
        ranks |= {"GROUP_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        ranks |= {"TORCHELASTIC_RUN_ID": "none"}
        command = [sys.executable, "-m", "vbench", "evaluate", *words]
        started.append(subprocess.Popen(command, env=os.environ | ranks, stderr=-1, text=True))
        time.sleep(first_later_by if rank == "1" else 0)
    if victim is not None:
        while not begun():
            assert all(process.poll() is None for process in started)
            time.sleep(0.02)
        started[1 - victim].kill()
    try:
        said = [process.communicate(timeout=300)[1] for process in reversed(started)]
    finally:
        for process in started:
            process.kill()
    return [(p.returncode, text) for p, text in zip(reversed(started), said, strict=True)]


@pytest.mark.slow
def test_ranks_that_start_at_once_wait_until_the_first_has_opened_the_folder(
    toy_set: Path, forked: Command, whole: Path, tmp_path: Path
) -> None:
    run_dir = tmp_path / "run"
    command = two(toy_set, run_dir, "loader.cache=true", f"paths.cache={tmp_path / 'cache'}")
    assert real(command) == 0  # all that the second rank wants is in the cache from now on
    shutil.move(run_dir, tmp_path / "known")
    for fresh in ("fresh=false", "fresh=true"):
        assert [code for code, _ in at_once([*command, fresh], 4)] == [0, 0]
        check_same(run_dir, whole)
    files = sorted(run_dir.glob("predictions/*"))
    again = at_once(command, 0)
    assert [code for code, _ in again] == [0, 0]
    assert "predict" not in again[0][1]  # nothing is left, so no rank loads the model
    assert sorted(run_dir.glob("predictions/*")) == files
    (first, said), (second, heard) = at_once([*command, "sampler=nested"], 0)
    assert (first, second) == (1, 1)
    assert "run_dir holds a run with other settings" in said
    assert "another process of the run has failed" in heard
    check_same(run_dir, whole)


@pytest.mark.slow
@pytest.mark.parametrize("victim", [0, 1])
def test_killing_a_rank_that_a_cluster_has_started_ends_the_other(
    toy_set: Path, forked: Command, whole: Path, tmp_path: Path, victim: int
) -> None:
    """Nobody but the other rank itself can notice here."""
    run_dir = tmp_path / "run"
    command = two(toy_set, run_dir, *SMALL)
    written = f"predictions/*-000{victim}-0000-*"
    ends = at_once(command, victim=victim, begun=lambda: list(run_dir.glob(written)))
    assert ends[victim][0] == -signal.SIGKILL
    code, said = ends[1 - victim]
    assert code == 1
    assert "another process of the run has failed" in said
    status = json.loads((run_dir / "status.json").read_text())
    assert (status["state"], "another process" in status["error"]) == ("failed", True)
    assert_gone(run_dir)
    assert real(command) == 0
    check_same(run_dir, whole)


@pytest.mark.slow
@pytest.mark.parametrize("victim", [0, 1])
def test_a_rank_that_fails_is_what_the_run_failed_of(
    toy_set: Path, forked: Command, tmp_path: Path, victim: int
) -> None:
    shutil.copytree(toy_set, tmp_path / "set")
    video = sorted((tmp_path / "set").rglob("*.mp4"))[2 + victim]
    video.write_bytes(b"garbage")
    command = two(tmp_path / "set", tmp_path / "run", *SMALL, "on_error=fail")
    ends = at_once(command)
    assert [code for code, _ in ends] == [1, 1]
    told = ["on_error=fail ends the run" in said for _, said in ends]
    assert sorted(told) == [False, True]
    assert "another process of the run has failed" in ends[told.index(False)][1]
    assert "bug in vbench" not in ends[0][1] + ends[1][1]
    status = json.loads((tmp_path / "run" / "status.json").read_text())
    assert (status["state"], str(video) in status["error"]) == ("failed", True)


def assert_gone(run_dir: Path) -> None:
    """No process of a run stays behind."""
    deadline = time.monotonic() + 120
    while (left := processes(run_dir)) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert left == []
