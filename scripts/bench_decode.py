"""CPU seconds to read N frames of a clip: planned against sequential decoding, and other libraries.

    python scripts/bench_decode.py [--rounds 7] [--only-ours]

Clips are made here: 640x360, 10 s, 25 frames a second, a grainy moving scene in H.264 (x264 medium,
crf 23, three B-frames) with 1, 6 and 24 keyframes. Frames are the midpoints of N equal segments,
read at full size as RGB. A reading is opening the file and reading the frames, one decoder thread;
every method reads every clip once before anything is timed, and there its pixels are compared.
Methods take turns within a round; figures are medians over rounds of the process's CPU time.

Expected: planned at most 1.05 times sequential in every cell, and at least twice as fast where
keyframes allow it: where at most 30 % of the packets are needed (`allowed`: 6 keyframes at N = 4;
24 keyframes at N = 4, 8 and 16); pixels identical. Elsewhere what can be saved is B-pictures, which
are the cheapest. The last line is one JSON object; exit code 1 if not as expected. torchcodec,
decord and OpenCV join where they import.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from PIL import Image

from vbench.frames.rules import uniform_midpoints
from vbench.frames.video import VideoFile, probe

COUNT, FPS, WIDTH, HEIGHT = 250, 25, 640, 360
KEYFRAMES, SIZES = (1, 6, 24), (4, 8, 16, 32)
SLOWEST, FASTER, ENOUGH_SAVED = 1.05, 2.0, 0.30

GRAIN = 5
MESH, BICUBIC = Image.Transform.MESH, Image.Resampling.BICUBIC

Reading = Callable[[str, list[int]], np.ndarray]


def texture(rng: np.random.Generator, width: int, height: int) -> Image.Image:
    """Returns smooth noise of many scales, as natural pictures have it."""
    layers = np.zeros((height, width, 3))
    for cell in (2, 4, 8, 16, 32, 64, 128):
        noise = rng.normal(128, 50, (height // cell + 2, width // cell + 2, 3)).clip(0, 255)
        smooth = Image.fromarray(noise.astype(np.uint8)).resize((width, height), BICUBIC)
        layers += cell**0.8 * (np.asarray(smooth) - 128.0)
    return Image.fromarray((128 + layers * (50 / layers.std())).clip(0, 255).astype(np.uint8))


def scene() -> list[np.ndarray]:
    """Returns frames of a pan over a ground that ripples, things moving across it, film grain."""
    rng = np.random.default_rng(7)
    ground = texture(rng, 2 * WIDTH, 2 * HEIGHT)
    things = [(texture(rng, 130, 100), *rng.uniform(0.02, 0.09, (2, 2))) for _ in range(3)]
    corners = np.stack(np.meshgrid(np.arange(0, WIDTH + 1, 40), np.arange(0, HEIGHT + 1, 40)), -1)
    speed, phase = rng.uniform(0.1, 0.5, corners.shape), rng.uniform(0, 6, corners.shape)
    frames = []
    for number in range(COUNT):
        pan = 300 + 250 * np.sin(number / 60), 180 + 150 * np.cos(number / 45)
        source = corners + pan + rng.normal(0, 0.3, 2) + 4 * np.sin(speed * number + phase)
        mesh = [
            ((*corners[y, x], *corners[y + 1, x + 1]),
             (*source[y, x], *source[y + 1, x], *source[y + 1, x + 1], *source[y, x + 1]))
            for y in range(corners.shape[0] - 1) for x in range(corners.shape[1] - 1)
        ]  # fmt: skip
        picture = ground.transform((WIDTH, HEIGHT), MESH, mesh, BICUBIC)
        for thing, pace, start in things:
            x, y = (0.5 + 0.5 * np.sin(pace * number + 60 * start)) * (WIDTH - 130, HEIGHT - 100)
            picture.paste(thing, (int(x), int(y)))
        lit = np.asarray(picture) * (1 + 0.05 * np.sin(number / 9))
        frames.append((lit + rng.normal(0, GRAIN, lit.shape)).clip(0, 255).astype(np.uint8))
    return frames


def encode(path: str, frames: list[np.ndarray], keyframes: int) -> None:
    """Writes a clip with evenly spaced keyframes, each of them closed."""
    keys = {round(i * COUNT / keyframes) for i in range(keyframes)}
    options = {"preset": "medium", "crf": "23", "bf": "3", "g": "9999", "sc_threshold": "0"}
    with av.open(path, "w") as output:
        stream: Any = output.add_stream("libx264", rate=FPS, options=options | {"forced-idr": "1"})
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        for number, pixels in enumerate(frames):
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, FPS)
            frame.pict_type = 1 if number in keys else 0  # I, or as the encoder likes
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))


def ours(planned: bool) -> Reading:
    def read(path: str, indices: list[int]) -> np.ndarray:
        return np.stack([frame.pixels for frame in VideoFile(path, planned).frames(indices)])

    return read


def torchcodec_reading(mode: str) -> Reading:
    decoders = importlib.import_module("torchcodec.decoders")

    def read(path: str, indices: list[int]) -> np.ndarray:
        decoder = decoders.VideoDecoder(
            path, num_ffmpeg_threads=1, seek_mode=mode, dimension_order="NHWC"
        )
        return decoder.get_frames_at(indices).data.numpy()

    return read


def decord_reading() -> Reading:
    decord = importlib.import_module("decord")

    def read(path: str, indices: list[int]) -> np.ndarray:
        return decord.VideoReader(path, num_threads=1).get_batch(indices).asnumpy()

    return read


def opencv_reading() -> Reading:
    cv2 = importlib.import_module("cv2")

    def read(path: str, indices: list[int]) -> np.ndarray:
        video = cv2.VideoCapture(path, cv2.CAP_FFMPEG, [cv2.CAP_PROP_N_THREADS, 1])
        wanted, found = set(indices), []
        for index in range(max(indices) + 1):
            video.grab()
            if index in wanted:
                found.append(video.retrieve()[1][..., ::-1])
        return np.stack(found)

    return read


def rivals() -> tuple[dict[str, Reading], dict[str, str]]:
    """Returns the libraries that import, and why the others do not."""
    makers: dict[str, Callable[[], Reading]] = {
        "torchcodec_exact": lambda: torchcodec_reading("exact"),
        "torchcodec_approximate": lambda: torchcodec_reading("approximate"),
        "decord": decord_reading,
        "opencv": opencv_reading,
    }
    found, absent = {}, {}
    for name, make in makers.items():
        try:
            found[name] = make()
        except ModuleNotFoundError:
            absent[name] = "not installed"
        except Exception as error:
            absent[name] = f"does not load: {type(error).__name__}"
    return found, absent


def measure(path: str, n: int, readings: dict[str, Reading], rounds: int) -> dict[str, Any]:
    """Times one cell."""
    indices = uniform_midpoints(COUNT, n)
    right = readings["sequential"](path, indices)
    off = {}
    for name, reading in readings.items():
        off[name] = int(np.abs(reading(path, indices).astype(int) - right).max())
    times: dict[str, list[float]] = {name: [] for name in readings}
    names = list(readings)
    for number in range(rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            start = time.process_time()
            readings[name](path, indices)
            times[name].append(time.process_time() - start)
    medians = {name: statistics.median(values) for name, values in times.items()}
    return {
        "n": n,
        "packets": packets(path, indices),
        "cpu_ms": {name: round(1000 * value, 1) for name, value in medians.items()},
        "over_planned": {name: round(v / medians["planned"], 2) for name, v in medians.items()},
        "planned_over_sequential": round(medians["planned"] / medians["sequential"], 3),
        "max_pixel_difference": off,
    }


def packets(path: str, indices: list[int]) -> int:
    """Returns how many packets a plan decodes."""
    known = probe(path)
    if known.dependencies is None or known.ticks is None:
        raise SystemExit(f"{path} is not planned: nothing to measure")
    return len(known.dependencies.packets_for([known.ticks[index] for index in indices]))


def main() -> int:
    parser = argparse.ArgumentParser(description="planned against sequential decoding")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only-ours", action="store_true", help="leave other libraries out")
    given = parser.parse_args()
    others, absent = ({}, {}) if given.only_ours else rivals()
    readings = {"planned": ours(True), "sequential": ours(False), **others}
    cells, frames = [], scene()
    with tempfile.TemporaryDirectory() as folder:
        for keyframes in KEYFRAMES:
            path = str(Path(folder, f"{keyframes}.mp4"))
            encode(path, frames, keyframes)
            print(f"{keyframes} keyframes, {Path(path).stat().st_size / 1e6:.1f} MB", flush=True)
            for n in SIZES:
                cell = {"keyframes": keyframes, **measure(path, n, readings, given.rounds)}
                cells.append(cell)
                print("  ", json.dumps(cell), flush=True)
    for cell in cells:
        cell["allowed"] = cell["packets"] <= ENOUGH_SAVED * COUNT
    slow = [c for c in cells if c["planned_over_sequential"] > SLOWEST]
    weak = [c for c in cells if c["allowed"] and c["planned_over_sequential"] > 1 / FASTER]
    wrong = [c for c in cells if c["max_pixel_difference"]["planned"]]
    result = {
        "bench": "decode",
        "rounds": given.rounds,
        "cells": cells,
        "not_measured": absent,
        "cells_slower_than_1.05x": len(slow),
        "cells_below_2x_where_allowed": len(weak),
        "cells_with_wrong_pixels": len(wrong),
        "ok": not (slow or weak or wrong),
    }
    print(json.dumps(result))
    return 0 if result["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
