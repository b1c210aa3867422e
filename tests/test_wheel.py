"""The wheel works from any folder, without the repository beside it."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet"]
    command = [*pip, "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, timeout=300)
    (file,) = folder.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    command = [*pip, "--no-deps", "--target", str(folder), str(wheel)]
    subprocess.run(command, check=True, timeout=300)
    return folder


def vbench(site: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(site)}
    command = [sys.executable, "-m", "vbench", *words]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False,
        timeout=300,
    )  # fmt: skip


def test_it_holds_every_config_and_asset_and_no_test(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for file in (ROOT / "conf").rglob("*.yaml"):
        assert f"vbench/conf/{file.relative_to(ROOT / 'conf').as_posix()}" in names
    for file in (path for path in (ROOT / "vbench" / "assets").rglob("*") if path.is_file()):
        assert file.relative_to(ROOT).as_posix() in names
    templates = ROOT / "vbench" / "results" / "report" / "templates"
    assert {file.relative_to(ROOT).as_posix() for file in templates.iterdir()} <= names
    assert not any(name.startswith(("tests/", "conf/", "outputs/")) for name in names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert wheel.stat().st_size < 10 * 2**20


def test_help_and_configs_come_from_the_wheel(site: Path, tmp_path: Path) -> None:
    said = vbench(site, tmp_path, "--help")
    assert (said.returncode, said.stdout[:6]) == (0, "vbench")
    code = "import vbench.composition as c; print(c.conf_dir())"
    environment = {**os.environ, "PYTHONPATH": str(site)}
    out = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=True,
        timeout=300,
    )  # fmt: skip
    assert out.stdout.strip() == str(site / "vbench" / "conf")


def test_a_command_composes_from_any_folder(site: Path, tmp_path: Path) -> None:
    own = tmp_path / "conf" / "sampler" / "mine.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("defaults:\n  - uniform_midpoints\n\nnum_frames: 3\n")
    said = vbench(site, tmp_path, "evaluate", "--cfg", "model=oracle/perfect", "sampler=mine")
    assert said.returncode == 0, said.stderr
    assert "num_frames: 3" in said.stdout
    assert str(tmp_path / "conf") in said.stderr


def test_an_evaluation_runs_from_any_folder(site: Path, tmp_path: Path) -> None:
    built = vbench(site, tmp_path, "build", "num_videos=12", "render=false", "dataset.root=data")
    assert built.returncode == 0, built.stderr
    words = [
        "dataset.root=data",
        "model=oracle/perfect",
        "logger=none",
        "trainer=cpu",
        "run_dir=run",
    ]
    said = vbench(site, tmp_path, *words)
    assert said.returncode == 0, said.stderr
    assert (tmp_path / "run" / "summary.json").is_file()
