"""House rules that no linter knows (CONTRIBUTING.md)."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = sorted((ROOT / "vbench").rglob("*.py"))
DOCS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
EVERY_MODULE = pytest.mark.parametrize(
    "file", MODULES, ids=[str(file.relative_to(ROOT)) for file in MODULES]
)


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


@EVERY_MODULE
def test_size(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 300
    for function in functions(ast.parse(text)):
        assert (function.end_lineno or 0) - function.lineno < 50, function.name
        named = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        given = [argument for argument in named if argument.arg not in ("self", "cls")]
        if function.name != "__init__":  # a node's keys are its constructor's arguments
            assert len(given) <= 6, function.name


@EVERY_MODULE
def test_names_and_words(file: Path) -> None:
    """Asserts, print, pickle and eval are ruff's to find (S101, T20, S3)."""
    assert file.name not in ("utils.py", "common.py", "helpers.py", "base.py", "misc.py")
    assert not re.search(r"trust_remote_code\W+True", file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("file", sorted((ROOT / "vbench").glob("*/**/__init__.py")), ids=str)
def test_packages_hold_a_docstring_only(file: Path) -> None:
    body = ast.parse(file.read_text(encoding="utf-8")).body
    assert isinstance(body[0], ast.Expr)
    assert len(body) == 1


def test_every_test_has_a_module_beside_it() -> None:
    """Tests mirror the tree, so that one finds them."""
    for package in ("datasets", "frames", "loop", "metrics", "models", "results", "scorers"):
        folder = ROOT / "tests" / package
        assert list(folder.rglob("test_*.py")), folder


def test_constraints_pin_every_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = list(project["dependencies"])
    for extra in project["optional-dependencies"].values():
        wanted += extra
    names = {normal(re.split(r"[<>=!~\[;]", line)[0]) for line in wanted}
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {normal(line.split("==")[0]) for line in lines if "==" in line}
    assert names - pinned == set()
    assert all(re.fullmatch(r"#.*|[\w.-]+==[\w.+-]+", line) for line in lines)


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def test_this_environment_is_the_one_that_is_pinned() -> None:
    from importlib.metadata import version

    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if "==" in line)
    for name in ("hydra-core", "lightning", "transformers", "wandb", "av"):
        assert version(name) == pins[name], name


def test_shape_annotations_are_checked() -> None:
    import numpy as np
    from jaxtyping import TypeCheckError

    from vbench.metrics.choice import choose

    with pytest.raises(TypeCheckError, match="target"):
        choose(np.zeros((3, 2)), np.zeros(2, int))


def test_make_help_lists_every_target() -> None:
    out = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    for target in ("setup", "demo", "test", "check", "bench"):
        assert f"make {target} " in out.stdout


def test_ci_runs_the_readmes_test_command() -> None:
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    assert "\nmake test\n" in script.read_text()
    assert "make test" in (ROOT / "README.md").read_text()


def test_the_readme_is_short_and_starts_with_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 150
    assert text.index("make demo") < text.index("make test") < 2000


@pytest.mark.parametrize("file", DOCS, ids=lambda file: str(file.relative_to(ROOT)))
def test_links_lead_somewhere(file: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", file.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (file.parent / target).exists(), target


@pytest.mark.parametrize("file", DOCS, ids=lambda file: str(file.relative_to(ROOT)))
def test_commands_in_the_documents_compose(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every `vbench …` line of a code block names things that exist."""
    from vbench.composition import sweep_overrides
    from vbench.overrides import jobs
    from vbench.schema import compose

    monkeypatch.chdir(tmp_path)
    # What the tutorials have in `bash` is not composed but run (tests/docs).
    kinds = "sh" if file.parent.name == "tutorials" else "bash|sh"
    blocks = re.findall(rf"^```(?:{kinds})\n(.*?)^```", file.read_text("utf-8"), re.M | re.S)
    for line in "\n".join(blocks).replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] != ["vbench"] or "…" in line or "--help" in words:
            continue
        if words[1] in ("table", "show", "diff", "compare", "status"):  # they take runs
            continue
        known = ("build", "doctor", "annotate", "report")
        command = words[1] if words[1] in known else "evaluate"
        overrides = [word for word in words[1:] if "=" in word]
        if command != "evaluate" or "-m" not in words:
            compose(overrides, command)
        else:
            for job in jobs(sweep_overrides(overrides, asked=True) or []):
                compose(job)


def test_the_changelog_knows_the_version() -> None:
    import vbench

    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "## [Unreleased]" in text or f"## [{vbench.__version__}]" in text
    assert "Numbers changed" in text
