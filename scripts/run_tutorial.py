"""Does what a page of docs/tutorials/ says, in an empty folder, and reads whether it says the same.

    python scripts/run_tutorial.py docs/tutorials/first_run.md [FOLDER]

Blocks are taken in their order. `bash` is run by `bash -euo pipefail`. A block whose first line is
a comment that names a file (`# conf/model/mine.yaml`) is written there; `python` without one is
run. `sh` is shown only: what this machine cannot run. `text` is what the block before it prints:
its lines must follow one another; `…` within a line stands for anything, a line of only `…` for any
lines, and how many spaces there are does not matter.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

RUN = {"bash": ["bash", "-euo", "pipefail", "-c"], "python": [sys.executable, "-c"]}
LIMIT_S = 300  # of one block; a loaded machine takes its time


class TutorialError(Exception):
    """A page that cannot be run, fails, or prints something else than it says."""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    text: str
    line: int

    @property
    def file(self) -> str | None:
        """The file that the block is to be written to, relative to the reader's folder."""
        first = self.text.partition("\n")[0]
        named = re.fullmatch(r"# ([\w./-]+\.\w+)", first)
        return named[1] if named and self.language not in ("bash", "sh", "text") else None

    @property
    def runs(self) -> bool:
        """It is a command, or a program."""
        return self.language in RUN and self.file is None


def read_blocks(page: str) -> list[Block]:
    """Reads the blocks of a page.

    Raises:
        TutorialError: One of them could never be checked.
    """
    blocks: list[Block] = []
    for match in re.finditer(r"^```(.*)\n((?:.*\n)*?)```$", page, re.M):
        line = page.count("\n", 0, match.start()) + 1
        block = Block(match[1].strip(), match[2].rstrip("\n"), line)
        if block.language == "text" and not (blocks and blocks[-1].runs):
            raise TutorialError(f"line {line}: no command before it prints this")
        if not (block.runs or block.file or block.language in ("sh", "text")):
            raise TutorialError(f"line {line}: '{block.language}' is neither run nor a named file")
        blocks.append(block)
    if len(re.findall(r"^\s*```", page, re.M)) != 2 * len(blocks):
        raise TutorialError("a fence is indented, or not closed")
    if not any(block.runs for block in blocks):
        raise TutorialError("nothing is run")
    return blocks


def first_absent(expected: str, output: str) -> str | None:
    """Returns the first line of what a page shows that the output lacks, or None.

    Args:
        expected: A `text` block.
        output: What was printed.
    """
    printed = list(_lines(output))
    start = 0
    for part in re.split(r"^…$", "\n".join(_lines(expected)), flags=re.M):
        wanted = part.strip("\n").split("\n") if part.strip("\n") else []
        patterns = [".*".join(map(re.escape, line.split("…"))) for line in wanted]
        fits = [_agreeing(patterns, printed[at:]) for at in range(start, len(printed) + 1)]
        best = max(fits)
        if best < len(wanted):
            return wanted[best]
        start += fits.index(best) + len(wanted)
    return None


def _agreeing(patterns: Sequence[str], lines: Sequence[str]) -> int:
    """Returns how many lines agree from the first on."""
    for count, pattern in enumerate(patterns):
        if count >= len(lines) or not re.fullmatch(pattern, lines[count]):
            return count
    return len(patterns)


def _lines(text: str) -> Iterator[str]:
    for line in text.replace("\r", "\n").split("\n"):
        if line.strip():
            yield re.sub(r" *([│╷╵┼]) *", r"\1", re.sub(r"\s+", " ", line)).strip()


def run_page(page: str, folder: Path, environment: Mapping[str, str]) -> None:
    """Does what a page says.

    Args:
        page: Its text.
        folder: Where; empty.
        environment: Of the commands.

    Raises:
        TutorialError: A command fails, or prints something else.
    """
    output = ""
    for block in read_blocks(page):
        if block.file is not None:
            file = folder / block.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text + "\n", encoding="utf-8")
        elif block.runs:
            done = subprocess.run(
                [*RUN[block.language], block.text], cwd=folder, env=dict(environment),
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S,
                stdin=subprocess.DEVNULL, check=False,
            )  # fmt: skip
            output = done.stdout
            if done.returncode:
                raise TutorialError(f"line {block.line}: exit code {done.returncode}\n{output}")
        elif block.language == "text":
            absent = first_absent(block.text, output)
            if absent is not None:
                raise TutorialError(f"line {block.line}: not printed: {absent}\n{output}")


def surroundings(folder: Path) -> dict[str, str]:
    """Returns an environment without network, W&B account or cache of the user."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    own = ("VBENCH_", "COLUMNS")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(own)}
    return kept | {
        "PATH": path, "VBENCH_CACHE": str(folder), "WANDB_MODE": "offline", "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1",
    }  # fmt: skip


def main() -> int:
    page = Path(sys.argv[1]).read_text(encoding="utf-8")
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp(prefix="tutorial-"))
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as cache:
        try:
            run_page(page, folder, surroundings(Path(cache)))
        except TutorialError as error:
            print(f"{sys.argv[1]}, {error}", file=sys.stderr)
            return 1
    print(f"{sys.argv[1]}: as it says, in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
