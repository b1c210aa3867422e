"""`sampler=native` chooses what transformers' own processors would choose."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vbench.errors import ConfigError, ModelError
from vbench.frames.native import NativeSampler
from vbench.frames.timeline import Span

LENGTHS = (4, 7, 10, 33, 100, 241, 3000)
CASES: dict[str, dict[str, Any]] = {
    "Qwen2VL": {"fps": 2.0, "min_frames": 4, "max_frames": 24},
    "Qwen3VL": {"fps": 2, "min_frames": 4, "max_frames": 24},
    "InternVL": {"num_frames": 4},
    "SmolVLM": {"fps": 1, "num_frames": 16},
    "VideoLlama3": {"fps": 1.0, "min_frames": 4, "max_frames": 16},
    "VideoLlava": {"num_frames": 4},
}
"""Real classes with settings that take effect on clips of a few seconds."""


def span(n: int, fps: float = 10.0) -> Span:
    return Span(tuple(i / fps for i in range(n)), fps, 0.0, n / fps)


def write(folder: Path, settings: dict[str, Any], name: str = "video_preprocessor_config") -> str:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(settings))
    return str(folder)


@pytest.mark.parametrize("name", CASES)
def test_the_rule_of_each_processor(name: str, tmp_path: Path) -> None:
    import transformers
    from transformers.video_utils import VideoMetadata

    processor = getattr(transformers, f"{name}VideoProcessor")(**CASES[name])
    processor.save_pretrained(tmp_path)
    sampler = NativeSampler(checkpoint=str(tmp_path))
    for n in LENGTHS:
        metadata = VideoMetadata(total_num_frames=n, fps=10.0, duration=n / 10)
        given = CASES[name] if name != "VideoLlama3" else {**CASES[name], "num_frames": None}
        settings = {"temporal_patch_size": getattr(processor, "temporal_patch_size", None), **given}
        expected = [int(i) for i in processor.sample_frames(metadata, **settings)]
        assert sampler(span(n)) == sorted(set(expected)), n
        assert sampler.frames_wanted(span(n)) == len(set(expected))


def test_settings_in_the_layout_of_newer_checkpoints(tmp_path: Path) -> None:
    nested = {"video_processor": {"video_processor_type": "X", "num_frames": 2}}
    sampler = NativeSampler(checkpoint=write(tmp_path, nested, "processor_config"))
    assert sampler(span(10)) == [0, 5]


def test_qwen_without_a_rate_takes_two_frames_a_second(tmp_path: Path) -> None:
    folder = write(tmp_path, {"image_processor_type": "Qwen2VLImageProcessor"})
    assert NativeSampler(checkpoint=folder)(span(40)) == [0, 5, 10, 15, 20, 25, 30, 35]


def test_a_checkpoint_without_a_rule(tmp_path: Path) -> None:
    folder = write(tmp_path, {"video_processor_type": "LlavaOnevisionVideoProcessor"})
    with pytest.raises(ConfigError, match="no rule for choosing frames") as caught:
        NativeSampler(checkpoint=folder)
    assert "sampler.num_frames=" in caught.value.mend
    with pytest.raises(ModelError, match="does not say how it processes videos"):
        NativeSampler(checkpoint=str(tmp_path.parent))


def test_the_digest_knows_the_numbers_and_not_the_path(tmp_path: Path) -> None:
    settings = {"video_processor_type": "SmolVLMVideoProcessor", "fps": 1, "num_frames": 4}
    first = NativeSampler(checkpoint=write(tmp_path / "a", settings))
    second = NativeSampler(checkpoint=write(tmp_path / "b", settings))
    third = NativeSampler(checkpoint=write(tmp_path / "c", {**settings, "fps": 2}))
    assert first.digest() == second.digest()
    assert third.digest() != first.digest()


def test_settings_of_a_hub_repository_come_from_its_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    repository, commit = tmp_path / "models--owner--tiny", "a" * 40
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(commit)
    (repository / "snapshots").mkdir()
    write(repository / "snapshots" / commit, {"video_processor_type": "X", "num_frames": 5})
    assert NativeSampler(checkpoint="owner/tiny")(span(10)) == [0, 2, 4, 6, 8]
    with pytest.raises(ModelError):
        NativeSampler(checkpoint="owner/other")
