"""The commands that take run folders and flags: `vbench table | show | diff | status`."""

from __future__ import annotations

import sys

from vbench.errors import ConfigError, did_you_mean
from vbench.flags import expand, expand_one, number, parse
from vbench.usage import INSPECTING

FORMATS = ("terminal", "markdown", "latex", "csv", "html")

PAPER_TABLES = ("velociti/table1", "velociti/table2", "velociti/table3")


def table(words: list[str]) -> int:
    """Does `vbench table`."""
    paths, given = _inspecting("table", words, {"--format": True})
    form = given.get("--format", "terminal")
    if form not in FORMATS:
        raise ConfigError(
            f"there is no format '{form}'", where="--format", mend=did_you_mean(form, FORMATS)
        )
    if paths:
        from vbench.table import print_tables

        paper = paths.pop(0) if paths[0] in PAPER_TABLES else None
        print_tables([path for word in paths for path in expand(word)], form, paper)
    return 0


def show(words: list[str]) -> int:
    """Does `vbench show`."""
    names, given = _inspecting("show", words, {"--json": False}, 2)
    if names:
        from vbench.show import print_sample

        print_sample(expand_one(names[0]), names[1], as_json="--json" in given)
    return 0


def diff(words: list[str]) -> int:
    """Does `vbench diff`."""
    known = {"--json": False, "--limit": True, "--tolerance": True}
    names, given = _inspecting("diff", words, known, 2)
    if not names:
        return 0
    from vbench.diff import print_diff

    limit = number(given, "--limit", 20, int)
    tolerance = number(given, "--tolerance", 1e-5, float)
    a, b = map(expand_one, names)
    return print_diff(a, b, as_json="--json" in given, limit=limit, tolerance=tolerance)


def status(words: list[str]) -> int:
    """Does `vbench status`."""
    paths, given = _inspecting("status", words, {"--json": False, "--explain-cache": False})
    if paths:
        from vbench.status import print_status

        found = [path for word in paths for path in expand(word)]
        print_status(found, "--json" in given, "--explain-cache" in given)
    return 0


def _inspecting(
    command: str, words: list[str], known: dict[str, bool], count: int | None = None
) -> tuple[list[str], dict[str, str]]:
    """Returns names and flags of a command about runs; prints its help, and no names, if asked."""
    names, given = parse(words, {**known, "-h": False, "--help": False})
    if {"-h", "--help"} & given.keys():
        sys.stdout.write(INSPECTING[command])
        return [], given
    if not names or (count is not None and len(names) != count):
        raise ConfigError(
            f"vbench {command} takes {'runs' if count is None else f'{count} names'}",
            where=f"vbench {command} {' '.join(words)}".rstrip(),
            mend=INSPECTING[command].splitlines()[0],
        )
    return names, given
