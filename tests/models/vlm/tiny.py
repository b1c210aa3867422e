"""Tiny video-language models of every supported architecture: random weights, one random video.

    vlm = build("qwen2_5_vl")
    prompt = vlm.prompt([5, 6], [7, 8])  # tokens before and after the video's
    vlm.model(input_ids=torch.tensor([prompt]), **vlm.video, **vlm.rest([prompt]))

The output layer is scaled up, so that log-probabilities differ as much as those of trained models.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

VOCABULARY = 120
IMAGE, VIDEO, PAD = 110, 111, 0
FIRST_WORD, LAST_WORD = 3, 100
"""Token ids between these are plain words."""

TEXT: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "pad_token_id": PAD,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
VISION: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": 16,
    "patch_size": 4,
}


@dataclass(frozen=True)
class TinyVlm:
    """A model and one video for it."""

    model: nn.Module
    video: dict[str, Tensor]
    """The arguments of the forward pass that carry the video; batch 1."""
    visual: tuple[int, ...]
    """What stands for the video in a prompt."""

    def prompt(self, before: Sequence[int], after: Sequence[int]) -> tuple[int, ...]:
        """Returns a prompt's token ids."""
        return (*before, *self.visual, *after)

    def rest(self, rows: Sequence[Sequence[int]]) -> dict[str, Tensor]:
        """Returns what the family's processor adds beside token ids, for rows of one length."""
        if "Qwen" not in type(self.model).__name__ or not self.video:
            return {}
        ids = torch.tensor(rows)
        return {"mm_token_type_ids": (ids == IMAGE) * 1 + (ids == VIDEO) * 2}

    def another_video(self, seed: int) -> dict[str, Tensor]:
        """Returns a video of the same size with other pixels."""
        made = torch.Generator().manual_seed(seed)
        return {
            name: torch.randn(value.shape, generator=made) if "pixel_values" in name else value
            for name, value in self.video.items()
        }


def words(count: int, seed: int) -> tuple[int, ...]:
    """Returns random plain words."""
    made = torch.Generator().manual_seed(seed)
    return tuple(torch.randint(FIRST_WORD, LAST_WORD, (count,), generator=made).tolist())


def pixels(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(17))


def grid(t: int, h: int, w: int) -> Tensor:
    return torch.tensor([[t, h, w]])


MROPE = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]}
"""Three sections of half a head's 8 channels."""

QWEN = {"image_token_id": IMAGE, "video_token_id": VIDEO, "tie_word_embeddings": False}


def qwen2_vl() -> TinyVlm:
    from transformers import Qwen2VLConfig, Qwen2VLForConditionalGeneration

    vision = {"embed_dim": 32, "hidden_size": 32, "depth": 2, "num_heads": 4, "mlp_ratio": 2}
    vision |= {"patch_size": 4}
    config = Qwen2VLConfig(
        text_config=TEXT | {"rope_parameters": MROPE}, vision_config=vision, **QWEN
    )
    # More moments than rows or columns: text after the video is numbered from less than its last.
    video = {"pixel_values_videos": pixels(5 * 4 * 6, 96), "video_grid_thw": grid(5, 4, 6)}
    return TinyVlm(Qwen2VLForConditionalGeneration(config), video, (VIDEO,) * 30)


def qwen2_5_vl() -> TinyVlm:
    from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

    vision = {"hidden_size": 32, "out_hidden_size": 32, "depth": 2, "num_heads": 4}
    vision |= {"intermediate_size": 48, "patch_size": 4, "window_size": 16}
    vision |= {"fullatt_block_indexes": [1], "tokens_per_second": 2}
    config = Qwen2_5_VLConfig(
        text_config=TEXT | {"rope_parameters": MROPE}, vision_config=vision, **QWEN
    )
    video = {
        "pixel_values_videos": pixels(3 * 4 * 6, 96),
        "video_grid_thw": grid(3, 4, 6),
        "second_per_grid_ts": torch.tensor([1.5]),  # positions run ahead of token counts
    }
    return TinyVlm(Qwen2_5_VLForConditionalGeneration(config), video, (VIDEO,) * 18)


