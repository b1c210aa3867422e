"""Sweeps from the command to their folder: notes, tables, figures, and other processes."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import cloudpickle
import pandas as pd
import pytest
from omegaconf import DictConfig

import vbench
from vbench import cli, sweep
from vbench.composition import runs_here, sweep_overrides
from vbench.errors import ConfigError, RunError
from vbench.results.jobs import JobNote, note_job, note_jobs, read_jobs
from vbench.results.sweeps import finished, missing
from vbench.run_commands import table
from vbench.schema import compose


def rows(place: Path) -> list[str]:
    """A table that no video is opened for."""
    lines = [
        {"video": f"{k}.mp4", "id": str(k), "positive": f"cat {k}", "negative": f"dog {k}"}
        for k in range(12)
    ]
    place.mkdir(parents=True, exist_ok=True)
    (place / "rows.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return [
        "dataset=table", f"dataset.file={place}/rows.jsonl", "dataset.kind=pairs",
        "dataset.id=id", "dataset.question=null", "trainer=cpu", "loader.num_workers=0",
        f"paths.outputs={place}/outputs", f"paths.cache={place}/cache",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def half(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of six jobs; an oracle that needs the truth, which a table has not, fails twice."""
    place = tmp_path_factory.mktemp("half")
    words = ["-m", "model=oracle/random,oracle/perfect,oracle/constant", "logger=none"]
    counts = ["sampler=nested", "sampler.num_frames=1,4", "sweep=half"]
    assert cli.main([*words, *rows(place), *counts]) == 1
    return place / "outputs" / "sweeps" / "half"


def test_the_folder_notes_each_job(half: Path) -> None:
    notes = read_jobs(half)
    assert [note.code for note in notes] == [0, 0, 1, 1, 0, 0]
    assert [note.number for note in notes] == list(range(6))
    assert "model=oracle/random" in notes[0].words
    done = [note.run_dir for note in notes if note.code == 0]
    assert [str(run) for run in finished(half)] == done


def test_the_last_job_writes_tables_and_figures_of_what_is_done(half: Path) -> None:
    found = pd.read_csv(half / "tables" / "tests.csv")
    assert len(found) == 4
    picture = half / "figures" / "num_frames_table.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "<svg" in picture.with_suffix(".svg").read_text()
    cells = {
        (line["row"], line["column"]): line
        for line in csv.DictReader(picture.with_suffix(".csv").read_text().splitlines())
    }
    for run in map(vbench.load_run, finished(half)):
        choices, count = run.config["command"]["choices"], run.config["sampler"]["num_frames"]
        line = cells[choices["model"], str(count)]
        for name in ("value", "ci_low", "ci_high"):
            assert float(line[name]) == run.summary["tests"]["table"][name]
    change = cells["oracle/random: change", "4"]
    assert (change["n"], change["ties"], float(change["difference"])) == ("12", "12", 0.0)


def test_the_last_job_writes_a_report_that_names_what_is_missing(half: Path) -> None:
    page = (half / "report.html").read_text()
    assert "oracle/random num_frames=1" in page
    assert "not finished, and left out: " in page
    assert "table by number of frames" in page


def test_a_sweeps_folder_is_a_table(
    half: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["table", str(half), "--format=csv"]) == 0
    said = capsys.readouterr()
    assert said.out.count(": table,value,") == 4
    assert "left out: 2 of" in said.err
    assert said.err.count("model=oracle/perfect") == 2
    assert "(failed)" in said.err
    picture = half / "figures" / "num_frames_table.png"
    picture.unlink()
    assert cli.main(["table", str(half), "--figures", "--format=csv"]) == 0
    assert picture.is_file()
    before = set(half.rglob("*"))
    elsewhere = ["table", str(half), "--figures", "--out", str(tmp_path)]
    assert cli.main([*elsewhere, "--format=csv"]) == 0
    assert (tmp_path / picture.name).is_file()
    assert set(half.rglob("*")) == before
    with pytest.raises(ConfigError, match="where the figures go"):
        table(["--figures", str(finished(half)[0])])


