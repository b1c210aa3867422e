"""Response sheets: what several runs answered, as a page that can neither load nor run anything."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image

from vbench.cli import main
from vbench.exchange.foreign import Item, Origin, write_run
from vbench.records import Prediction
from vbench.results.run import Run, load_run
from vbench.results.sheets import page
from vbench.results.store import RunFolder

EVIL = "<script>alert(1)</script>\x1b[31m"
OPTIONS = {"A": "a cat & co", "B": EVIL, "D": "a cow"}


def made(tmp_path: Path, name: str, *said: str | None) -> Run:
    items = [
        Item("MSVD" if n < 2 else "NBA", str(n), f"What is it? {EVIL}", OPTIONS, "D", text, "What?")
        for n, text in enumerate(said)
    ]
    return load_run(write_run(items, Origin("test", name, "d", {name: name}), tmp_path))


class Page(HTMLParser):
    """Collects tags and visible text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.sources: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.sources += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def runs(tmp_path: Path) -> list[tuple[str, Run]]:
    return [
        ("one", made(tmp_path, "one", "D", "D", None)),
        (f"two {EVIL}", made(tmp_path, "two", "D", f"A {EVIL}", "D. a cow")),
    ]


def test_answers_verdicts_and_rules(runs: list[tuple[str, Run]]) -> None:
    read = Page(page(runs, ["MSVD/0", "NBA/2"]))
    assert "D, right" in read.text
    assert "D. a cow" in read.text  # the option has its own letter
    assert "letter_only" in read.text
    assert "unscored" in read.text
    assert "the results hold no answer" in read.text
    assert read.tags.count("section") == 2


def test_nothing_in_it_runs_or_loads(runs: list[tuple[str, Run]]) -> None:
    text = page(runs, [])
    read = Page(text)
    assert "script" not in read.tags
    assert read.sources == []
    assert "<script>alert(1)</script>\\x1b[31m" in read.text
    assert "\x1b" not in text
    assert "default-src 'none'" in text


def test_without_names_where_the_runs_differ(runs: list[tuple[str, Run]]) -> None:
    read = Page(page(runs, []))
    assert read.tags.count("section") == 2  # one of each test
    assert "A, wrong" not in read.text  # what names an option and then more is read by the rules
    assert "MSVD 1" in read.text
    assert "MSVD 0" not in read.text


def test_frames_are_in_the_page(runs: list[tuple[str, Run]], tmp_path: Path) -> None:
    label, run = runs[0]
    rows = run.path / "samples.parquet"
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(rows)
    listed = table.to_pylist()
    listed[0]["requests"][0]["keys"].insert(0, "clipkey")
    pq.write_table(pa.Table.from_pylist(listed, schema=table.schema), rows)
    folder = RunFolder(run.path)
    folder.write_predictions([Prediction("clipkey", "clip", "ok", frame_indices=(0, 1))])
    folder.frames.mkdir()
    Image.new("RGB", (40, 20), "red").save(folder.frames / "clipkey.jpg")
    read = Page(page([(label, run), runs[1]], ["MSVD/0"]))
    (source,) = read.sources
    assert source.startswith("data:image/jpeg;base64,")
    assert "frames shown to one" in read.text


def test_the_command(
    runs: list[tuple[str, Run]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [str(run.path) for _, run in runs]
    out = tmp_path / "s.html"
    assert main(["sheet", *paths, "--sample=MSVD/0,NBA/2", "--out", str(out)]) == 0
    assert capsys.readouterr().out.strip() == str(out)
    assert out.read_text().count("<section>") == 2
    assert main(["sheet", *paths, "--sample=nothing"]) == 1
    assert "no sample 'nothing'" in capsys.readouterr().err
