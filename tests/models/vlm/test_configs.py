"""Words for video-language models: real checkpoints with their frames, visual, generation."""

from __future__ import annotations

from pathlib import Path

import pytest

from vbench.errors import ConfigError
from vbench.schema import compose, plain

PUBLISHED = {
    # checkpoint, sampler, frames (None: as its own files say)
    "qwen2_vl_7b": ("Qwen/Qwen2-VL-7B-Instruct", "native", None),
    "qwen2_5_vl_7b": ("Qwen/Qwen2.5-VL-7B-Instruct", "native", None),
    "qwen3_vl_8b": ("Qwen/Qwen3-VL-8B-Instruct", "native", None),
    "llava_onevision_7b": ("llava-hf/llava-onevision-qwen2-7b-ov-hf", "uniform_endpoints", 32),
    "llava_next_video_7b": ("llava-hf/LLaVA-NeXT-Video-7B-hf", "uniform_endpoints", 16),
    "video_llava_7b": ("LanguageBind/Video-LLaVA-7B-hf", "left_edge", 8),
    "internvl3_8b": ("OpenGVLab/InternVL3-8B-hf", "uniform_midpoints", 8),
    "smolvlm2_2b": ("HuggingFaceTB/SmolVLM2-2.2B-Instruct", "native", None),
    "videollama3_2b": ("lkhl/VideoLLaMA3-2B-Image-HF", "native", None),
    "mplug_owl_video_7b": ("MAGAer13/mplug-owl-llama-7b-video", "segment_offset", 4),
    "mplug_owl_7b": ("MAGAer13/mplug-owl-llama-7b", "segment_offset", 4),
    "owl_con_7b": ("MAGAer13/mplug-owl-llama-7b-video", "segment_offset", 32),
    "otter_video_7b": ("luodian/OTTER-Video-LLaMA7B-DenseCaption", "whole_steps", 16),
    "pllava_7b": ("ermu2001/pllava-7b", "segment_offset", 16),
    "pllava_13b": ("ermu2001/pllava-13b", "segment_offset", 16),
    "video_chatgpt_7b": ("mmaaz60/LLaVA-7B-Lightening-v1-1", "segment_midpoints", 100),
    "chat_univi_7b": ("Chat-UniVi/Chat-UniVi", "stride", None),
    "valley_7b": ("luoruipu1/Valley2-7b", "uniform_endpoints", 8),
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_checkpoint_brings_its_frames_and_scorer(name: str) -> None:
    checkpoint, sampler, count = PUBLISHED[name]
    config = plain(compose([f"model={name}", "trainer.precision=bf16-true"]))
    assert config["model"]["checkpoint"] == checkpoint
    assert config["model"]["precision"] == "bf16-true"
    assert config["scorer"]["_target_"].endswith("Entailment")
    assert (config["sampler"]["name"], config["sampler"].get("num_frames")) == (sampler, count)
    if sampler == "native":
        assert config["sampler"]["checkpoint"] == checkpoint


def test_the_command_line_has_the_last_word() -> None:
    typed = ["model=qwen2_vl_7b", "sampler=fps", "scorer=letters", "generation=short"]
    config = plain(compose([*typed, "visual=black"]))
    assert config["sampler"]["name"] == "fps"
    assert config["scorer"]["_target_"].endswith("Letters")
    assert config["model"]["visual"] == {"blind": "black"}
    assert config["model"]["generation"]["max_new_tokens"] == 16
    assert config["model"]["generation"]["top_p"] == 1.0


@pytest.mark.parametrize("typed", ["generation=greedy", "visual=black"])
def test_settings_that_a_model_has_not(typed: str) -> None:
    with pytest.raises(ConfigError, match=f"{typed} does not go with this model") as caught:
        compose(["model=clip_b32", typed])
    assert "model=hf/vlm" in caught.value.mend


def test_what_changes_speed_only_is_no_part_of_the_run() -> None:
    from vbench.schema import config_digest

    base = ["model=qwen2_vl_7b"]
    same = [*base, "model.batch_size=2", "model.prefix.strategy=loop", "model.device_map=auto"]
    assert config_digest(compose(base)) == config_digest(compose(same))
    assert config_digest(compose(base)) != config_digest(compose([*base, "model.system=hi"]))
