import csv
import io
import json
import string
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbench.datasets.cells import CellError, answer_index
from vbench.datasets.table import Table
from vbench.errors import ConfigError, DataError
from vbench.records import Clip, Sample

MCQ = [
    {
        "video": "a.mp4",
        "question": "What is it?",
        "options": ["a cat", "a dog", "NA"],
        "answer": "NA",
        "genre": "animals",
    },
    {
        "video": "sub/b.mp4",
        "question": "How many?",
        "options": ["1 of 7", "2 of 7"],
        "answer": "A",
        "genre": "counting",
    },
]


def write(tmp_path: Path, name: str, rows: list[dict[str, Any]]) -> Path:
    file = tmp_path / name
    if file.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), file)
    elif file.suffix == ".jsonl":
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        text = io.StringIO()
        delimiter = "\t" if file.suffix == ".tsv" else ","
        writer = csv.DictWriter(text, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        as_text = [
            {k: json.dumps(v) if isinstance(v, list) else v for k, v in row.items()} for row in rows
        ]
        writer.writerows(as_text)
        file.write_text(text.getvalue())
    return file


def load(tmp_path: Path, rows: list[dict[str, Any]], **settings: Any) -> list[Sample]:
    return Table(file=str(write(tmp_path, "qa.jsonl", rows)), **settings).samples()


def problem_of(tmp_path: Path, rows: list[dict[str, Any]], **settings: Any) -> str:
    with pytest.raises(DataError) as caught:
        load(tmp_path, rows, **settings)
    assert "qa.jsonl" in caught.value.where
    return str(caught.value)


@pytest.mark.parametrize("name", ["qa.csv", "qa.tsv", "qa.jsonl", "qa.parquet", "QA.CSV"])
def test_every_format_gives_the_same_samples(tmp_path: Path, name: str) -> None:
    file = write(tmp_path, name, MCQ)
    samples = Table(file=str(file), group_by=["genre"], cluster="genre").samples()
    assert samples == [
        Sample(
            test="table",
            sample_id="1",
            kind="mcq",
            cluster="animals",
            clips=(Clip("a.mp4", str(tmp_path / "a.mp4")),),
            texts=("a cat", "a dog", "NA"),
            target=2,
            question="What is it?",
            groups={"genre": "animals"},
        ),
        Sample(
            test="table",
            sample_id="2",
            kind="mcq",
            cluster="counting",
            clips=(Clip("sub/b.mp4", str(tmp_path / "sub/b.mp4")),),
            texts=("1 of 7", "2 of 7"),
            target=0,
            question="How many?",
            groups={"genre": "counting"},
        ),
    ]


def test_options_in_columns_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "qa.csv"
    file.write_text(
        "\ufeffclip,q,o1,o2,o3,gold,key\n"
        'x,"Who,\nand why?",Ann,Bob,Cy,o2,k1\n'
        "\n"
        "y,Where?,here,there,,here,k2\n",
        encoding="utf-8",
    )
    table = Table(
        file=str(file),
        video="clip",
        question="q",
        options=["o1", "o2", "o3"],
        answer="gold",
        id="key",
        extension=".webm",
        root="videos",
        name="mine",
    )
    first, second = table.samples()
    assert (first.question, first.texts, first.target) == (
        "Who,\nand why?",
        ("Ann", "Bob", "Cy"),
        1,
    )
    assert (second.texts, second.target, second.sample_id) == (("here", "there"), 0, "k2")
    assert first.clips == (Clip("x", str(Path("videos/x.webm"))),)
    assert (first.test, first.cluster) == ("mine", "x")
    assert table.facts() is None


def test_options_keyed_by_letter(tmp_path: Path) -> None:
    row = {**MCQ[0], "options": {"B": "second", "A": "first"}, "answer": "B"}
    assert load(tmp_path, [row])[0].texts == ("first", "second")
    # Parquet gives every row the keys of all rows.
    longer = {**row, "options": {"A": "x", "B": "y", "C": "z"}}
    file = write(tmp_path, "qa.parquet", [row, longer])
    assert [len(s.texts) for s in Table(file=str(file)).samples()] == [2, 3]
    assert "its keys are A, C, not A, B" in problem_of(
        tmp_path, [{**row, "options": {"A": "x", "C": "y"}}]
    )


def test_options_without_a_question(tmp_path: Path) -> None:
    rows = [{"video": "a.mp4", "options": ["running", "jumping"], "answer": "jumping"}]
    (sample,) = load(tmp_path, rows, question=None)
    assert (sample.question, sample.target) == (None, 1)


def test_pairs(tmp_path: Path) -> None:
    rows = [{"video": "a.mp4", "positive": "yes.", "negative": "no.", "from": 2, "to": "4.5"}]
    (sample,) = load(tmp_path, rows, kind="pairs", start="from", end="to")
    assert (sample.kind, sample.texts, sample.target) == ("v2t", ("yes.", "no."), 0)
    assert (sample.clips[0].start_s, sample.clips[0].end_s) == (2.0, 4.5)


@pytest.mark.parametrize(("gold", "target"), [("cap1", 0), ("cap2", 1), ("B", 1), (1, 1), ("u", 0)])
def test_pairs_with_an_answer(tmp_path: Path, gold: object, target: int) -> None:
    rows = [{"video": "a.mp4", "cap1": "u", "cap2": "v", "gt": gold}]
    settings: dict[str, Any] = {"kind": "pairs", "texts": ["cap1", "cap2"]}
    assert load(tmp_path, rows, **settings, answer="gt")[0].target == target
    assert load(tmp_path, rows, **settings, answer=None)[0].target is None


@pytest.mark.parametrize(
    ("gold", "target"), [("yes", 0), (" No ", 1), (True, 0), (False, 1), ("TRUE", 0)]
)
def test_yes_no(tmp_path: Path, gold: object, target: int) -> None:
    rows = [{"video": "a.mp4", "question": "Is it?", "answer": gold}]
    (sample,) = load(tmp_path, rows, kind="yes_no")
    assert (sample.kind, sample.texts, sample.target) == ("yes_no", ("yes", "no"), target)


@pytest.mark.parametrize("gold", [0, 1, "1", "perhaps"])
def test_yes_no_never_guesses(tmp_path: Path, gold: object) -> None:
    row = {"video": "a.mp4", "question": "Is it?", "answer": gold}
    assert "neither yes, no, true nor false" in problem_of(tmp_path, [row], kind="yes_no")


def test_open_questions(tmp_path: Path) -> None:
    rows = [{"video": "a.mp4", "question": "Why?", "answer": "because"}]
    (sample,) = load(tmp_path, rows, kind="open")
    assert (sample.kind, sample.texts, sample.target) == ("open", (), "because")
    del rows[0]["answer"]
    assert load(tmp_path, rows, kind="open", answer=None)[0].target is None


@pytest.mark.parametrize(
    ("answer", "options", "read_as", "index"),
    [
        ("B", ["x", "y"], "auto", 1),
        ("(b)", ["x", "y"], "auto", 1),
        ("b.", ["x", "y"], "auto", 1),
        (0, ["x", "y"], "auto", 0),
        (1.0, ["x", "y"], "auto", 1),
        ("1", ["x", "y"], "auto", 1),
        ("Y", ["x", "y"], "auto", 1),
        ("y ", ["x", " y"], "auto", 1),
        ("us", ["US", "us"], "auto", 1),
        ("A", ["A", "B"], "auto", 0),
        ("1", ["1", "2"], "text", 0),
        ("1", ["1", "2"], "index", 1),
        ("A", ["B", "A"], "letter", 0),
        ("A", ["B", "A"], "text", 1),
        ("0", ["0", "1"], "auto", 0),
    ],
)
def test_answers(answer: object, options: list[str], read_as: Any, index: int) -> None:
    assert answer_index({"a": answer}, "a", options, [], read_as) == index


@pytest.mark.parametrize(
    ("answer", "options", "read_as", "says"),
    [
        ("1", ["1", "2"], "auto", "two ways"),
        ("A", ["B", "A"], "auto", "two ways"),
        (1, ["0", "1", "2", "1"], "auto", "two ways"),
        ("same", ["same", "same"], "auto", "two ways"),
        ("C", ["x", "y"], "auto", "none of 2 options"),
        (2, ["x", "y"], "auto", "index from 0"),
        (-1, ["x", "y"], "auto", "none of 2 options"),
        ("9" * 5000, ["x", "y"], "auto", "none of 2 options"),
        ("²", ["x", "y", "z"], "auto", "none of 3 options"),
        (1.5, ["x", "y"], "auto", "none of 2 options"),
        ("x", ["x", "y"], "index", "by index"),
        ("", ["x", "y"], "auto", "empty"),
        (None, ["x", "y"], "auto", "empty"),
        (float("nan"), ["x", "y"], "auto", "empty"),
        (True, ["x", "y"], "auto", "no text"),
        ([1], ["x", "y"], "auto", "no text"),
    ],
)
def test_answers_are_never_guessed(
    answer: object, options: list[str], read_as: Any, says: str
) -> None:
    with pytest.raises(CellError, match=says):
        answer_index({"a": answer}, "a", options, [], read_as)


@given(
    st.lists(st.text(string.ascii_letters + "012 ", min_size=1, max_size=3), min_size=2),
    st.data(),
)
def test_an_answer_by_one_way_is_read_by_that_way_or_refused(
    options: list[str], data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, min(len(options), 26) - 1))
    for answer in (string.ascii_uppercase[index], index, options[index]):
        try:
            assert answer_index({"a": answer}, "a", options, [], "auto") == index
        except CellError:
            continue


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"video": ""}, "column 'video': it is empty"),
        ({"video": None}, "column 'video': it is empty"),
        ({"video": float("nan")}, "column 'video': it is empty"),
        ({"video": "../x.mp4"}, "lies outside"),
        ({"video": "a/../../x.mp4"}, "lies outside"),
        ({"video": "/etc/passwd"}, "lies outside"),
        ({"video": "."}, "lies outside"),
        ({"video": "a\0.mp4"}, "lies outside"),
        ({"video": {"path": "x"}}, "no text"),
        ({"question": "  "}, "column 'question': it is empty"),
        ({"options": []}, "0 options are too few"),
        ({"options": ["one"]}, "1 options are too few"),
        ({"options": ["a", "", "c"]}, "a later option is not"),
        ({"options": "a, b"}, "no JSON list"),
        ({"options": "['a', 'b']"}, "no JSON list"),
        ({"options": "3"}, "no JSON list"),
        ({"options": 3}, "is no list"),
        ({"options": ["a", ["b"]]}, "no text"),
        ({"answer": "E"}, "none of 3 options"),
        ({"start": "x"}, "'x' is no time in seconds"),
        ({"start": -1}, "-1 is no time"),
        ({"start": float("nan")}, "column 'start': it is empty"),
        ({"start": float("inf")}, "inf is no time"),
        ({"start": True}, "True is no time"),
        ({"end": None}, "column 'end': it is empty"),
        ({"start": 5, "end": 5}, "the clip starts at 5 s and ends at 5 s"),
        ({"start": 6, "end": 5}, "the clip starts at 6 s and ends at 5 s"),
        ({"genre": ""}, "column 'genre': it is empty"),
        ({"film": None}, "column 'film': it is empty"),
    ],
)
def test_a_bad_cell_is_named(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    row = {**MCQ[0], "start": 0, "end": 9, "film": "f", **change}
    good = {**MCQ[0], "start": 0, "end": 1, "film": "f"}
    settings: dict[str, Any] = {"start": "start", "end": "end", "cluster": "film"}
    said = problem_of(tmp_path, [good, row], group_by=["genre"], **settings)
    assert "row 2, column" in said
    assert "row 1" not in said
    assert says in said


def test_many_bad_rows_are_counted_and_the_first_few_shown(tmp_path: Path) -> None:
    rows = [{**MCQ[0], "answer": f"?{i}"} for i in range(30)]
    said = problem_of(tmp_path, rows)
    assert said.startswith("30 rows of the table cannot be used")
    assert [f"'?{i}'" in said for i in range(7)] == [True] * 5 + [False] * 2
    assert "and 25 more" in said


def test_repeated_ids(tmp_path: Path) -> None:
    rows = [{**row, "key": "same"} for row in MCQ]
    assert "row 2, column 'key': 'same' occurs twice" in problem_of(tmp_path, rows, id="key")


def test_a_missing_column_gets_a_suggestion(tmp_path: Path) -> None:
    file = write(tmp_path, "qa.csv", MCQ)
    with pytest.raises(DataError) as caught:
        Table(file=str(file), question="Question").samples()
    assert "no column 'Question'" in caught.value.what
    assert "dataset.question" in caught.value.where
    assert "did you mean 'question'?" in caught.value.mend
    with pytest.raises(DataError, match=r"dataset\.group_by\[1\]"):
        Table(file=str(file), group_by=["genre", "gnre"]).samples()
    with pytest.raises(DataError, match=r"dataset\.options\[0\]"):
        Table(file=str(file), options=["optiona", "answer"]).samples()


def test_a_column_may_be_absent_from_single_rows_only(tmp_path: Path) -> None:
    rows = [MCQ[0], {k: v for k, v in MCQ[1].items() if k != "question"}]
    assert "row 2, column 'question': it is empty" in problem_of(tmp_path, rows)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b"video,video\n1,2\n", "two columns are called 'video'"),
        ("a.csv", b"video,question\na\nb,c,d\n", "row 1: 1 cells, but 2 columns"),
        ("a.csv", b'video,question\na,"b" c\n', "line 2"),
        ("a.csv", b'video,question\na,"b\n', "malformed"),
        ("a.csv", b"video\n\xff\xfe\n", "not UTF-8"),
        ("a.jsonl", b'{"video": 1}\n{"video":\n[1]\n', "row 2: not valid JSON"),
        ("a.jsonl", b'{"video": 1}\n{"video":\n[1]\n', "row 3: not an object"),
        ("a.jsonl", b'[{"video": 1}]', "one object {…} per line"),
        ("a.parquet", b"PAR1 not really", "no Parquet file"),
        ("a.xlsx", b"", "ends in .csv"),
        ("a", b"", "none of the formats"),
    ],
)
def test_a_malformed_file_is_an_error(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises((DataError, ConfigError)) as caught:
        Table(file=str(tmp_path / name)).samples()
    assert says in str(caught.value)
    assert str(tmp_path / name) in str(caught.value)


def test_a_missing_file_gets_a_suggestion(tmp_path: Path) -> None:
    write(tmp_path, "questions.csv", MCQ)
    with pytest.raises(DataError, match=r"did you mean 'questions\.csv'"):
        Table(file=str(tmp_path / "question.csv")).samples()
    with pytest.raises(DataError, match="cannot be read"):
        Table(file=str(tmp_path / "nowhere/q.csv")).samples()


@pytest.mark.parametrize(
    ("name", "text"), [("qa.csv", "video,question,options,answer\n"), ("qa.jsonl", "\n")]
)
def test_an_empty_table_is_refused(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match="the table has no rows") as caught:
        Table(file=str(tmp_path / name)).samples()
    assert name in caught.value.where


def test_settings_that_contradict_one_another(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="either a file or a hub dataset"):
        Table().samples()
    with pytest.raises(ConfigError, match="either a file or a hub dataset"):
        Table(file="a.csv", hub="a/b").samples()
    with pytest.raises(ConfigError, match="a pair has two captions"):
        load(tmp_path, MCQ, kind="pairs", texts=["a", "b", "c"])


def test_absolute_paths_and_links_inside_root(tmp_path: Path) -> None:
    videos, disk = tmp_path / "videos", tmp_path / "disk"
    disk.mkdir()
    videos.symlink_to(disk)
    rows = [{**MCQ[0], "video": str(videos / "a.mp4")}, {**MCQ[0], "video": "x/../b.mp4"}]
    first, second = load(tmp_path, rows, root=str(videos))
    assert first.clips[0].path == str(videos / "a.mp4")
    assert Path(second.clips[0].path).resolve().parent in (disk, disk / "x")


def test_a_hub_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("datasets", reason="needs the extra 'hub'")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    repo = tmp_path / "repo"
    repo.mkdir()
    write(repo, "test.jsonl", MCQ)
    samples = Table(hub=str(repo), root="videos").samples()
    assert [(s.texts, s.target) for s in samples] == [
        (("a cat", "a dog", "NA"), 2),
        (("1 of 7", "2 of 7"), 0),
    ]
    with pytest.raises(DataError, match=r"dataset\.hub_split=dev"):
        Table(hub=str(repo), hub_split="dev").samples()


def test_a_hub_dataset_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ConfigError, match=r"vbench-eval\[hub\]"):
        Table(hub="owner/name").samples()
