"""`vbench status`: from the folder alone, at any moment."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import vbench
from vbench.errors import RunError
from vbench.results.process import this_process
from vbench.results.resume import sweep_command
from vbench.results.store import RunFolder
from vbench.status import print_status

Evaluate = Callable[..., Path]
Edit = Callable[[Path], None]


@pytest.fixture(scope="module")
def done(evaluate_rows: Evaluate, hostile: str) -> Path:
    rows = [{"id": str(i), "positive": f"cat {i}", "negative": f"{i} {hostile}"} for i in range(4)]
    return evaluate_rows(rows)


@pytest.fixture
def run(done: Path, tmp_path: Path) -> Path:
    """A finished run to do harm to."""
    shutil.copytree(done, tmp_path / "run")
    return tmp_path / "run"


def status(*paths: Path | str, capsys: pytest.CaptureFixture[str]) -> Any:
    print_status([str(path) for path in paths], as_json=True)
    return json.loads(capsys.readouterr().out, parse_constant=pytest.fail)


def text(*paths: Path | str, capsys: pytest.CaptureFixture[str]) -> str:
    print_status([str(path) for path in paths])
    out = capsys.readouterr().out
    assert all(c.isprintable() for line in out.split("\n") for c in line)
    return out


def note(run: Path, state: str, **changes: object) -> None:
    """Lets the run be unfinished, as its status says."""
    (run / "summary.json").unlink(missing_ok=True)
    RunFolder(run).write_status(state)
    file = run / "status.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def grow_old(run: Path, seconds: float) -> None:
    for file in run.rglob("*"):
        os.utime(file, (time.time() - seconds,) * 2)


def keep_rows(run: Path, share: float) -> None:
    (file,) = (run / "predictions").iterdir()
    rows = pd.read_parquet(file)
    rows.iloc[: int(len(rows) * share)].to_parquet(file)


def test_a_finished_run(done: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = status(done, capsys=capsys)["runs"]
    assert (found["state"], found["done"], found["total"]) == ("done", 8, 8)
    assert (found["failed"], found["resume"], found["unreadable"]) == ([], [], [])
    summary = json.loads((done / "summary.json").read_text())
    assert found["tests"] == summary["tests"]
    assert found["coverage"] == summary["coverage"]
    out = text(done, capsys=capsys)
    assert "100 % of 4 samples answered" in out
    assert "8 of 8 (100 %)" in out
    assert f"{100 * summary['tests']['table']['value']:.1f} [" in out
    assert "to go on" not in out


DEAD = {"host": this_process()["host"], "pid": 2**22 + 1, "started": 1}
ELSEWHERE = {"host": "node7", "pid": 1, "started": 1}


@pytest.mark.parametrize(
    ("said", "process", "age_s", "state", "reason"),
    [
        ("running", this_process(), 0, "running", "process {pid} on"),
        ("running", this_process(), 5000, "stalled", "lives but has long written nothing"),
        ("running", DEAD, 0, "stalled", "is gone"),
        ("running", ELSEWHERE, 0, "running", "process 1 on node7"),
        ("running", ELSEWHERE, 5000, "stalled", "may live but has long written nothing"),
        ("running", {}, 0, "running", ""),
        ("interrupted", DEAD, 5000, "interrupted", ""),
        ("failed", DEAD, 0, "failed", ""),
    ],
)
def test_a_run_is_taken_at_its_word_only_while_it_lives(
    run: Path, said: str, process: dict[str, object], age_s: float, state: str, reason: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    note(run, said, process=process)
    grow_old(run, age_s)
    (found,) = status(run, capsys=capsys)["runs"]
    assert found["state"] == state
    assert reason.format(pid=os.getpid()) in found["reason"]
    assert found["age_s"] == pytest.approx(age_s, abs=60)
    assert bool(found["resume"]) == (state != "running")
    assert found["tests"] == {}
    assert state in text(run, capsys=capsys)


def test_what_is_done_is_counted_from_what_is_written(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    note(run, "running", done=0)
    keep_rows(run, 0.5)
    (found,) = status(run, capsys=capsys)["runs"]
    assert (found["done"], found["total"]) == (4, 8)
    assert found["writers"] == [
        {"shard": 0, "rank": 0, "files": 1, "rows": 4, "age_s": pytest.approx(0, abs=60)}
    ]
    shutil.rmtree(run / "predictions")
    (found,) = status(run, capsys=capsys)["runs"]
    assert (found["done"], found["total"], found["writers"]) == (0, 8, [])
    (run / "samples.parquet").unlink()
    (run / "status.json").write_text("{")
    (found,) = status(run, capsys=capsys)["runs"]
    assert (found["state"], found["total"]) == ("stalled", None)
    assert "0 of ?" in text(run, capsys=capsys)


def test_a_damaged_file_is_named_and_the_rest_counted(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run / "predictions" / "1.parquet").write_bytes(b"garbage")
    (found,) = status(run, capsys=capsys)["runs"]
    assert found["unreadable"] == [str(run / "predictions" / "1.parquet")]
    assert found["done"] == 8
    assert "1.parquet" in text(run, capsys=capsys)


def test_failures_are_counted_by_status_with_their_paths(
    evaluate_rows: Evaluate, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"id": f"{i} {k}", "video": f"gone{i}.mp4", "positive": f"cat {k}", "negative": "dog"}
        for i in range(7)
        for k in range(2)
    ]
    run = evaluate_rows(rows, "model=toy/clip")
    (found,) = status(run, capsys=capsys)["runs"]
    assert found["state"] == "done"
    assert {row["status"] for row in found["failed"]} == {"decode_error"}
    assert [Path(row["path"]).name for row in found["failed"]] == [f"gone{i}.mp4" for i in range(7)]
    assert found["resume"]  # they would be tried again
    out = text(run, capsys=capsys)
    assert "decode_error  7" in out
    assert "0 % of 14 samples answered, 14 not: 14 decode_error" in out
    assert "gone4.mp4: " in out
    assert "… and 2 more" in out
    assert "7 answers failed and would be tried again" in out


def test_a_failed_run_says_why(
    evaluate_rows: Evaluate, hostile: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name = hostile.replace("/", "")
    row = {"id": "1", "video": f"{name}.mp4", "positive": "cat", "negative": "dog"}
    with pytest.raises(RunError, match="on_error=fail") as caught:
        evaluate_rows([row], "model=toy/clip", "on_error=fail")
    run = Path(caught.value.where).parent / "run"
    (found,) = status(run, capsys=capsys)["runs"]
    assert found["state"] == "failed"
    assert "on_error=fail" in found["reason"]
    assert "failed: decode_error" in text(run, capsys=capsys)


def test_the_command_to_go_on_goes_on(
    evaluate_rows: Evaluate, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"id": str(i), "positive": f"cat {i}", "negative": "dog"} for i in range(3)]
    run = evaluate_rows(rows, "fresh=true")
    before = pd.read_parquet(run / "records.parquet")
    moved = run.with_name("it's moved, here")
    run.rename(moved)
    keep_rows(moved, 0.5)
    kept = {file.name for file in (moved / "predictions").iterdir()}
    note(moved, "failed")
    (found,) = status(moved, capsys=capsys)["runs"]
    (command,) = found["resume"]
    words = shlex.split(command)
    assert words[:2] == ["vbench", "evaluate"]
    resumed = vbench.evaluate(*words[2:])
    assert resumed is not None
    assert resumed.path == moved
    assert kept < {file.name for file in (moved / "predictions").iterdir()}
    pd.testing.assert_frame_equal(resumed.records, before)


def test_shards_are_told_one_by_one(
    evaluate_rows: Evaluate, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"id": str(i), "video": f"{i}.mp4", "positive": f"cat {i}", "negative": "dog"}
        for i in range(6)
    ]
    run = evaluate_rows(rows, "shards=3", "shard=2")
    note_of = json.loads((run / "status" / "2.json").read_text())
    killed = note_of | {"state": "running", "shard": 1, "process": DEAD}
    (run / "status" / "1.json").write_text(json.dumps(killed))
    (found,) = status(run, capsys=capsys)["runs"]
    assert [share["state"] for share in found["shares"]] == ["not started", "stalled", "waiting"]
    assert found["state"] == "stalled"
    assert (found["done"], found["total"]) == (4, 12)
    assert [writer["shard"] for writer in found["writers"]] == [2]
    first, second = (shlex.split(command)[2:] for command in found["resume"])
    assert [word for word in (*first, *second) if word[:6] == "shard="] == ["shard=0", "shard=1"]
    assert "not started" in text(run, capsys=capsys)
    assert vbench.evaluate(*first) is None
    assert vbench.evaluate(*second) is not None
    (found,) = status(run, capsys=capsys)["runs"]
    assert (found["state"], found["done"], found["resume"]) == ("done", 12, [])
    assert [writer["shard"] for writer in found["writers"]] == [0, 1, 2]


@pytest.fixture(scope="module")
def sweep(evaluate_rows: Evaluate, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of three jobs, one of which fails before it has a folder, and one of which stops."""
    from vbench.cli import main

    folder = tmp_path_factory.mktemp("sweep")
    file = folder / "rows.jsonl"
    file.write_text(json.dumps({"video": "v.mp4", "positive": "cat", "negative": "dog"}))
    words = [
        "-m", "model=oracle/random,oracle/constant,oracle/perfect", "dataset=table",
        f"dataset.file={file}", "dataset.kind=pairs", "dataset.question=null", "logger=none",
        "trainer=cpu", f"paths.outputs={folder}/outputs", "sweep=study",
    ]  # fmt: skip
    assert main(words) == 1  # an oracle that needs the truth, which a table has not
    (constant,) = (folder / "outputs" / "sweeps" / "study").rglob("oracle-constant/*")
    note(constant, "interrupted")
    return folder / "outputs" / "sweeps" / "study"


