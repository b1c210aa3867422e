import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vbench.datasets.row_files import read_any
from vbench.errors import ConfigError, DataError

ROWS = [{"a": "x", "b": 1}, {"a": "é", "b": 2}]


def write_arrow(file: Path, rows: list[dict[str, object]], stream: bool) -> None:
    table = pa.Table.from_pylist(rows)
    make = pa.ipc.new_stream if stream else pa.ipc.new_file
    with pa.OSFile(str(file), "wb") as out, make(out, table.schema) as writer:
        writer.write_table(table)


def write(file: Path, rows: list[dict[str, object]]) -> None:
    if file.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), file)
    elif file.suffix == ".json":
        file.write_text(json.dumps(rows))
    elif file.suffix == ".jsonl":
        file.write_text("\n".join(map(json.dumps, rows)))
    else:
        write_arrow(file, rows, stream=True)


@pytest.mark.parametrize("ending", [".parquet", ".json", ".jsonl", ".arrow"])
def test_every_kind_of_file_gives_the_same_rows(tmp_path: Path, ending: str) -> None:
    write(tmp_path / f"rows{ending}", ROWS)
    assert list(read_any(tmp_path / f"rows{ending}").rows) == ROWS
    assert list(read_any(tmp_path).rows) == ROWS


def test_both_forms_of_arrow(tmp_path: Path) -> None:
    write_arrow(tmp_path / "rows.arrow", ROWS, stream=False)
    assert read_any(tmp_path / "rows.arrow").columns == ("a", "b")


def test_a_folder_as_datasets_saves_it(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    datasets.Dataset.from_list(ROWS).save_to_disk(str(tmp_path / "saved"))
    assert list(read_any(tmp_path / "saved").rows) == ROWS


def test_files_of_a_folder_follow_one_another_by_name(tmp_path: Path) -> None:
    write(tmp_path / "data-00001.arrow", ROWS[1:])
    write(tmp_path / "data-00000.arrow", ROWS[:1])
    (tmp_path / "state.json").write_text("{}")
    assert [row["a"] for row in read_any(tmp_path).rows] == ["x", "é"]


def test_what_cannot_be_read_says_why(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the folder holds no table"):
        read_any(tmp_path)
    (tmp_path / "a.json").write_text('{"a": 1}')
    with pytest.raises(DataError, match="a list of objects"):
        read_any(tmp_path / "a.json")
    (tmp_path / "a.json").write_text("[{")
    with pytest.raises(DataError, match="JSONDecodeError"):
        read_any(tmp_path / "a.json")
    (tmp_path / "a.arrow").write_bytes(b"no arrow at all, whatever its name says")
    with pytest.raises(DataError, match="no Arrow file"):
        read_any(tmp_path / "a.arrow")
    with pytest.raises(ConfigError, match="none of the formats"):
        read_any(tmp_path / "a.xlsx")
    folder = tmp_path / "two"
    folder.mkdir()
    write(folder / "a.parquet", ROWS)
    write(folder / "b.parquet", [{"c": 1}])
    with pytest.raises(DataError, match="other columns"):
        read_any(folder)
