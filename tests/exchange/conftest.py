"""Results as other harnesses write them, made up here in their formats."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def lmms(tmp_path: Path) -> Callable[..., Path]:
    """Writes a folder as lmms-eval does: <out>/<model>/<date>_samples_<task>.jsonl."""

    def write(*samples: dict[str, Any], task: str = "videomme") -> Path:
        folder = tmp_path / "logs" / "acme__vlm"
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"20261130_101010_samples_{task}.jsonl"
        file.write_text("".join(json.dumps(sample) + "\n" for sample in samples))
        told = {"model_name": "acme/vlm", "config": {"model": "hf", "model_args": "x=1"}}
        (folder / "20261130_101010_results.json").write_text(json.dumps(told))
        return tmp_path / "logs"

    return write


HEADS = ("index", "video", "duration", "candidates", "question", "answer", "prediction", "score")
LISTED = "['A. A ball.', 'B. A hat.', \"C. A dog's shoe.\"]"
ROWS = (
    (0, "v1", "short", LISTED, "What is thrown?", "A", "A", 1),
    (1, "v1", "short", LISTED, "What is thrown?", "B", "The answer is (C).", 0),
    (2, "v2", "long", LISTED, "What is thrown?", "B", "Failed to obtain answer via API.", -1),
    (3, "v3", "long", LISTED, "What is thrown?", "C", "A dog's shoe", 1),
)


@pytest.fixture
def vlmeval(tmp_path: Path) -> Callable[[str], Path]:
    """Writes outputs/acme/acme_Video-MME_8frame.<ending> as VLMEvalKit does."""

    def write(ending: str) -> Path:
        folder = tmp_path / "outputs" / "acme"
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"acme_Video-MME_8frame.{ending}"
        if ending == "xlsx":
            from openpyxl import Workbook

            book = Workbook()
            sheet = book.active
            assert sheet is not None
            for row in (HEADS, *ROWS):
                sheet.append(row)
            book.save(file)
        elif ending == "json":
            rows = [dict(zip(HEADS, row, strict=True)) for row in ROWS]
            file.write_text(json.dumps(rows))
        else:
            import csv

            with file.open("w", newline="") as opened:
                csv.writer(opened, delimiter="\t", quoting=csv.QUOTE_ALL).writerows([HEADS, *ROWS])
        return file

    return write
