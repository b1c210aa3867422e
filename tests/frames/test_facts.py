"""What is known of a file before it is evaluated (tests/test_doctor.py: what is made of it)."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from vbench.frames.facts import facts_of


def test_facts_of_an_ordinary_file(studio: Any) -> None:
    path = studio.video("b_frames.mp4", options={"g": "12", "bf": "3"})
    facts = facts_of(path)
    assert facts.size == Path(path).stat().st_size
    assert (facts.codec, facts.frames, facts.duration_s, facts.fps) == ("h264", 48, 2.0, 24.0)
    assert (facts.width, facts.height) == (96, 64)
    assert "mp4" in facts.container.split(",")
    assert (facts.decoded, facts.repeats) == (3, 0)
    assert facts.fault is None
    assert not facts.disguise
    assert not facts.variable_rate
    assert facts_of(path, decode="all").decoded == 48


@pytest.mark.parametrize("suffix", ["mkv", "flv"])
def test_rounded_times_are_no_variable_rate(studio: Any, suffix: str) -> None:
    """Matroska and FLV store milliseconds: frames are 41 and 42 ms apart."""
    path = studio.video(f"rounded.{suffix}")
    assert not facts_of(path).variable_rate


def test_a_dropped_frame_is_a_variable_rate(studio: Any) -> None:
    path = studio.video("dropped.mp4", ticks=[t for t in range(49) if t != 20])
    assert facts_of(path).variable_rate


@pytest.mark.parametrize(
    ("name", "codec"),
    [
        ("fine.webm", "libvpx-vp9"),
        ("fine.avi", "mpeg4"),
        ("fine.mov", "libx264"),
        ("fine.ts", "libx264"),
        ("fine.gif", "gif"),
        ("no_ending", "libx264"),
        ("FINE.MP4", "libx264"),
    ],
)
def test_names_that_fit(studio: Any, name: str, codec: str) -> None:
    container = "mp4" if name in ("no_ending", "FINE.MP4") else None
    pixels = {"pixel_format": "rgb8"} if codec == "gif" else {}
    path = studio.video(name, codec, count=6, container=container, **pixels)
    facts = facts_of(path)
    assert facts.disguise == ""
    assert facts.readable


def test_spans_without_a_frame_are_named(studio: Any) -> None:
    path = studio.video("slides.mkv", count=5, ticks=[0, 120, 240, 360, 480])
    spans = [(0.0, None), (1.0, 4.0), (4.0, 6.0), (3.0, 2.0), (float("nan"), 1.0)]
    empty = facts_of(path, spans).empty_spans
    assert [span for span, _ in empty][:2] == [(1.0, 4.0), (3.0, 2.0)]
    assert len(empty) == 3
    assert "no frame is shown between 1.0 s and 4.0 s" in empty[0][1].what


@pytest.mark.parametrize("name", ["x" * 300, "a\0b.mp4", "not_utf8_\udcff.mp4", "no/such/folder"])
def test_names_that_cannot_be_opened(name: str, tmp_path: Path) -> None:
    facts = facts_of(str(tmp_path / name))
    assert facts.fault is not None
    assert (facts.readable, facts.size) == (False, 0)


def test_facts_travel_between_processes(tmp_path: Path) -> None:
    facts = facts_of(str(tmp_path / "none.mp4"))
    assert facts.missing
    copy = pickle.loads(pickle.dumps(facts))  # noqa: S301
    assert copy.missing
    assert str(copy.fault) == str(facts.fault)
