"""The files are real H.264, whole, in order, and the same every time."""

import hashlib
from pathlib import Path

import av
import numpy as np
import pytest

from vbench.datasets.toy import video
from vbench.datasets.toy.render import render_frames
from vbench.datasets.toy.video import write_mp4, write_videos
from vbench.datasets.toy.world import benchmark_clip, training_clip


def test_file_is_ten_seconds_of_h264(tmp_path: Path) -> None:
    clip = benchmark_clip(0, 0)
    path = write_mp4(clip, tmp_path / "clip.mp4")
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert stream.codec_context.name == "h264"
        assert stream.codec_context.pix_fmt == "yuv420p"
        assert (stream.frames, stream.average_rate, stream.width, stream.height) == (
            120,
            12,
            128,
            128,
        )
        assert container.duration == 10_000_000
        assert container.size < 60_000
        frames = np.stack([f.to_ndarray(format="rgb24") for f in container.decode(stream)])
    # Lossy, but each frame is nearer to its own picture than to the one before or after, where
    # these differ: none is dropped, doubled or moved.
    drawn = np.stack(list(render_frames(clip))).astype(int)

    def errors(ours: slice, theirs: slice) -> np.ndarray:
        return np.abs(frames[ours].astype(int) - drawn[theirs]).mean(axis=(1, 2, 3))

    now, before, after = slice(1, -1), slice(None, -2), slice(2, None)
    assert errors(now, now).max() < 6
    for other in (before, after):
        moved = np.abs(drawn[now] - drawn[other]).mean(axis=(1, 2, 3)) > 1
        assert moved.sum() > 40
        assert (errors(now, now) < errors(now, other))[moved].all()


def test_same_clip_same_bytes(tmp_path: Path) -> None:
    digests = {
        hashlib.sha256(write_mp4(training_clip(5), tmp_path / name).read_bytes()).hexdigest()
        for name in ("a.mp4", "b.mp4")
    }
    assert len(digests) == 1
    other = write_mp4(training_clip(6), tmp_path / "c.mp4").read_bytes()
    assert hashlib.sha256(other).hexdigest() not in digests


def test_failed_write_leaves_nothing_and_spares_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "clip.mp4"
    path.write_bytes(b"older")

    def broken(clip: object) -> object:
        yield next(render_frames(training_clip(0)))
        raise OSError("disk full")

    monkeypatch.setattr(video, "render_frames", broken)
    with pytest.raises(OSError, match="disk full"):
        write_mp4(training_clip(0), path)
    assert path.read_bytes() == b"older"
    assert list(tmp_path.iterdir()) == [path]


def test_many_files_on_two_processes_equal_those_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(video, "WORTH_A_POOL", 6)
    clips = [training_clip(index) for index in range(6)]  # more than one process takes at a time
    paths = list(write_videos(clips, tmp_path / "two", workers=2))
    assert paths == [tmp_path / "two" / f"{clip.video_id}.mp4" for clip in clips]
    assert sorted(paths) == sorted((tmp_path / "two").iterdir())
    alone = list(write_videos(clips[3:4], tmp_path / "one", workers=1))
    assert alone[0].read_bytes() == paths[3].read_bytes()