def qwen3_vl() -> TinyVlm:
    from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration

    vision = {"hidden_size": 32, "out_hidden_size": 32, "depth": 2, "num_heads": 4}
    vision |= {"intermediate_size": 48, "patch_size": 4, "num_position_embeddings": 16}
    vision |= {"deepstack_visual_indexes": [0]}
    text = TEXT | {"rope_parameters": MROPE | {"mrope_interleaved": True}, "head_dim": 8}
    config = Qwen3VLConfig(text_config=text, vision_config=vision, **QWEN)
    video = {"pixel_values_videos": pixels(3 * 4 * 6, 96), "video_grid_thw": grid(3, 4, 6)}
    stamped = tuple(token for word in (21, 22, 23) for token in (word, *[VIDEO] * 6))
    return TinyVlm(Qwen3VLForConditionalGeneration(config), video, stamped)


def llava_onevision() -> TinyVlm:
    from transformers import LlavaOnevisionConfig, LlavaOnevisionForConditionalGeneration

    config = LlavaOnevisionConfig(
        vision_config=VISION | {"model_type": "siglip_vision_model", "vision_use_head": False},
        text_config=TEXT | {"model_type": "qwen2"},
        image_token_id=IMAGE,
        video_token_id=VIDEO,
        image_grid_pinpoints=[[16, 16]],
        tie_word_embeddings=False,
    )
    video = {"pixel_values_videos": pixels(1, 3, 3, 16, 16)}
    newline = 1
    return TinyVlm(
        LlavaOnevisionForConditionalGeneration(config), video, (VIDEO,) * (3 * 4 + newline)
    )


def llava_next_video() -> TinyVlm:
    from transformers import LlavaNextVideoConfig, LlavaNextVideoForConditionalGeneration

    config = LlavaNextVideoConfig(
        vision_config=VISION | {"model_type": "clip_vision_model"},
        text_config=TEXT | {"model_type": "llama"},
        image_token_id=IMAGE,
        video_token_id=VIDEO,
        image_grid_pinpoints=[[16, 16]],
        tie_word_embeddings=False,
    )
    video = {"pixel_values_videos": pixels(1, 3, 3, 16, 16)}
    return TinyVlm(LlavaNextVideoForConditionalGeneration(config), video, (VIDEO,) * (3 * 4))


def video_llava() -> TinyVlm:
    from transformers import VideoLlavaConfig, VideoLlavaForConditionalGeneration

    config = VideoLlavaConfig(
        vision_config=VISION | {"model_type": "clip_vision_model"},
        text_config=TEXT | {"model_type": "llama"},
        image_token_id=IMAGE,
        video_token_id=VIDEO,
        tie_word_embeddings=False,
    )
    video = {"pixel_values_videos": pixels(1, 3, 3, 16, 16)}
    per_frame = 16 + 1  # its class token counts
    return TinyVlm(VideoLlavaForConditionalGeneration(config), video, (VIDEO,) * (3 * per_frame))


def internvl() -> TinyVlm:
    from transformers import InternVLConfig, InternVLForConditionalGeneration

    config = InternVLConfig(
        vision_config=VISION | {"image_size": [16, 16], "patch_size": [4, 4]},
        text_config=TEXT | {"model_type": "qwen2"},
        image_token_id=IMAGE,
        tie_word_embeddings=False,
    )
    frames = tuple(token for word in (21, 22, 23) for token in (word, *[IMAGE] * 4))
    video = {"pixel_values": pixels(3, 3, 16, 16)}
    return TinyVlm(InternVLForConditionalGeneration(config), video, frames)


def smolvlm() -> TinyVlm:
    from transformers import SmolVLMConfig, SmolVLMForConditionalGeneration

    config = SmolVLMConfig(
        vision_config=VISION,
        text_config=TEXT | {"model_type": "llama"},
        image_token_id=IMAGE,
        scale_factor=2,
        pad_token_id=PAD,
        tie_word_embeddings=False,
    )
    frames = tuple(token for word in (21, 22, 23) for token in (word, *[IMAGE] * 4))
    video = {
        "pixel_values": pixels(1, 3, 3, 16, 16),
        "pixel_attention_mask": torch.ones(1, 3, 16, 16, dtype=torch.bool),
    }
    return TinyVlm(SmolVLMForConditionalGeneration(config), video, frames)