def test_a_sweep_is_a_table_with_what_to_do(
    sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = text(sweep, capsys=capsys)
    random, constant = (
        next(line for line in out.splitlines() if f"oracle-{name}" in line and "2 of 2" in line)
        for name in ("random", "constant")
    )
    assert out.splitlines()[0].split() == ["run", "state", "answers", "failed", "last", "table"]
    assert "  done  " in random
    assert "]" in random
    assert "  interrupted  " in constant
    assert "]" not in constant
    assert "2 of 3 jobs have begun" in out
    assert "vbench -m model=oracle/random,oracle/constant,oracle/perfect" in out
    found = status(sweep, capsys=capsys)
    assert found["sweeps"][0]["jobs"] == 3
    (failed,) = found["sweeps"][0]["failed"]
    assert "model=oracle/perfect" in failed
    assert f"failed: {failed}" in out
    done, stopped = sorted(found["runs"], key=lambda run: run["state"])
    assert done["resume"] == []
    (command,) = stopped["resume"]
    run = vbench.evaluate(*shlex.split(command)[2:])
    assert run is not None
    assert run.path == Path(stopped["run"])


def test_a_sweep_that_was_stopped_before_its_report_says_so(
    sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "study"
    shutil.copytree(sweep, folder)
    shutil.rmtree(folder / "jobs")
    (constant,) = folder.rglob("oracle-constant/*")
    note(constant, "done", samples=1, answered=1)
    (constant / "summary.json").write_text('{"tests": {}, "coverage": {}}')
    noted = (folder / "multirun.yaml").read_text()
    (folder / "multirun.yaml").write_text(noted.replace(",oracle/perfect", ""))
    (folder / "report.html").unlink(missing_ok=True)
    out = text(folder, capsys=capsys)
    assert "2 of 2 jobs have begun" in out
    assert "tables, figures and report are not written" in out
    assert "vbench -m model=oracle/random,oracle/constant" in out
    (folder / "report.html").touch()
    assert "vbench -m" not in text(folder, capsys=capsys)


def test_a_sweep_goes_on_with_its_launcher(sweep: Path, tmp_path: Path) -> None:
    """The folder of a sweep that joblib ran names joblib again."""
    noted = (sweep / "multirun.yaml").read_text()
    launcher = "    - hydra/launcher=joblib\n    - hydra.launcher.n_jobs=2\n"
    started = noted.replace("overrides:\n    hydra:\n", f"overrides:\n    hydra:\n{launcher}")
    assert started != noted
    (tmp_path / "multirun.yaml").write_text(started)
    found = sweep_command(tmp_path)
    assert found is not None
    assert found.command.endswith(" hydra/launcher=joblib hydra.launcher.n_jobs=2")


def test_many_folders_and_folders_of_folders(
    sweep: Path, done: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs = sweep.parents[1]
    found = status(outputs, done, capsys=capsys)
    assert len(found["runs"]) == 3
    assert [entry["folder"] for entry in found["sweeps"]] == [str(sweep)]
    assert len(text(outputs, done, capsys=capsys).splitlines()) > 4


def test_folders_without_runs_are_explained(done: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no run yet"):
        print_status([str(tmp_path)])
    with pytest.raises(RunError, match="no such run folder") as caught:
        print_status([str(done.parent / "runn" / "deeper")])
    assert caught.value.mend == "did you mean 'run'?"
    (tmp_path / "config.yaml").write_text("model: mine\n")  # another program's
    with pytest.raises(RunError, match="no run yet"):
        print_status([str(tmp_path)])


def test_nothing_heavy_is_imported(sweep: Path, done: Path) -> None:
    code = (
        "import sys; from vbench.cli import main;"
        "codes = [main(['status', *sys.argv[1:]]), main(['show', sys.argv[2], '0']),"
        "main(['diff', sys.argv[2], sys.argv[2]])];"
        "heavy = [m for m in ('torch', 'transformers', 'lightning', 'wandb') if m in sys.modules];"
        "sys.exit(f'{codes} {heavy}' if any(codes) or heavy else 0)"
    )
    command = [sys.executable, "-c", code, str(sweep), str(done)]
    out = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert out.returncode == 0, out.stderr
