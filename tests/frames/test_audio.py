"""Sound: the right seconds of it, mono, 16 kHz."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest

from vbench.errors import DecodeError
from vbench.frames.audio import RATE_HZ, read_audio
from vbench.frames.source import open_source

FPS, SECONDS, RATE = 10, 4, 44_100


def write(path: Path, *, sound: bool) -> Path:
    """Writes four seconds of grey; the first two sound at 440 Hz, the others at 880, in stereo."""
    with av.open(str(path), "w") as container:
        video = container.add_stream("libx264", rate=FPS)
        video.width = video.height = 64
        video.pix_fmt = "yuv420p"
        audio = container.add_stream("aac", rate=RATE, layout="stereo") if sound else None
        for _ in range(FPS * SECONDS):
            grey = np.full((64, 64, 3), 90, np.uint8)
            container.mux(video.encode(av.VideoFrame.from_ndarray(grey, "rgb24")))
        container.mux(video.encode(None))
        if audio is not None:
            times = np.arange(RATE * SECONDS) / RATE
            tone = 0.5 * np.sin(2 * np.pi * np.where(times < 2, 440, 880) * times)
            for start in range(0, len(tone), 1024):
                both = np.stack([tone[start : start + 1024]] * 2).astype(np.float32)
                frame = av.AudioFrame.from_ndarray(both, "fltp", "stereo")
                frame.rate, frame.pts = RATE, start
                container.mux(audio.encode(frame))
            container.mux(audio.encode(None))
    return path


def pitch(sound: np.ndarray) -> float:
    return float(np.argmax(np.abs(np.fft.rfft(sound))) * RATE_HZ / len(sound))


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("sound") / "a.mp4", sound=True)


@pytest.mark.parametrize(
    ("start", "end", "hertz"), [(0.0, 1.9, 440), (2.1, 3.9, 880), (2.5, None, 880)]
)
def test_the_sound_is_that_of_the_span(
    film: Path, start: float, end: float | None, hertz: float
) -> None:
    sound = read_audio(str(film), start, end)
    assert sound.dtype == np.float32
    assert len(sound) / RATE_HZ == pytest.approx((end or SECONDS) - start, abs=0.06)
    assert pitch(sound) == pytest.approx(hertz, abs=2)
    assert 0.3 < np.abs(sound).max() < 0.8


def test_the_whole_is_its_parts(film: Path) -> None:
    whole = read_audio(str(film))
    parts = [read_audio(str(film), 0.0, 1.5), read_audio(str(film), 1.5, None)]
    assert np.array_equal(np.concatenate(parts), whole)


def test_beyond_the_end_it_is_silent(film: Path) -> None:
    assert not read_audio(str(film), 5.0, 6.0).any()
    assert len(read_audio(str(film), 5.0, 6.0)) == RATE_HZ


def test_a_silent_film_has_no_sound(tmp_path: Path, film: Path) -> None:
    silent = write(tmp_path / "b.mp4", sound=False)
    assert len(read_audio(str(silent))) == 0
    assert not open_source(str(silent)).timeline.has_audio
    assert open_source(str(film)).timeline.has_audio


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(DecodeError, match="no such"):
        read_audio(str(tmp_path / "none.mp4"))
