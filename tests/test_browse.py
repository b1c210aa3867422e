"""`vbench report dataset=…`: a dataset with no run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from vbench.browse import report_dataset
from vbench.cli import main
from vbench.errors import DataError
from vbench.schema import compose


def data(page: Path, name: str) -> Any:
    pattern = rf'<script type="application/json" id="{name}">(.*?)</script>'
    (found,) = re.findall(pattern, page.read_text(encoding="utf-8"), re.S)
    return json.loads(found)


@pytest.fixture
def words(tmp_path: Path, write_grey: Callable[..., None], hostile: str) -> list[str]:
    write_grey(tmp_path / "a.mp4")
    write_grey(tmp_path / "b.mp4", first=40)
    (tmp_path / "broken.mp4").write_bytes(b"garbage")
    rows = [
        {
            "id": "1",
            "video": "a.mp4",
            "start": 1.0,
            "positive": "a cat",
            "negative": "two dogs run",
        },
        {"id": "2", "video": "b.mp4", "start": 0.0, "positive": hostile, "negative": "a dog"},
        {"id": "3", "video": "broken.mp4", "start": 0.0, "positive": "a cat", "negative": "a dog"},
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return [
        "dataset=table", f"dataset.file={tmp_path}/rows.jsonl", "dataset.kind=pairs",
        "dataset.id=id", "dataset.question=null", "dataset.start=start", "loader.num_workers=0",
        f"out={tmp_path}/out",
    ]  # fmt: skip


def test_samples_are_shown_with_frames_of_each_clip(words: list[str], tmp_path: Path) -> None:
    page = report_dataset(compose(words, "report"))
    assert page == tmp_path / "out" / "report.html"
    index, details, pictures = data(page, "index"), data(page, "details-0"), data(page, "pictures")
    assert index["runs"] == []
    assert index["samples"]["id"] == ["1", "2", "3"]
    assert index["samples"]["target"] == [0, 0, 0]
    first, second, broken = (row[0] for row in details["rows"])
    seen = details["frames"][first["frames"][0]]
    assert len(seen["at"]) == 8
    assert min(seen["s"]) >= 1.0
    assert details["frames"][second["frames"][0]]["at"] != seen["at"]
    assert broken["frames"] == [-1]
    assert broken["reason"]
    address, frames, width, _ = pictures["table"][seen["picture"]]
    with Image.open(page.parent / address) as strip:
        shades = [strip.convert("L").getpixel((width * k + width // 2, 36)) for k in range(frames)]
    assert shades == pytest.approx([6 * index for index in seen["at"]], abs=6)
    text = page.read_text(encoding="utf-8")
    assert "1 clip has no picture" in text
    assert re.search(r"pairs|v2t", text)


def test_the_sampler_and_the_number_of_pictures_are_settings(words: list[str]) -> None:
    more = ["sampler.num_frames=3", "strips=1", "limit=2"]
    page = report_dataset(compose([*words, *more], "report"))
    assert len(data(page, "index")["samples"]["id"]) == 2
    assert len(data(page, "pictures")["table"]) <= 1
    frames = data(page, "details-0")["frames"]
    assert [len(seen["at"]) for seen in frames] in ([3], [])
    text = page.read_text(encoding="utf-8")
    assert "1 of 2 clips have pictures" in text
    assert "2 of 3 samples are shown" in text


def test_a_second_report_draws_no_strip_again(words: list[str]) -> None:
    page = report_dataset(compose(words, "report"))
    before = {file: file.stat().st_mtime_ns for file in (page.parent / "frames").iterdir()}
    report_dataset(compose(words, "report"))
    assert {f: f.stat().st_mtime_ns for f in (page.parent / "frames").iterdir()} == before
    assert len(before) == 2


def test_the_command_names_its_page(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(["report", *words[:-1]]) == 0
    assert capsys.readouterr().out == "outputs/reports/table/report.html\n"
    assert main(["report", *words[:-1], "--out", "mine"]) == 0
    assert (tmp_path / "mine" / "report.html").is_file()


def test_a_dataset_that_is_not_built_says_so(tmp_path: Path) -> None:
    words = ["dataset=velociti/toy", f"dataset.root={tmp_path}/none", f"out={tmp_path}"]
    with pytest.raises(DataError, match="not built") as caught:
        report_dataset(compose(words, "report"))
    assert "vbench build" in caught.value.mend
