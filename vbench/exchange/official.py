"""Video-Bench's own files of a run, as its scripts write them and its leaderboard takes them.

`{dataset}_eval.json` is what step 1 of PKU-YuanGroup/Video-Bench writes, `Video-Bench-Input.json`
what step 3 merges for upload, `result.csv` the columns of its score script.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from vbench.errors import RunError
from vbench.metrics.videobench import FINAL, LEGACY
from vbench.results.run import Run
from vbench.results.samples import read_samples
from vbench.results.store import write_atomically, write_json
from vbench.results.videobench.printed import DATASETS

COLUMNS: Mapping[str, str] = {
    "Avg. All": FINAL,
    "Avg. Video-Exclusive": "video_exclusive",
    "Avg. Prior-Knowledge QA": "prior_knowledge",
    "Avg. Decision-Making": "comprehension_decision",
    **{key: key for key in DATASETS},
}
"""Columns of the official results CSV with the estimate behind each; averages are in percent,
datasets are shares from 0 to 1."""

MERGED = "Video-Bench-Input.json"


def write_official(run: Run, folder: Path) -> list[Path]:
    """Writes a run as Video-Bench's files.

    A question without a valid answer is written, too, with an empty `output_chatgpt_choice`: the
    official scripts leave it out, and so out of their denominator.

    Args:
        run: A finished run on some or all of the thirteen datasets.
        folder: Made if need be.

    Returns:
        The files.

    Raises:
        RunError: The run asked no question of Video-Bench, or the folder cannot be written.
    """
    asked = [row for row in read_samples(run.path).to_pylist() if row["test"] in DATASETS]
    if not asked:
        raise RunError(
            "the run asked nothing of Video-Bench",
            where=str(run.path),
            why=f"none of its tests is one of {', '.join(DATASETS)}",
            mend="name a run of dataset=videobench/…",
        )
    records = run.records.set_index(["test", "sample_id"])
    merged: dict[str, dict[str, dict[str, str]]] = {}
    for row in asked:
        record = records.loc[(row["test"], row["sample_id"])]
        merged.setdefault(row["test"], {})[row["sample_id"]] = _item(row, record)
    files = []
    for key in DATASETS:
        if key in merged:
            files.append(folder / f"{key}_eval.json")
            told = {qid: _told(item) for qid, item in merged[key].items()}
            write_json(files[-1], told)
    files.append(folder / MERGED)
    write_json(files[-1], {key: merged[key] for key in DATASETS if key in merged})
    for name, suffix in (("result.csv", LEGACY), ("result_strict.csv", "")):
        files.append(folder / name)
        text = results_csv(run, suffix)
        write_atomically(files[-1], partial(Path.write_text, data=text, encoding="utf-8"))
    return files


def results_csv(run: Run, suffix: str) -> str:
    """Returns the official results row; what is missing, or an average that lacks some, is empty.

    Args:
        run: The run.
        suffix: `_legacy`: of the answered questions, as the official script counts; "": of all.
    """
    tests = run.summary["tests"]
    values = []
    for column, key in COLUMNS.items():
        found = tests.get(key + suffix)
        scale = 100 if column.startswith("Avg.") else 1
        values.append("" if found is None else f"{scale * found['value']:.8g}")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerow(values)
    return out.getvalue()


def _item(row: Mapping[str, Any], record: Any) -> dict[str, str]:
    choice = _choice(row, record)
    return {
        "video_id": row["clips"][0]["video_id"],
        "question": row["requests"][0]["text"],
        "output_sequence": record["response"] or choice,
        "output_chatgpt_choice": choice,
    }


def _told(item: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in item.items() if name != "output_chatgpt_choice"}


def _choice(row: Mapping[str, Any], record: Any) -> str:
    """Returns the letter of the one highest score; empty where there is none."""
    scores: Sequence[float] = list(record["scores"])
    if record["status"] != "ok" or not scores or scores.count(max(scores)) != 1:
        return ""
    letters = row["letters"] or "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return str(letters[scores.index(max(scores))])
