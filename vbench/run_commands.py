"""The commands that take run folders and flags: `table`, `show`, `sheet`, `diff`, …"""

from __future__ import annotations

import sys
from pathlib import Path

from vbench.errors import ConfigError, did_you_mean
from vbench.flags import expand, expand_one, number, parse
from vbench.usage import INSPECTING

FORMATS = ("terminal", "markdown", "latex", "csv", "html")

PAPER_TABLES = (
    "velociti/table1", "velociti/table2", "velociti/table3",
    "videobench/table1", "videobench/table2", "videobench/table3", "videobench/table3e",
    "videobench/figure2", "videobench/figure4", "videobench/figure5", "videobench/figure7",
    "videobench/figure8",
)  # fmt: skip
"""Tables and figures of papers that `vbench table` prints with ours in them."""


def table(words: list[str]) -> int:
    """Does `vbench table`."""
    known = {"--format": True, "--out": True, "--models": True, "--figures": False}
    paths, given = _inspecting("table", words, known)
    form = _format(given)
    if paths:
        from vbench.table import print_tables

        paper = paths.pop(0) if _is_paper(paths[0]) else None
        found = [path for word in paths for path in expand(word)]
        out = given.get("--out")
        figures = (out or _figures_of(found)) if "--figures" in given else None
        print_tables(found, form, paper, out, given.get("--models"), figures)
    return 0


def _figures_of(paths: list[str]) -> str:
    """Returns where the figures of a sweep lie.

    Raises:
        ConfigError: No sweep is named, or more than one path.
    """
    if len(paths) == 1 and not Path(paths[0], "config.yaml").exists():
        return str(Path(paths[0], "figures"))
    raise ConfigError(
        "it is open where the figures go", where="--figures",
        why="only a sweep's folder has a place for them", mend="add --out FOLDER",
    )  # fmt: skip


def _format(given: dict[str, str]) -> str:
    form = given.get("--format", "terminal")
    if form not in FORMATS:
        raise ConfigError(
            f"there is no format '{form}'", where="--format", mend=did_you_mean(form, FORMATS)
        )
    return form


def _is_paper(word: str) -> bool:
    """Says whether a word names a paper's table, not a run.

    Raises:
        ConfigError: It is no run, and nearly such a name.
    """
    if word in PAPER_TABLES:
        return True
    paper = word.partition("/")[0] in {name.partition("/")[0] for name in PAPER_TABLES}
    if paper and word.count("/") == 1 and not Path(word).exists():
        raise ConfigError(
            f"there is no table '{word}'", where="vbench table",
            mend=did_you_mean(word, PAPER_TABLES),
        )  # fmt: skip
    return False


def sheet(words: list[str]) -> int:
    """Does `vbench sheet`."""
    paths, given = _inspecting("sheet", words, {"--sample": True, "--out": True})
    if paths:
        from vbench.sheet import write_sheet

        found = [path for word in paths for path in expand(word)]
        names = [name for name in given.get("--sample", "").split(",") if name]
        sys.stdout.write(f"{write_sheet(found, names, given.get('--out', 'sheet.html'))}\n")
    return 0


def export(words: list[str]) -> int:
    """Does `vbench export`."""
    paths, given = _inspecting("export", words, {"--format": True, "--out": True})
    if paths:
        from vbench.export import export_run

        form = given.get("--format", "videobench")
        if form != "videobench":
            raise ConfigError(
                f"there is no format '{form}'", where="--format", mend="use videobench"
            )
        for word in paths:
            for path in expand(word):
                sys.stdout.write(f"{export_run(path, given.get('--out'))}\n")
    return 0


def import_(words: list[str]) -> int:
    """Does `vbench import`."""
    known = {"--out": True, "--name": True, "--reader": True}
    names, given = _inspecting("import", words, known, 2)
    if names:
        from vbench.importing import import_results

        options = {flag.lstrip("-"): value for flag, value in given.items()}
        for folder in import_results(names[0], names[1], **options):
            sys.stdout.write(f"{folder}\n")
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


def compare(words: list[str]) -> int:
    """Does `vbench compare`."""
    known = {"--against": True, "--tests": True, "--detect": True, "--limit": True}
    known |= {"--format": True, "--all": False, "--items": False, "--json": False}
    known |= {"--all-rows": False}
    paths, given = _inspecting("compare", words, known)
    if not paths:
        return 0
    form, points = _format(given), number(given, "--detect", 0.0, float)
    if "--detect" in given and not 0 < points <= 100:
        raise ConfigError(
            "--detect is a difference in points", where=f"--detect={given['--detect']}",
            why="it is above 0 and at most 100", mend="--detect=2",
        )  # fmt: skip
    if {"--tests", "--all-rows"} <= given.keys():
        raise ConfigError(
            "the family is named twice", where="--tests and --all-rows", mend="leave out one"
        )
    from vbench.compare import Wanted, print_comparison

    wanted = Wanted(
        against=expand_one(given["--against"]) if "--against" in given else None,
        tests=given.get("--tests", ""),
        detect=points / 100 if "--detect" in given else None,
        all_rows="--all-rows" in given,
        everything="--all" in given,
        items="--items" in given,
        limit=number(given, "--limit", 20, int),
    )
    found = [path for word in paths for path in expand(word)]
    print_comparison(found, wanted, form, as_json="--json" in given)
    return 0


def report(words: list[str]) -> int:
    """Does `vbench report`, of runs or of a dataset."""
    known = {"--out": True, "--samples": True, "--no-strips": False, "--wandb": False}
    names, given = _inspecting("report", words, known)
    if not names:
        return 0
    if "--wandb" in given:
        return _mirror([path for name in names for path in expand(name)])
    if any("=" in name and not Path(name).exists() for name in names):
        from vbench.browse import report_dataset
        from vbench.schema import compose

        if {"--samples", "--no-strips"} & given.keys():
            raise ConfigError(
                "of a dataset, limit=N and strips=N say how much is shown",
                where=f"vbench report {' '.join(words)}", mend="limit=20 strips=0",
            )  # fmt: skip
        config = compose(names, "report")
        config.out = given.get("--out", config.out)
        sys.stdout.write(f"{report_dataset(config)}\n")
        return 0
    from vbench.report import MOST_SAMPLES, report_runs

    paths = [path for name in names for path in expand(name)]
    most = number(given, "--samples", MOST_SAMPLES, int)
    page = report_runs(paths, given.get("--out"), most, "--no-strips" not in given)
    sys.stdout.write(f"{page}\n")
    return 0


def _mirror(paths: list[str]) -> int:
    """Does `vbench report --wandb`."""
    from vbench.results.sweeps import runs_of
    from vbench.results.wandb import replay

    for folder in runs_of(paths):
        sys.stdout.write(f"{replay(folder)}\n")
    return 0


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
