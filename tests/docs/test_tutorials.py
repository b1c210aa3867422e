"""The tutorials do what they say: scripts/run_tutorial.py runs every page."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))


def load_script() -> Any:
    file = ROOT / "scripts" / "run_tutorial.py"
    spec = importlib.util.spec_from_file_location("run_tutorial", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


script = load_script()


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_does_what_it_says(page: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    environment = script.surroundings(tmp_path / "cache")
    script.run_page(page.read_text(encoding="utf-8"), tmp_path / "empty", environment)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_of_a_tutorial_can_be_checked(page: Path) -> None:
    blocks = script.read_blocks(page.read_text(encoding="utf-8"))
    assert [block for block in blocks if block.language == "text"]


def test_there_is_a_tutorial_for_each_use() -> None:
    names = {page.stem for page in PAGES}
    assert names == {
        "first_run", "own_data", "sweep", "ablation", "paper_table", "add_a_model",
        "add_a_dataset", "cluster",
    }  # fmt: skip
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert all(f"(tutorials/{name}.md)" in index for name in names)


GOOD = """
```yaml
# conf/model/mine.yaml
size: 3
```

```bash
cat conf/model/mine.yaml
echo "two  words, 0.123" >&2
```

```text
size: 3
two words, 0.1…
```

```python
from pathlib import Path

print(Path("conf/model/mine.yaml").read_text().count("\\n"))
```

```text
2
```
"""


def test_a_page_that_is_right_passes(tmp_path: Path) -> None:
    script.run_page(GOOD, tmp_path, dict(os.environ))
    assert (tmp_path / "conf/model/mine.yaml").read_text() == "# conf/model/mine.yaml\nsize: 3\n"


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("two words, 0.1…", "two words, 0.2…", "line 12: not printed: two words, 0.2…"),
        ("size: 3\ntwo", "two", None),
        ("size: 3\ntwo words", "two words, 0.1…\nsize: 3\ntwo words", "not printed: size: 3"),
        ('\necho "two', '\nfalse\necho "two', "line 7: exit code 1"),
        ('\necho "two', '\nfalse | cat\necho "two', "line 7: exit code 1"),
        ("import Path", "import Paths", "line 17: exit code 1"),
        ("\n2\n", "\n3\n", "line 23: not printed: 3"),
        ("cat conf", "cat conf/no", "exit code 1"),
    ],
)  # fmt: skip
def test_a_page_that_is_wrong_fails(
    tmp_path: Path, right: str, wrong: str, message: str | None
) -> None:
    page = GOOD.replace(right, wrong, 1)
    assert page != GOOD
    if message is None:
        script.run_page(page, tmp_path, dict(os.environ))
        return
    with pytest.raises(script.TutorialError) as caught:
        script.run_page(page, tmp_path, dict(os.environ))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("Words only.\n", "nothing is run"),
        ("```sh\nvbench\n```\n", "nothing is run"),
        ("```text\nfoo\n```\n```bash\ntrue\n```\n", "line 1: no command before it prints this"),
        ("```bash\ntrue\n```\n```sh\na\n```\n```text\nb\n```\n", "line 7: no command"),
        ("```yaml\nsize: 3\n```\n```bash\ntrue\n```\n", "'yaml' is neither run nor a named file"),
        ("```\nsize\n```\n```bash\ntrue\n```\n", "'' is neither run"),
        ("- a\n  ```bash\n  true\n  ```\n```bash\ntrue\n```\n", "indented"),
        ("```bash\ntrue\n```\n```bash\ntrue\n", "not closed"),
    ],
)  # fmt: skip
def test_a_page_that_cannot_be_checked_is_refused(page: str, message: str) -> None:
    with pytest.raises(script.TutorialError, match=message):
        script.read_blocks(page)


@pytest.mark.parametrize(
    ("expected", "output", "absent"),
    [
        ("a\nb", "x\na\nb\ny", None),
        ("a\nb", "a\nx\nb", "b"),
        ("a\n…\nb", "a\nx\nb", None),
        ("a\n…\nb", "b\na", "b"),
        ("a\na", "a", "a"),
        ("a\nb", "a\na\nb", None),
        ("…\nb", "a\nb", None),
        ("1 … 3", "1 2 3", None),
        ("1 … 3", "1 2 4", "1 … 3"),
        ("a.c", "abc", "a.c"),
        ("go 100%", "go 50%\rgo 100%\n", None),
        ("│ a │ 1.0│", "│  a│1.0 │", None),
    ],
)  # fmt: skip
def test_what_is_shown_is_what_is_printed(expected: str, output: str, absent: str | None) -> None:
    assert script.first_absent(expected, output) == absent
