"""Writes clips of the toy world as H.264 files, one by one or on all cores."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import av
import numpy as np

from vbench.datasets.toy.render import FPS, SIZE, render_frames
from vbench.datasets.toy.world import ToyClip

# Fast enough to write hundreds of clips while somebody waits; about 30 kB each.
ENCODER_OPTIONS = {"preset": "veryfast", "crf": "23"}
WORTH_A_POOL = 16
"""Fewer clips than this are written sooner than worker processes start."""


def write_mp4(clip: ToyClip, path: Path) -> Path:
    """Writes a clip: H.264, yuv420p, `render.FPS` frames a second, 120 frames.

    The file appears whole or not at all. Within one environment the same clip gives the same bytes;
    another version of the encoder may give others.

    Returns:
        `path`.
    """
    return write_pictures(render_frames(clip), path)


def write_pictures(pictures: Iterable[np.ndarray], path: Path) -> Path:
    """Writes pictures, each uint8 (h w 3) RGB of `render.SIZE`, as `write_mp4` does.

    Returns:
        `path`.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        _encode(pictures, unfinished)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return path


def write_videos(
    clips: Sequence[ToyClip], folder: Path, *, workers: int | None = None
) -> Iterator[Path]:
    """Writes `<folder>/<video_id>.mp4` for each clip and yields each path, in order, once written.

    Nothing is written until the iterator is consumed.

    Args:
        clips: The clips.
        folder: Where to; made if missing.
        workers: Processes; None for one per usable core, 1 for none but this.
    """
    folder.mkdir(parents=True, exist_ok=True)
    workers = workers or _usable_cores()
    write = partial(_write_into, folder)
    if workers == 1 or len(clips) < WORTH_A_POOL:
        yield from map(write, clips)
        return
    # Spawned, not forked: the caller may hold threads of torch or of a logger.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        yield from pool.map(write, clips, chunksize=4)


def _usable_cores() -> int:
    # Only Linux says which cores a container may use.
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _write_into(folder: Path, clip: ToyClip) -> Path:
    return write_mp4(clip, folder / f"{clip.video_id}.mp4")


def _encode(pictures: Iterable[np.ndarray], path: Path) -> None:
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=FPS, options=ENCODER_OPTIONS)
        stream.width = stream.height = SIZE
        stream.pix_fmt = "yuv420p"
        # With several threads the encoder's choices, and so the bytes, depend on the machine.
        stream.thread_count = 1
        for picture in pictures:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, "rgb24")))
        container.mux(stream.encode(None))
