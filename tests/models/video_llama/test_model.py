"""Video-LLaMA's modules against plain arithmetic on the files' own tensors."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from vbench.checkpoints import find_checkpoint
from vbench.errors import ModelError
from vbench.models.video_llama.config import VideoLlamaConfig
from vbench.models.video_llama.model import VideoLlamaForConditionalGeneration

from ..assembled_files import State
from ..assembled_runs import load, noise, shapes_of, sharing_changes_no_score, two_questions
from ..plain_arithmetic import close
from ..plain_lavis import PlainLavis

LAYERS, QUERIES, FEATURES, PLACES = 2, 3, 5, 6
OWN = "finetune-vicuna7b-v2.pth"


@pytest.fixture(scope="module")
def model(video_llama: Path) -> Any:
    return load(video_llama)


def video(count: int, rows: int = 1) -> Tensor:
    return noise(count, 8, rows)


class PlainVideoLlama(PlainLavis):
    """video_llama.py, encode_videoQformer_visual, a frame at a time."""

    def features(self, frames: Tensor) -> Tensor:
        """Takes (frames, 3, side, side), returns (features, words)."""
        read = []
        for place, frame in enumerate(frames):
            seen = self.norm("ln_vision", self.tower(frame, LAYERS)[-1])
            found = self.qformer("Qformer", self.state["query_tokens"][0], seen, every=2)
            read.append(found + self.state["video_frame_position_embedding.weight"][place])
        queries = self.state["video_query_tokens"][0]
        whole = self.qformer("video_Qformer", queries, torch.cat(read), every=1)
        return self.linear("llama_proj", whole)


@pytest.mark.parametrize("count", [1, 3, PLACES])
def test_features_equal_plain_arithmetic(model: Any, state: State, count: int) -> None:
    plain, pixels = PlainVideoLlama(state), video(count, rows=2)
    with torch.no_grad():
        found = model.get_video_features(pixels)
    assert found.shape == (2, FEATURES, 16)
    close(found, torch.stack([plain.features(each) for each in pixels]), 1e-6)


def test_words_come_from_the_language_model_s_files(model: Any, state: State) -> None:
    own = model.language_model.state_dict()
    assert {f"llama_model.{name}" for name in own} <= set(state)
    assert all(torch.equal(value, state[f"llama_model.{name}"]) for name, value in own.items())


def test_more_frames_than_places_in_time_are_refused(model: Any) -> None:
    with pytest.raises(ValueError, match="7 frames, of at most 6"):
        model.get_video_features(video(PLACES + 1))


def test_the_norm_after_the_tower_is_lavis_s(model: Any) -> None:
    """A plain torch norm, where transformers gives BLIP-2 the tower's own 1e-6."""
    assert model.vision_model.post_layernorm.eps == torch.nn.LayerNorm(1).eps == 1e-5