def test_a_folder_that_has_moved_knows_its_jobs(half: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    subprocess.run(["cp", "-r", str(half), str(moved)], check=True)
    assert [run.relative_to(moved) for run in finished(moved)] == [
        run.relative_to(half) for run in finished(half)
    ]
    assert missing(moved) == missing(half)
    (finished(moved)[0] / "summary.json").unlink()
    assert len(missing(moved)) == 3


def test_a_folder_that_is_half_deleted_is_read_as_far_as_it_goes(
    half: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    left = tmp_path / "left"
    shutil.copytree(half, left)
    gone, unasked, broken, *_ = finished(left)
    (gone / "records.parquet").unlink()
    (unasked / "samples.parquet").unlink()
    for command in ("status", "table", "report"):
        assert cli.main([command, str(left)]) == 0
    said = capsys.readouterr()
    assert f"{gone}: interrupted: some of what it wrote is gone\n  vbench evaluate" in said.out
    assert "left out: 4 of" in said.err
    (broken / "summary.json").write_text('{"tests": ')
    assert cli.main(["table", str(left)]) == 1
    assert "summary cannot be read" in capsys.readouterr().err
    for run in (gone, unasked, broken, *finished(left)):
        shutil.rmtree(run, ignore_errors=True)
    assert cli.main(["table", str(left)]) == 1
    assert "no run is finished yet" in capsys.readouterr().err


def test_a_sweep_of_one_job_is_a_sweep(tmp_path: Path) -> None:
    assert cli.main(["-m", "model=oracle/random", "logger=none", "sweep=one", *rows(tmp_path)]) == 0
    folder = tmp_path / "outputs" / "sweeps" / "one"
    assert [note.code for note in read_jobs(folder)] == [0]
    assert (folder / "report.html").is_file()
    assert (folder / "tables" / "tests.csv").is_file()


def test_tables_wait_for_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that ends while another is still to come writes none."""
    notes = [JobNote(k, f"seed={k}", str(tmp_path / str(k))) for k in range(2)]
    written: list[Path] = []
    monkeypatch.setattr("vbench.results.sweeps.write_sweep", written.append)
    monkeypatch.setattr("vbench.results.sweeps.finished", lambda folder: [folder])
    monkeypatch.setattr("vbench.report.report_runs", lambda paths, strips: None)
    note_jobs(tmp_path, notes)
    task = sweep._Task(tmp_path, tuple(notes), ((), ()), lambda config: 0, True, str(tmp_path))
    config = DictConfig({"run_dir": None, "logger": {}, "trainer": {"devices": 1, "num_nodes": 1}})
    monkeypatch.chdir(tmp_path)
    task(config, 1)
    assert written == []
    task(config, 0)
    assert written == [tmp_path]
    note_jobs(tmp_path, notes)  # started anew
    monkeypatch.setenv("SLURM_PROCID", "1")  # a further rank says nothing
    task(config, 0)
    assert [note.code for note in read_jobs(tmp_path)] == [None, None]


def test_wandb_groups_the_jobs_of_a_sweep(tmp_path: Path) -> None:
    words = ["-m", "model=oracle/random,oracle/constant", "logger=wandb", "sweep=group"]
    assert cli.main([*words, *rows(tmp_path)]) == 0
    for run in finished(tmp_path / "outputs" / "sweeps" / "group"):
        assert vbench.load_run(run).config["logger"]["group"] == "group"


def test_what_runs_elsewhere_can_be_sent_there(tmp_path: Path) -> None:
    note = JobNote(0, "seed=1", str(tmp_path))
    task = sweep._Task(tmp_path, (note,), (("seed=1",),), cli._run_apart, False, str(tmp_path))
    there: sweep._Task = cloudpickle.loads(cloudpickle.dumps(task))
    assert there == task


@pytest.mark.parametrize(
    ("launcher", "here"), [("basic", True), ("joblib", False), ("submitit_local", False)]
)
def test_a_launcher_is_known_by_where_it_runs_jobs(launcher: str, here: bool) -> None:
    words = ["model=oracle/random,oracle/constant", f"hydra/launcher={launcher}"]
    assert runs_here(sweep_overrides(words, asked=True) or []) == here


@pytest.mark.parametrize(("name", "mend"), [("joblb", "did you mean 'joblib'"), ("raay", "")])
def test_a_launcher_that_is_not_there_is_explained(name: str, mend: str) -> None:
    with pytest.raises(ConfigError, match=f"no launcher '{name}'") as caught:
        sweep_overrides(["seed=1,2", f"hydra/launcher={name}"], asked=True)
    assert mend in caught.value.mend


def test_slurm_starts_a_task_per_device() -> None:
    from hydra import compose

    from vbench.composition import _hydra

    with _hydra():
        words = ["hydra/launcher=slurm", "trainer.devices=4", "trainer.num_nodes=2"]
        found = compose("evaluate", words, return_hydra_config=True).hydra.launcher
        assert (found.tasks_per_node, found.gpus_per_node, found.nodes) == (4, 4, 2)
        assert found.max_num_timeout == 0
        assert found.additional_parameters == {"no-requeue": True}


def test_lightning_queues_nothing_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from vbench.loop.predict import _cluster

    assert _cluster() == []
    monkeypatch.setenv("SLURM_NTASKS", "1")
    monkeypatch.setenv("SLURM_JOB_NAME", "vbench")
    (environment,) = _cluster()
    assert environment.auto_requeue is False


def test_a_job_that_a_launcher_lost_is_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(overrides: object, folder: Path, task: sweep._Task) -> list[int]:
        config = compose(list(task.words[0]))
        assert task(config, 0) == 0
        assert not (folder / "report.html").exists()  # another is still to come
        raise RuntimeError("a worker was killed")

    monkeypatch.setattr(sweep, "multirun", lost)
    words = ["model=oracle/random,oracle/constant", *rows(tmp_path), "hydra/launcher=joblib",
             "logger=none", "sweep=lost"]  # fmt: skip
    with pytest.raises(RunError, match="the launcher failed") as caught:
        sweep.sweep(sweep_overrides(words, asked=True) or [], lambda configs: cli._run, cli._run)
    assert "a worker was killed" in caught.value.why
    folder = tmp_path / "outputs" / "sweeps" / "lost"
    assert [note.code for note in read_jobs(folder)] == [0, 1]
    assert "\ntable,value," in (folder / "tables" / "tests.csv").read_text()
    assert "not finished, and left out" in (folder / "report.html").read_text()


def test_a_job_that_ends_while_it_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = [JobNote(k, f"seed={k}", str(tmp_path / str(k))) for k in range(2)]
    note_jobs(tmp_path, notes)

    def before_it_ends(folder: Path) -> list[JobNote]:
        monkeypatch.undo()
        found = read_jobs(folder)
        note_job(folder, JobNote(1, "seed=1", notes[1].run_dir, 0))
        return found

    monkeypatch.setattr(sweep, "read_jobs", before_it_ends)
    sweep._give_up(tmp_path)
    assert [note.code for note in read_jobs(tmp_path)] == [1, 0]
    note_job(tmp_path, JobNote(0, "seed=0", notes[0].run_dir, 3))  # it was not lost after all
    assert [note.code for note in read_jobs(tmp_path)] == [3, 0]
    note_jobs(tmp_path, notes)
    assert [note.code for note in read_jobs(tmp_path)] == [None, None]


def typed(command: list[str], place: Path) -> subprocess.CompletedProcess[str]:
    """Runs a command that starts others, none of which may wait forever."""
    return subprocess.run(
        command, cwd=place, timeout=300, capture_output=True, text=True, check=False
    )


def other_processes(place: Path, launcher: str, *more: str) -> Path:
    """Runs a sweep as a user would; one job of it fails."""
    words = ["-m", "model=oracle/random,oracle/perfect,oracle/constant", "logger=none",
             "sampler=nested", "sampler.num_frames=1,4"]  # fmt: skip
    command = [sys.executable, "-m", "vbench", *words, *rows(place), "sweep=study"]
    done = typed([*command, f"hydra/launcher={launcher}", *more], place)
    assert done.returncode == 1, done.stderr
    assert "4 of 6 jobs done" in done.stderr
    return place / "outputs" / "sweeps" / "study"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("launcher", "more"),
    [
        ("joblib", ["hydra.launcher.n_jobs=2"]),
        ("submitit_local", []),
        pytest.param("ray", ["+hydra.launcher.ray.init.num_cpus=2"]),
    ],
)
def test_jobs_in_other_processes(
    half: Path, tmp_path: Path, launcher: str, more: list[str]
) -> None:
    if launcher == "ray":
        pytest.importorskip("ray", reason="ray is not installed: pip install 'vbench-eval[ray]'")
    folder = other_processes(tmp_path, launcher, *more)
    assert [note.code for note in read_jobs(folder)] == [note.code for note in read_jobs(half)]
    ours, theirs = (map(vbench.load_run, finished(place)) for place in (folder, half))
    for run, other in zip(ours, theirs, strict=True):
        assert run.summary == other.summary
    tables = [(place / "tables" / "tests.csv").read_text() for place in (folder, half)]
    assert tables[0] == tables[1]
    assert (folder / "figures" / "num_frames_table.png").is_file()
    files = {file: file.stat().st_mtime_ns for file in folder.rglob("predictions/*")}
    assert len(files) == 4
    other_processes(tmp_path, launcher, *more)  # typed again: nothing is asked twice
    assert {file: file.stat().st_mtime_ns for file in folder.rglob("predictions/*")} == files


@pytest.mark.slow
def test_a_job_on_two_devices_in_another_process(
    tmp_path: Path, write_grey: Callable[..., None]
) -> None:
    """Lightning starts the second rank by a command; a launcher's own would be the wrong one."""
    words = rows(tmp_path)
    for k in range(12):
        write_grey(tmp_path / f"{k}.mp4", k)
    command = [
        sys.executable, "-m", "vbench", "-m", *words, "model=toy/clip", "logger=none",
        "sampler=nested", "sampler.num_frames=1,2", "trainer.devices=2", "sweep=two",
        "hydra/launcher=joblib", "hydra.launcher.n_jobs=1",
    ]  # fmt: skip
    done = typed(command, tmp_path)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "outputs" / "sweeps" / "two"
    assert [note.code for note in read_jobs(folder)] == [0, 0]
    for run in finished(folder):
        (place,) = json.loads((run / "environment.json").read_text())["answered"]
        assert place["devices"] == 2
    assert (folder / "figures" / "num_frames_table.png").is_file()


SLURM = {
    "sbatch": r"""#!/bin/bash
# Runs an array's jobs one after another, as a cluster of one node would.
cp "$1" "$(dirname "$0")/submitted.sh"
id=$$  # another one each time; Lightning makes a port of it
last=$(sed -n 's/^#SBATCH --array=0-\([0-9]*\)%.*/\1/p' "$1")
export SLURM_NTASKS_PER_NODE=$(sed -n 's/^#SBATCH --ntasks-per-node=//p' "$1")
export SLURM_JOB_NAME=vbench SLURM_JOB_NUM_NODES=1 SLURM_NNODES=1 SLURM_ARRAY_JOB_ID=$id
export SLURM_JOB_NODELIST=127.0.0.1 SLURM_NODELIST=127.0.0.1 SLURM_NTASKS=$SLURM_NTASKS_PER_NODE
states=$(dirname "$0")/states
rm -f "$states"
(for k in $(seq 0 "$last"); do
  state=COMPLETED
  SLURM_ARRAY_TASK_ID=$k SLURM_JOB_ID=$((id + 1 + k)) SLURM_JOBID=$((id + 1 + k)) bash "$1" ||
    state=FAILED
  echo "${id}_$k|$state|here" >> "$states"
done) > "$(dirname "$0")/log" 2>&1 &
echo "Submitted batch job $id"
""",
    "srun": r"""#!/bin/bash
while [[ "$1" == --* ]]; do
  if [[ "$1" == *=* || "$1" == --unbuffered ]]; then shift; else shift 2; fi
done
tasks=()
for task in $(seq $((SLURM_NTASKS - 1)) -1 0); do
  SLURM_PROCID=$task SLURM_LOCALID=$task SLURM_NODEID=0 "$@" &
  tasks+=($!)
  sleep 4
done
if [[ "$SLURM_ARRAY_TASK_ID" == 0 && -n "$DOOMED" ]]; then
  until compgen -G "$DOOMED" > /dev/null; do sleep 0.02; done
  kill -KILL "${tasks[0]}"
fi
code=0
for task in "${tasks[@]}"; do wait "$task" || code=$?; done
exit $code
""",
    "sacct": """#!/bin/bash
echo 'JobID|State|NodeList'
cat "$(dirname "$0")/states" 2> /dev/null
""",
}
"""Enough of Slurm to start what would start on a cluster."""


@pytest.fixture
def cluster(
    tmp_path: Path, write_grey: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """A command of two jobs of two ranks each, which Slurm starts."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in SLURM.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    words = rows(tmp_path)
    for k in range(12):
        write_grey(tmp_path / f"{k}.mp4", k)
    return [
        sys.executable, "-m", "vbench", "-m", *words, "model=toy/clip", "logger=none",
        "sampler=nested", "sampler.num_frames=1,2", "trainer.devices=2", "sweep=cluster",
        "hydra/launcher=slurm", "hydra.launcher.gpus_per_node=null",
    ]  # fmt: skip


@pytest.mark.slow
def test_slurm_as_far_as_one_machine_can_play_it(tmp_path: Path, cluster: list[str]) -> None:
    """One rank of each job speaks for it."""
    programs = tmp_path / "bin"
    done = typed(cluster, tmp_path)
    assert done.returncode == 0, done.stderr + (programs / "log").read_text()
    submitted = (programs / "submitted.sh").read_text().splitlines()
    assert "#SBATCH --ntasks-per-node=2" in submitted
    assert "#SBATCH --no-requeue" in submitted
    assert not [line for line in submitted if "gpus" in line]
    folder = tmp_path / "outputs" / "sweeps" / "cluster"
    assert [note.code for note in read_jobs(folder)] == [0, 0]
    assert (folder / "figures" / "num_frames_table.png").is_file()
    for run in finished(folder):
        ranks = {file.name.split("-")[1] for file in (run / "predictions").iterdir()}
        assert ranks == {"0000", "0001"}


@pytest.mark.slow
def test_a_rank_that_slurm_loses_costs_its_own_job(
    tmp_path: Path, cluster: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second rank of the first job is killed as soon as the first says that the run runs."""
    folder = tmp_path / "outputs" / "sweeps" / "cluster"
    monkeypatch.setenv("DOOMED", f"{folder}/*/*/*/status.json")
    done = typed(cluster, tmp_path)
    assert done.returncode == 1, done.stderr
    assert "the launcher failed" in done.stderr
    deadline = time.monotonic() + 200
    while not (folder / "report.html").exists() or read_jobs(folder)[1].code:
        assert time.monotonic() < deadline  # the command has ended, the second job has not
        time.sleep(0.2)
    assert [note.code for note in read_jobs(folder)] == [1, 0]
    status = json.loads((Path(read_jobs(folder)[0].run_dir) / "status.json").read_text())
    assert status["state"] == "failed"
    assert "another process of the run has failed" in status["error"]
    monkeypatch.delenv("DOOMED")
    assert typed(cluster, tmp_path).returncode == 0
    assert [note.code for note in read_jobs(folder)] == [0, 0]
