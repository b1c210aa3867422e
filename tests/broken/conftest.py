"""A small set of good videos and captions, the run over it, and what breaks around it."""

from __future__ import annotations

import ctypes
import json
import os
import random
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image

import vbench
from vbench.results.run import Run

GOOD = {"positive": "a red ball rolls", "negative": "a blue ball rolls", "start": 0, "end": 2}
CONTROLS = {
    f"control {i} {start}": {"video": f"good_{i}.mp4", "start": start, "end": start + 1}
    for i in range(3)
    for start in (0, 1)
}


def film(path: Path, count: int = 48, codec: str = "libx264", **more: Any) -> bytes:
    """Encodes two seconds of moving noise."""
    size, form = more.get("size", (96, 64)), more.get("container")
    options = {"movflags": "faststart"} if path.suffix == ".mp4" else {}
    with av.open(str(path), "w", format=form, options=options) as output:
        stream: Any = output.add_stream(codec, rate=24, options={"g": "12"})
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        dice = np.random.default_rng(0)
        for _ in range(count):
            pixels = dice.integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)
            output.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        output.mux(stream.encode(None))
    return path.read_bytes()


def write_table(file: Path, rows: dict[str, dict[str, Any]]) -> None:
    """Writes pairs of captions; what a row leaves out is good."""
    lines = [json.dumps({"key": key, **GOOD, **row}) for key, row in rows.items()]
    file.write_text("\n".join(lines), encoding="utf-8")


def command(table: Path, run_dir: Path, *more: str) -> list[str]:
    """Returns the words of an evaluation of a table of pairs."""
    columns = ["dataset.start=start", "dataset.end=end", "dataset.id=key", "dataset.kind=pairs"]
    model = ["model=toy/clip", "sampler=uniform_midpoints", "sampler.num_frames=4"]
    here = ["trainer=cpu", "logger=none", "loader.cache=false", "loader.num_workers=0"]
    where = ["dataset=table", f"dataset.file={table}", f"run_dir={run_dir}"]
    return [*where, *columns, *model, *here, *more]


def evaluate(table: Path, run_dir: Path, *more: str) -> Run:
    """Evaluates a table of pairs."""
    run = vbench.evaluate(*command(table, run_dir, *more))
    assert run is not None
    return run


@contextmanager
def subject_to_permissions() -> Iterator[None]:
    """Takes from root, where that is who runs the tests, the right to read and write everything."""
    if os.geteuid():
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = struct.pack("Ii", 0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3, this thread
    before = ctypes.create_string_buffer(24)  # effective, permitted, inheritable, twice
    assert libc.capget(header, before) == 0
    effective, *rest = struct.unpack("6I", before.raw)
    assert libc.capset(header, struct.pack("6I", effective & ~0b111, *rest)) == 0
    try:
        yield  # without CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    finally:
        assert libc.capset(header, before) == 0


class Tools:
    """What the tests here share."""

    film = staticmethod(film)
    write_table = staticmethod(write_table)
    command = staticmethod(command)
    evaluate = staticmethod(evaluate)
    subject_to_permissions = staticmethod(subject_to_permissions)
    controls = CONTROLS


@pytest.fixture(scope="session")
def tools() -> Tools:
    return Tools()


@dataclass
class Material:
    """What broken files are made of, and those that take more than a line to make."""

    mp4: bytes
    mkv: bytes
    webm: bytes
    film: Callable[..., bytes] = film

    def pictures_zeroed(self, path: Path) -> None:
        data = bytearray(self.mp4)
        start = data.index(b"mdat") + 4
        data[start:] = bytes(len(data) - start)
        path.write_bytes(data)

    def middle_overwritten(self, path: Path) -> None:
        data = bytearray(self.mp4)
        start = data.index(b"mdat")
        third = (len(data) - start) // 3
        data[start + third : start + 2 * third] = random.Random(0).randbytes(third)
        path.write_bytes(data)

    def sound_only(self, path: Path) -> None:
        with av.open(str(path), "w") as output:
            stream: Any = output.add_stream("aac", rate=8000)
            frame = av.AudioFrame.from_ndarray(np.zeros((1, 8000), np.float32), "fltp", "mono")
            frame.sample_rate = 8000
            output.mux([*stream.encode(frame), *stream.encode(None)])

    def no_frames(self, path: Path) -> None:
        with av.open(str(path), "w") as output:
            stream: Any = output.add_stream("mpeg4", rate=24)
            stream.width, stream.height, stream.pix_fmt = 96, 64, "yuv420p"
            output.start_encoding()

    def gif(self, path: Path) -> None:
        pages = [Image.new("RGB", (64, 48), (i * 20, 0, 0)) for i in range(10)]
        pages[0].save(path, save_all=True, append_images=pages[1:], duration=100)


@pytest.fixture(scope="session")
def material(videos: Path) -> Material:
    codecs = {"mp4": "libx264", "mkv": "libx264", "webm": "libvpx"}
    return Material(*(film(videos / f"source.{kind}", codec=codecs[kind]) for kind in codecs))


@pytest.fixture(scope="session")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three good videos and the table controls.jsonl."""
    folder = tmp_path_factory.mktemp("broken")
    for i in range(3):
        film(folder / f"good_{i}.mp4", 48 + i)
    write_table(folder / "controls.jsonl", CONTROLS)
    return folder


@pytest.fixture(scope="session")
def clean_run(videos: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return evaluate(videos / "controls.jsonl", tmp_path_factory.mktemp("runs") / "clean")