def test_sizes_are_the_published_ones_where_config_json_says_none() -> None:
    said = {"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 1}
    config = VideoLlamaConfig.from_dict(said)
    found = shapes_of(VideoLlamaForConditionalGeneration, config)
    sizes = {
        "vision_model.embeddings.position_embedding": (1, 257, 1408),
        "vision_model.encoder.layers.38.self_attn.qkv.weight": (4224, 1408),
        "vision_model.encoder.layers.38.mlp.fc1.weight": (6144, 1408),
        "query_tokens": (1, 32, 768),
        "qformer.encoder.layer.10.crossattention.attention.key.weight": (768, 1408),
        "qformer.encoder.layer.11.intermediate_query.dense.weight": (3072, 768),
        "video_frame_position_embedding.weight": (32, 768),
        "video_query_tokens": (1, 32, 768),
        "video_qformer.encoder.layer.0.crossattention.attention.key.weight": (768, 768),
        "video_qformer.encoder.layer.1.crossattention.attention.key.weight": (768, 768),
        "llama_proj.weight": (4096, 768),
    }
    assert sizes.items() <= found.items()
    layers = ("vision_model.encoder.layers.39", "qformer.encoder.layer.12")
    cross = "qformer.encoder.layer.11.crossattention"
    beyond = (*layers, cross, "video_qformer.encoder.layer.2")
    assert not [name for name in found if name.startswith(beyond)]
    assert config.vision_config.num_attention_heads == 16
    assert config.qformer_config.num_attention_heads == 12
    assert config.video_qformer_config.num_attention_heads == 12
    assert config.features == 32


def test_all_weights_come_in_the_precision_asked_for(video_llama: Path) -> None:
    model = load(video_llama, "bf16-true")
    assert {weight.dtype for weight in model.parameters()} == {torch.bfloat16}
    assert not any(weight.requires_grad for weight in model.parameters())


def test_sharing_a_prefix_changes_no_score(model: Any) -> None:
    visual = (model.config.video_token_id,) * FEATURES
    sharing_changes_no_score(model, two_questions(*visual), video(2))


def rewritten(name: str, edit: Callable[[State], None]) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        content = torch.load(folder / name, weights_only=True)
        edit(content.get("model", content))
        torch.save(content, folder / name)

    return change


def copied(folder: Path) -> None:
    shutil.copy(folder / OWN, folder / "pretrain_vicuna7b-v2.pth")


WRONG: dict[str, tuple[Callable[[Path], None], str]] = {
    "without the vision tower": (
        lambda folder: (folder / "eva_vit_g.pth").unlink(),
        "eva_vit_g.pth is missing",
    ),
    "without the Q-Former": (
        lambda folder: (folder / "blip2_pretrained_flant5xxl.pth").unlink(),
        "blip2_pretrained_flant5xxl.pth is missing",
    ),
    "without the authors' file": (lambda folder: (folder / OWN).unlink(), "no .pth file holds"),
    "with two of the authors' files": (copied, f"{OWN}, pretrain_vicuna7b-v2.pth"),
    "without a block that is used": (
        rewritten("eva_vit_g.pth", lambda state: state.pop("blocks.1.norm1.weight")),  # type: ignore[arg-type, return-value]
        "1 missing (vision_model.encoder.layers.1.layer_norm1.weight)",
    ),
    "of another width": (
        rewritten(OWN, lambda state: state.update({"llama_proj.weight": torch.ones(4, 12)})),
        "mis-shaped",
    ),
    "with more than the model has": (
        rewritten(OWN, lambda state: state.update({"gmhra.0.weight": torch.ones(4)})),
        "not known to the model (gmhra.0.weight)",
    ),
    "without LLaMA's weights": (
        lambda folder: [file.unlink() for file in folder.glob("*.bin")],  # type: ignore[arg-type, return-value]
        "no *.safetensors",
    ),
    "that could run code": (
        lambda folder: torch.save({"model": {"video_query_tokens": Path()}}, folder / OWN),
        "WeightsUnpickler error",
    ),
}


@pytest.mark.parametrize("kind", WRONG)
def test_folders_that_do_not_fill_the_model_are_refused(
    video_llama: Path, tmp_path: Path, kind: str
) -> None:
    edit, why = WRONG[kind]
    folder = tmp_path / "changed"
    shutil.copytree(video_llama, folder)
    edit(folder)
    with pytest.raises(ModelError) as caught:
        load(folder)
    assert why in f"{caught.value.what} {caught.value.why}"


def test_llama_alone_is_still_no_model_of_videos(video_llama: Path, tmp_path: Path) -> None:
    folder = tmp_path / "vicuna"
    shutil.copytree(video_llama, folder, ignore=shutil.ignore_patterns("*.pth"))
    with pytest.raises(ModelError, match="no video-language model for 'llama'"):
        load(folder)


def test_every_file_is_part_of_the_identity(video_llama: Path, tmp_path: Path) -> None:
    folder = tmp_path / "changed"
    shutil.copytree(video_llama, folder)
    before = find_checkpoint(str(folder)).identity()
    assert before == find_checkpoint(str(video_llama)).identity()
    rewritten("eva_vit_g.pth", lambda state: state["cls_token"].add_(1))(folder)  # type: ignore[arg-type, return-value]
    assert find_checkpoint(str(folder)).identity() != before
