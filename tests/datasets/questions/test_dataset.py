"""`dataset=questions`: a user's annotations become questions from the command line."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from vbench.datasets.questions.dataset import Questions
from vbench.errors import ConfigError, DataError
from vbench.schema import compose, instantiate


@pytest.fixture
def table(tmp_path: Path) -> Path:
    file = tmp_path / "events.csv"
    with file.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["video", "film", "agent", "action"])
        for n in range(24):
            writer.writerow([f"{n // 2}.mp4", f"film {n // 8}", "abcdefgh"[n % 8], f"act {n % 2}"])
    return file


def test_annotations_become_questions(table: Path) -> None:
    words = [
        "dataset=questions",
        f"dataset.file={table}",
        "dataset.cluster=film",
        "+dataset.templates.who.question='Who does {action}?'",
        "+dataset.templates.who.answer='{agent}'",
    ]
    samples = instantiate(compose(words), "dataset").samples()
    assert len(samples) == 24
    first = samples[0]
    assert (first.test, first.question, first.cluster) == ("who", "Who does act 0?", "film 0")
    assert first.texts[first.target] == "a"
    assert first.clips[0].path == str(table.parent / "0.mp4")
    assert samples == instantiate(compose(words), "dataset").samples()


@pytest.mark.parametrize(
    ("templates", "said"),
    [
        ({}, "no question"),
        ({"who": {"question": "x"}}, "needs its answer"),
        ({"who": {"question": "x", "answer": "{agent}", "option": 3}}, "no 'option'"),
        ({"who": {"question": "x", "answer": "{agnet}"}}, "'agnet'"),
    ],
)
def test_what_is_wrong_with_templates_is_told(
    table: Path, templates: dict[str, dict[str, object]], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        Questions(str(table), templates).samples()


def test_videos_stay_in_their_folder(tmp_path: Path) -> None:
    file = tmp_path / "e.csv"
    rows = "\n".join(f"../{n}.mp4,{'abcd'[n % 4]}" for n in range(8))
    file.write_text(f"video,agent\n{rows}\n")
    with pytest.raises(DataError, match="outside"):
        Questions(str(file), {"who": {"question": "Who?", "answer": "{agent}"}}).samples()
