"""CPU seconds and memory to make estimates of a million records: read, graded, with intervals.

    python scripts/bench_statistics.py [--records 1000000]

Draws a finished run of four tests with 20 sources per 1,000 records, one test of IVAT's 2 x 2
matrices, one of options, and writes its records.parquet. Then, in a process of its own: reads the
records, grades them by `metric=accuracy` and estimates every row with its clustered interval, from
start to end, imports included.

Expected: less than 10 CPU seconds and less than 2 GB at the peak. The last line is one JSON object;
exit code 1 if not as expected.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

LIMIT_S, LIMIT_MB = 10.0, 2000.0

KINDS = ("v2t", "t2v", "mcq", "match")
TEXTS = {"v2t": 2, "t2v": 1, "mcq": 4, "match": 2}
CLIPS = {"v2t": 1, "t2v": 2, "mcq": 1, "match": 2}

WORK = """
import json, os, sys
from pathlib import Path
from vbench.metrics.accuracy import Accuracy
from vbench.results.graded import read_scores
from vbench.results.statistics import summary
cpu = lambda: sum(os.times()[:2])
marks = [cpu()]
scores = read_scores(Path(sys.argv[1])); marks.append(cpu())
rows = Accuracy()(scores); marks.append(cpu())
found = summary(rows, scores); marks.append(cpu())
print(json.dumps({"tests": found["tests"], "marks": marks}))
"""


def write_run(folder: Path, records: int) -> None:
    """Writes records.parquet of a run, in the schema of a real one."""
    from vbench.results.rows import RECORD_SCHEMA

    rng = np.random.default_rng(0)
    parts = []
    for number, kind in enumerate(KINDS):
        count = (records - number + len(KINDS) - 1) // len(KINDS)
        source = rng.integers(0, max(1, count // 50), count)
        size = TEXTS[kind] * CLIPS[kind]
        scores = rng.random((count, size))
        own = {
            "test": [f"test {number}"] * count,
            "sample_id": [f"{number}-{place}" for place in range(count)],
            "video_id": [f"v_{one}" for one in source],
            "cluster": [f"video {one:09d}" for one in source],
            "kind": [kind] * count,
            "question": [None] * count,
            "texts": [(["a person does something", "another does"] * 2)[: TEXTS[kind]]] * count,
            "target": [None if kind == "match" else "0"] * count,
            "scores": list(scores),
            "outcome": ["right"] * count,
            "status": ["ok"] * count,
            "reason": [""] * count,
            "truncated": [False] * count,
            "response": [""] * count,
            "rule": [""] * count,
            "observed": [[]] * count,
            "groups": [[]] * count,
            "clip_keys": [[None] * CLIPS[kind]] * count,
            "clip_paths": [[f"videos/v_{one}.mp4"] * CLIPS[kind] for one in source],
            "clip_spans_s": [[[0.0, None]] * CLIPS[kind]] * count,
            "frame_indices": [[[]] * CLIPS[kind]] * count,
            "timestamps_s": [[[]] * CLIPS[kind]] * count,
        }
        parts.append(pa.table(own, schema=RECORD_SCHEMA))
    pq.write_table(pa.concat_tables(parts), folder / "records.parquet")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_run(Path(folder), asked.records)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "-c", WORK, folder], capture_output=True, text=True, check=True
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = json.loads(done.stdout)
    tests, marks = told["tests"], told["marks"]
    steps = ("import", "read", "grade", "estimate")
    found = zip(steps, [0.0, *marks[:-1]], marks, strict=True)
    of_steps = {step: round(b - a, 2) for step, a, b in found}
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    peak = after.ru_maxrss / 1024
    fair = seconds < LIMIT_S and peak < LIMIT_MB
    result = {
        "records": sum(test["n"] for test in tests.values()),
        "rows": len(tests),
        "sources": sum(test["clusters"] for test in tests.values()),
        "cpu_s": round(seconds, 2),
        "cpu_s_of": of_steps,
        "peak_mb": round(peak),
        "within": [LIMIT_S, LIMIT_MB],
        "ok": fair and sum(test["n"] for test in tests.values()) == asked.records,
    }
    print(json.dumps(result))
    return 0 if result["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
