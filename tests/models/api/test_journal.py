from __future__ import annotations

import math
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from vbench.models.api.journal import Journal, Said
from vbench.records import Reply

REPLY = Reply("refused", "no", "prompt é\U0001f600", "text", (-1.0, math.nan), ((1, 2), ()), 10, 3,
              (4, 5, 6), 7, "stop", "", "v-1", 0.25)  # fmt: skip


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    said = Said(Reply(**{**_fields(REPLY), "log_probs": (), "token_ids": ()}), {" A": -0.5})
    journal = Journal(tmp_path / "deep" / "replies.sqlite")
    journal.put("k", said)
    again = Journal(tmp_path / "deep" / "replies.sqlite")
    assert again.get(["k", "other", "k"]) == {"k": said}
    assert again.get(map(str, range(1200))) == {}


def _fields(reply: Reply) -> dict[str, object]:
    return {name: getattr(reply, name) for name in Reply.__slots__}


def test_the_first_reply_stands(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    journal.put("k", Said(Reply(text="first")))
    journal.put("k", Said(Reply(text="second")))
    assert journal.get(["k"])["k"].reply.text == "first"


def test_a_kill_right_after_put_loses_nothing(tmp_path: Path) -> None:
    code = f"""
import os, signal
from pathlib import Path
from vbench.models.api.journal import Journal, Said
from vbench.records import Reply
journal = Journal(Path({str(tmp_path / "j")!r}))
for n in range(5):
    journal.put(str(n), Said(Reply(text=str(n))))
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert (
        subprocess.run([sys.executable, "-c", code], check=False, timeout=300).returncode
        == -signal.SIGKILL
    )
    assert len(Journal(tmp_path / "j").get(map(str, range(9)))) == 5


def test_no_journal_keeps_nothing() -> None:
    journal = Journal(None)
    journal.put("k", Said(Reply()))
    assert journal.get(["k"]) == {}


def test_trouble_is_told_once_and_ends_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "j"
    file.write_bytes(b"no database" * 200)
    journal = Journal(file)
    journal.put("k", Said(Reply()))
    assert journal.get(["k"]) == {}
    assert capsys.readouterr().err.count("not kept") == 1
    assert file.stat().st_size == 2200
