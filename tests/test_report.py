"""`vbench report RUN…`: the page holds what the run folder holds, and nothing in it can act."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from PIL import Image

from vbench.cli import main
from vbench.errors import RunError
from vbench.report import report_runs
from vbench.results.progress import progress

Evaluate = Callable[..., Path]

HOSTILE = (
    "<script>document.title = 'taken'</script>",
    "</script><script>document.title = 'taken'</script>",
    '"><img src=x onerror="document.title = \'taken\'">',
    "<!--<script>",
    "abc\u202etxt.exe\u2066",
    "a\x00b\x1b[2J\x7f",
    "{{ 7 * 7 }} {% raw %} ${1} \u2028 &lt;b&gt;",
)


class Page(HTMLParser):
    """A page as a browser reads it: its elements, its data, its words."""

    def __init__(self, file: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.data: dict[str, Any] = {}
        self.words = ""
        self._inside = ""
        self.source = file.read_text(encoding="utf-8")
        self.feed(self.source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = dict(attrs).get("id") or tag if tag == "script" else tag

    def handle_data(self, data: str) -> None:
        if self.lasttag == "script" and self._inside not in ("script", ""):
            self.data[self._inside] = json.loads(data, parse_constant=pytest.fail)
        elif self.lasttag not in ("script", "style"):
            self.words += data
        self._inside = ""


@pytest.fixture(scope="module")
def runs(
    evaluate_rows: Evaluate,
    write_grey: Callable[..., None],
    tmp_path_factory: pytest.TempPathFactory,
) -> list[Path]:
    """Two runs over hostile captions: one that sees frames, one that sees none."""
    root = tmp_path_factory.mktemp("videos")
    name = '"><img src=x onerror=alert(1)>.mp4'
    write_grey(root / name)
    (root / "broken.mp4").write_bytes(b"garbage")
    rows = [
        {"id": f"<b>{n}", "video": name, "positive": text, "negative": "a dog", "level": text}
        for n, text in enumerate(HOSTILE)
    ]
    rows.append({**rows[0], "id": "lost", "video": "broken.mp4", "positive": "a cat " * 99})
    words = ["dataset.group_by=[level]", f"dataset.root={root}"]
    seeing = ["model=toy/clip", "sampler=uniform_midpoints", "sampler.num_frames=4"]
    return [evaluate_rows(rows, *words, *seeing), evaluate_rows(rows, *words)]


@pytest.fixture(scope="module")
def page(runs: list[Path]) -> Page:
    return Page(report_runs([str(runs[0])]))


def test_the_page_lies_in_the_run_folder_and_is_complete(runs: list[Path], page: Page) -> None:
    assert (runs[0] / "report.html").is_file()
    tests = json.loads((runs[0] / "summary.json").read_text())["tests"]
    own = tests["table"]
    for wanted in (f"{100 * own['value']:.1f}", f"{100 * own['ci_low']:.1f}", "1 recorded"):
        assert wanted in page.words
    for wanted in ("decode_error", "sampler.num_frames", "model=toy/clip", "packages.torch"):
        assert wanted in page.words


def test_what_the_browser_holds_is_what_is_stored(runs: list[Path], page: Page) -> None:
    index, records = page.data["index"], pd.read_parquet(runs[0] / "records.parquet")
    details = page.data["details-0"]
    assert index["samples"]["id"] == list(records.sample_id)
    signs = {"right": "r", "wrong": "w", "tie": "t", "unscored": "u"}
    assert index["answers"][0]["outcomes"] == "".join(signs[o] for o in records.outcome)
    assert index["answers"][0]["truncated"] == [n for n, cut in enumerate(records.truncated) if cut]
    for n, record in enumerate(records.itertuples()):
        texts = [index["strings"][place] for place in index["samples"]["texts"][n]]
        assert texts == list(record.texts)
        (answer,) = details["rows"][n]
        assert ("scores" in answer) is (record.status == "ok")
        if record.status == "ok":
            assert answer["scores"] == pytest.approx(list(record.scores), rel=1e-5)
            seen = details["frames"][answer["frames"][0]]
            assert seen["at"] == list(record.frame_indices[0])
            assert seen["s"] == pytest.approx(list(record.timestamps_s[0]), abs=1e-3)
    last = details["rows"][-1][0]
    assert index["statuses"][index["answers"][0]["statuses"][-1]] == "decode_error"
    assert last["reason"] == records.reason.iloc[-1]


def test_pictures_are_the_frames_that_were_seen(runs: list[Path], page: Page) -> None:
    (picture,) = page.data["pictures"]["table"]
    address, frames, width, height = picture
    assert (frames, width, height) == (4, 96, 72)
    key = pd.read_parquet(runs[0] / "records.parquet").clip_keys.iloc[0][0]
    assert address == f"frames/{key}.jpg"
    with Image.open(runs[0] / address) as strip:
        shades = [strip.convert("L").getpixel((width * k + 48, 36)) for k in range(4)]
    at = page.data["details-0"]["frames"][0]["at"]
    assert shades == pytest.approx([6 * index for index in at], abs=6)
    assert page.data["pictures"]["thumbs"] == [0] * len(HOSTILE) + [-1]


def test_nothing_of_a_dataset_becomes_markup(page: Page) -> None:
    scripts = [attributes for tag, attributes in page.tags if tag == "script"]
    assert [a.get("type") for a in scripts].count("application/json") == len(scripts) - 1
    assert page.source.count("<script") == page.source.count("</script>") == len(scripts)
    assert "<!--" not in page.source
    for tag, attributes in page.tags:
        assert tag not in ("img", "b", "iframe", "object", "link")
        assert not any(name.startswith("on") for name in attributes), tag
    unseen = [c for c in page.source if not c.isprintable() and c != "\n"]
    assert unseen == []
    index = page.data["index"]
    assert set(HOSTILE) <= set(index["strings"])
    assert "{{ 7 * 7 }}" in page.words


def test_the_policy_names_the_very_script(page: Page) -> None:
    import base64
    import hashlib

    (policy,) = (a["content"] for t, a in page.tags if t == "meta" and "http-equiv" in a)
    script = page.source.rpartition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in str(policy)
    assert "default-src 'none'" in str(policy)


def test_several_runs_stand_side_by_side(runs: list[Path], tmp_path: Path) -> None:
    found = Page(report_runs([str(run) for run in runs], str(tmp_path / "mine.html")))
    index = found.data["index"]
    assert index["runs"] == ["toy/clip", "oracle/random"]
    assert [len(answer["outcomes"]) for answer in index["answers"]] == [len(HOSTILE) + 1] * 2
    assert "At a glance" in found.words
    (picture,) = found.data["pictures"]["table"]
    assert (tmp_path / picture[0]).resolve().is_file()
    assert "model.seed" in found.words


def test_runs_of_other_samples_are_not_mixed(
    evaluate_rows: Evaluate, tmp_path: Path, runs: list[Path]
) -> None:
    row = {"id": "1", "positive": "a cat", "negative": "a dog"}
    one = evaluate_rows([row, {**row, "id": "2"}])
    other = evaluate_rows([row, {**row, "id": "2", "negative": "a cow"}], "model.seed=1")
    found = Page(report_runs([str(one), str(other)], str(tmp_path)))
    assert found.data["index"]["samples"]["id"] == ["1", "2", "2"]
    assert [a["outcomes"].find("-") for a in found.data["index"]["answers"]] == [2, 1]
    assert "2 samples are not in all runs" in found.words


def test_what_is_drawn_of_many_runs_is_said(evaluate_rows: Evaluate, tmp_path: Path) -> None:
    row = {"id": "1", "positive": "a cat", "negative": "a dog"}
    one = evaluate_rows([row])
    for k in range(11):
        shutil.copytree(one, tmp_path / f"run{k}")
    config = (one / "config.yaml").read_text()
    word = "- model.base_url=https://me:PLANTED@host/v1?api_key=PLANTED"
    planted = config.replace("overrides:\n", f"overrides:\n  {word}\n")
    assert planted != config
    (tmp_path / "run0" / "config.yaml").write_text(planted)
    page = Page(report_runs([str(tmp_path)]))
    assert "model.base_url=https://host/v1?api_key=…" in page.words
    assert "PLANTED" not in page.source
    assert page.words.count("Of the first 10 of 11 runs.") == 2
    assert "each of the 11 runs: 100 % of 1 samples answered" in page.words
    assert "Commands of 11 runs" in page.words
    assert "vbench evaluate dataset=table" in page.words
    assert "++" not in page.words


def test_a_sweep_is_reported_while_it_goes_on(
    evaluate_rows: Evaluate, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"id": "1", "positive": "a cat", "negative": "a dog"}
    shutil.copytree(evaluate_rows([row]), tmp_path / "sweep" / "a")
    shutil.copytree(tmp_path / "sweep" / "a", tmp_path / "sweep" / "b")
    (tmp_path / "sweep" / "b" / "summary.json").unlink()
    assert main(["report", str(tmp_path / "sweep")]) == 0
    file = tmp_path / "sweep" / "report.html"
    assert capsys.readouterr().out == f"{file}\n"
    assert "not finished, and left out" in Page(file).words
    with pytest.raises(RunError, match="no finished run") as caught:
        report_runs([str(tmp_path / "sweep" / "b")])
    assert "vbench status" in caught.value.mend
    total = progress(tmp_path / "sweep" / "b").total
    assert total
    assert caught.value.why == f"interrupted, {total} of {total} answers"
    (tmp_path / "none").mkdir()
    with pytest.raises(RunError, match="no finished run") as caught:
        report_runs([str(tmp_path / "none")])
    assert caught.value.why == f"{tmp_path / 'none'} holds no run"


def test_a_file_that_has_changed_gives_no_picture(
    runs: list[Path], tmp_path: Path, write_grey: Callable[..., None]
) -> None:
    shutil.copytree(runs[0], tmp_path / "run", ignore=shutil.ignore_patterns("frames"))
    records = pd.read_parquet(runs[0] / "records.parquet")
    video = Path(records.clip_paths.iloc[0][0])
    before = video.read_bytes()
    write_grey(video, first=60)
    try:
        found = Page(report_runs([str(tmp_path / "run")]))
    finally:
        video.write_bytes(before)
    assert "the file has changed since the run" in found.words
    assert found.data["pictures"]["table"] == []


def test_the_browser_may_hold_fewer_samples(runs: list[Path], tmp_path: Path) -> None:
    found = Page(report_runs([str(runs[1])], str(tmp_path), most=3, strips=False))
    assert len(found.data["index"]["samples"]["id"]) == 3
    assert f"3 of {len(HOSTILE) + 1} samples" in found.words
    n = json.loads((runs[1] / "summary.json").read_text())["tests"]["table"]["n"]
    assert n == len(HOSTILE) + 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["report"], "vbench report takes runs"),
        (["report", "nowhere"], "no such run folder"),
        (["report", "x", "--samples=few"], "--samples is a number"),
        (["report", "dataset=velociti/tyo"], "did you mean 'velociti/toy'"),
        (["report", "dataset=velociti/toy", "limt=3"], "did you mean 'limit'"),
        (["report", "dataset=velociti/toy", "--samples=3"], "limit=N and strips=N"),
    ],
)
def test_misuse_is_explained(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(words) == 1
    assert said in capsys.readouterr().err


def test_its_help_says_what_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--help"]) == 0
    assert "vbench report dataset=" in capsys.readouterr().out