def video_llama_3() -> TinyVlm:
    from transformers import VideoLlama3Config, VideoLlama3ForConditionalGeneration

    config = VideoLlama3Config(
        vision_config=VISION,
        text_config=TEXT | {"model_type": "qwen2"},
        image_token_id=IMAGE,
        video_token_id=VIDEO,
        tie_word_embeddings=False,
    )
    frames = 3
    compressed = torch.ones(frames * 6, dtype=torch.bool)
    compressed[[8, 9, 15]] = False  # tokens that change little from frame to frame are left out
    video = {
        "pixel_values_videos": pixels(frames * 4 * 6, 48),
        "video_grid_thw": grid(frames, 4, 6),
        "video_merge_sizes": torch.tensor([2]),
        "video_compression_mask": compressed,
    }
    kept = int(compressed.sum())
    return TinyVlm(VideoLlama3ForConditionalGeneration(config), video, (VIDEO,) * kept)


def llama() -> TinyVlm:
    from transformers import LlamaConfig, LlamaForCausalLM

    return TinyVlm(LlamaForCausalLM(LlamaConfig(**TEXT)), {}, ())


def qwen2() -> TinyVlm:
    from transformers import Qwen2Config, Qwen2ForCausalLM

    return TinyVlm(Qwen2ForCausalLM(Qwen2Config(**TEXT)), {}, ())


def mistral() -> TinyVlm:
    """A window of 8 tokens in every layer."""
    from transformers import MistralConfig, MistralForCausalLM

    return TinyVlm(MistralForCausalLM(MistralConfig(**TEXT, sliding_window=8)), {}, ())


def gemma3() -> TinyVlm:
    """A window of 8 tokens in one layer, none in the other."""
    from transformers import Gemma3ForCausalLM, Gemma3TextConfig

    config = Gemma3TextConfig(
        **TEXT, head_dim=8, sliding_window=8, layer_types=["sliding_attention", "full_attention"]
    )
    return TinyVlm(Gemma3ForCausalLM(config), {}, ())


VIDEO_MODELS: dict[str, Callable[[], TinyVlm]] = {
    "qwen2_vl": qwen2_vl,
    "qwen2_5_vl": qwen2_5_vl,
    "qwen3_vl": qwen3_vl,
    "llava_onevision": llava_onevision,
    "llava_next_video": llava_next_video,
    "video_llava": video_llava,
    "internvl": internvl,
    "smolvlm": smolvlm,
    "video_llama_3": video_llama_3,
}
TEXT_MODELS: dict[str, Callable[[], TinyVlm]] = {
    "llama": llama,
    "qwen2": qwen2,
    "mistral": mistral,
    "gemma3": gemma3,
}
EVERY_MODEL = VIDEO_MODELS | TEXT_MODELS


def build(name: str, seed: int = 0) -> TinyVlm:
    """Builds one of `EVERY_MODEL`, in fp32, for evaluation."""
    torch.manual_seed(seed)
    vlm = EVERY_MODEL[name]()
    vlm.model.eval().requires_grad_(False)
    head = vlm.model.get_output_embeddings()
    if head.weight is vlm.model.get_input_embeddings().weight:
        head.weight = nn.Parameter(head.weight.clone(), requires_grad=False)
    head.weight.mul_(40)
    return vlm


def instructblip() -> TinyVlm:
    """A vision side that reads the prompt; not one of `EVERY_MODEL`, as nothing can be shared."""
    from transformers import InstructBlipVideoConfig, InstructBlipVideoForConditionalGeneration

    torch.manual_seed(0)
    qformer = {"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2}
    qformer |= {"num_attention_heads": 4, "intermediate_size": 48, "encoder_hidden_size": 32}
    config = InstructBlipVideoConfig(
        vision_config=VISION,
        qformer_config=qformer,
        text_config=TEXT | {"model_type": "llama"},
        num_query_tokens=4,
        video_token_index=VIDEO,
    )
    vlm = TinyVlm(
        InstructBlipVideoForConditionalGeneration(config).eval(),
        {"pixel_values": pixels(1, 3, 3, 16, 16), "qformer_input_ids": torch.tensor([[7, 8, 9]])},
        (VIDEO,) * (3 * 4),
    )
    vlm.model.requires_grad_(False)
    vlm.model.get_output_embeddings().weight.mul_(40)
    return vlm
