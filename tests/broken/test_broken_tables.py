"""Tables that cannot be read or hold rows that cannot be used: refused before anything is made."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from vbench.errors import ConfigError, DataError, VbenchError

GOOD = {
    "key": "k", "video": "good_0.mp4", "positive": "a red ball", "negative": "a blue ball",
    "start": 0, "end": 2,
}  # fmt: skip


def table_of(*rows: dict[str, Any], **change: Any) -> str:
    return "\n".join(json.dumps(GOOD | row | change) for row in rows or ({},))


TABLES: dict[str, tuple[str | bytes, str]] = {
    "nothing.jsonl": ("", "has no rows"),
    "blank_lines.jsonl": ("\n \n", "has no rows"),
    "cut_line.jsonl": (table_of()[:-5], "row 1: not valid JSON"),
    "python.jsonl": ("{'key': 'k'}", "not valid JSON"),
    "one_array.jsonl": (f"[{table_of()}]", "not an object"),
    "deep.jsonl": ("[" * 100_000, "not valid JSON"),
    "latin1.jsonl": (table_of(positive="x").replace("x", "é").encode("latin-1"), "not UTF-8"),
    "utf16.jsonl": (table_of().encode("utf-16"), "not UTF-8"),
    "binary.jsonl": (random.Random(2).randbytes(500), "not UTF-8"),
    "duplicate_ids.jsonl": (table_of({}, {}), "'k' occurs twice"),
    "nothing.csv": ("", "is empty"),
    "two_columns.csv": ("key,key\n1,2\n", "two columns are called 'key'"),
    "ragged.csv": ("key,video,positive\nk,good_0.mp4\n", "2 cells, but 3 columns"),
    "open_quote.csv": ('key,video\nk,"good_0.mp4\n', "malformed"),
    "other_names.csv": ("id,clip,right,wrong\nk,a,b,c\n", "there is no column"),
    "semicolons.csv": ("id;video;positive\nk;good_0.mp4;a, b\n", "separated by ';'"),
    "quoted_semicolons.csv": ('"id";"video"\n"k";"good_0.mp4"\n', "separated by ';'"),
    "semicolons.tsv": ("id;video\nk;good_0.mp4\n", "separated by ';'"),
    "garbage.parquet": (random.Random(3).randbytes(500), "no Parquet file"),
    "table.xlsx": (b"PK\3\4", "none of the formats"),
}
"""Tables that cannot be read, and what is said of them."""

ROWS: dict[str, tuple[dict[str, Any], str]] = {
    "path escaping the root": ({"video": "../elsewhere.mp4"}, "lies outside"),
    "path escaping in the middle": ({"video": "a/../../elsewhere.mp4"}, "lies outside"),
    "absolute path": ({"video": "/etc/passwd"}, "lies outside"),
    "the root itself": ({"video": "."}, "lies outside"),
    "NUL in a path": ({"video": "a\0.mp4"}, "lies outside"),
    "half a character in a path": ({"video": "a\udcff.mp4"}, "no valid text"),
    "no video": ({"video": None}, "it is empty"),
    "video is a list": ({"video": ["a.mp4"]}, "is no text"),
    "NaN start": ({"start": float("nan")}, "it is empty"),
    "NaN end": ({"end": float("nan")}, "it is empty"),
    "NaN in words": ({"start": "nan"}, "is no time"),
    "infinite end": ({"end": float("inf")}, "is no time"),
    "negative start": ({"start": -1}, "is no time"),
    "minutes": ({"end": "1:30"}, "is no time"),
    "reversed span": ({"start": 2, "end": 1}, "starts at 2 s and ends at 1 s"),
    "empty span": ({"start": 1, "end": 1}, "starts at 1 s and ends at 1 s"),
    "empty caption": ({"positive": ""}, "it is empty"),
    "blank caption": ({"negative": " \t\n"}, "it is empty"),
    "null caption": ({"negative": None}, "it is empty"),
    "half a character in a caption": ({"positive": "a \ud83c"}, "no valid text"),
    "caption is a list": ({"positive": ["a"]}, "is no text"),
    "caption is true": ({"positive": True}, "is no text"),
}
"""Rows that cannot be used, and what is said of them."""


def refused(tools: Any, file: Path, kind: type[VbenchError] = DataError) -> VbenchError:
    run_dir = file.parent / "run"
    with pytest.raises(kind) as caught:
        tools.evaluate(file, run_dir)
    assert caught.value.what
    assert caught.value.where
    assert caught.value.mend
    assert not run_dir.exists()  # before anything is made
    return caught.value


@pytest.mark.parametrize("name", TABLES)
def test_tables_that_cannot_be_read_are_refused(name: str, tools: Any, tmp_path: Path) -> None:
    data, says = TABLES[name]
    (tmp_path / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    kind = ConfigError if name.endswith("xlsx") else DataError
    error = refused(tools, tmp_path / name, kind)
    assert says in error.render()
    assert name in error.render()


@pytest.mark.parametrize("name", ROWS)
def test_rows_that_cannot_be_used_are_refused_by_number(
    name: str, tools: Any, tmp_path: Path
) -> None:
    row, says = ROWS[name]
    (tmp_path / "t.jsonl").write_text(table_of({"key": "good"}, row))
    error = refused(tools, tmp_path / "t.jsonl")
    assert "row 2, column" in error.why
    assert says in error.why


def test_a_byte_order_mark_is_no_fault(videos: Path, tools: Any, tmp_path: Path) -> None:
    text = table_of(video="good_0.mp4", start=0, end=1)
    (videos / "bom.jsonl").write_text("\ufeff" + text, encoding="utf-8")
    assert tools.evaluate(videos / "bom.jsonl", tmp_path / "run").exit_code == 0


@pytest.mark.parametrize("kind", ["missing", "folder", "loop", "locked"])
def test_table_files_that_are_not_there(kind: str, tools: Any, tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    match kind:
        case "folder":
            file.mkdir()
        case "loop":
            file.symlink_to(file)
        case "locked":
            file.write_text(table_of())
            file.chmod(0)
    with tools.subject_to_permissions():
        assert "'t.jsonl' cannot be read" in refused(tools, file).what
