"""How long `vbench --help` takes, in CPU seconds (user + system, all processes), and what it loads.

    python scripts/bench_help.py

Expected: well under 1 CPU-second; the last line is one JSON object, exit code 1 above the limit.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys

RUNS = 7
LIMIT_S = 1.0


def cpu_seconds(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def main() -> int:
    figures = {}
    for name, words in {"help": ["--help"], "evaluate_help": ["evaluate", "--help"]}.items():
        times = [cpu_seconds([sys.executable, "-m", "vbench", *words]) for _ in range(RUNS)]
        figures[f"{name}_cpu_s_median"] = round(statistics.median(times), 3)
        figures[f"{name}_cpu_s_max"] = round(max(times), 3)
    python = statistics.median(cpu_seconds([sys.executable, "-c", ""]) for _ in range(RUNS))
    within = figures["help_cpu_s_max"] < LIMIT_S
    print(json.dumps({
        "bench": "help", "runs": RUNS, **figures, "bare_python_cpu_s_median": round(python, 3),
        "limit_s": LIMIT_S, "within_limit": within,
    }))  # fmt: skip
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
