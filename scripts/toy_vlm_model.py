"""Model of the tiny video-language model, its quick forward pass for training and its helpers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from toy_vlm_rows import GRID, MERGED, PATCHES, Rows
from toy_vlm_words import (
    END,
    IMAGE,
    MERGE_SIZE,
    PAD,
    PATCH_SIZE,
    VIDEO,
    VISION_END,
    VISION_START,
    vocabulary,
)
from transformers import Qwen2VLConfig, Qwen2VLForConditionalGeneration
from transformers.vision_utils import get_vision_position_ids

from vbench.datasets.toy.world import (
    CHARACTERS,
    EVENTS_PER_CLIP,
    MANNERS,
    SCENES,
    VERBS,
    ToyClip,
    ToyEvent,
)

ACTIONS = tuple((verb, way) for verb, of in VERBS.items() for way in (of.directions or (None,)))
FACTS: Mapping[str, Sequence[object]] = {
    "agent": CHARACTERS,
    "patient": (None, *CHARACTERS),
    "action": ACTIONS,
    "manner": (None, *MANNERS),
    "scene": SCENES,
}


def build_model(
    *, width: int, depth: int, hidden: int, layers: int, mlp: int, heads: int = 2
) -> Qwen2VLForConditionalGeneration:
    """Returns an untrained Qwen2-VL of less than two million weights."""
    words = vocabulary()
    # Qwen's 0.02 is made for thousands of units. With a hundred, attention starts so flat that
    # hundreds of steps pass before a token knows its place in time.
    spread = 0.07
    sections = hidden // heads // 2
    rest = sections // 4
    text = {
        "vocab_size": len(words),
        "initializer_range": spread,
        "hidden_size": hidden,
        "intermediate_size": mlp,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": heads,
        "max_position_embeddings": 1024,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 1000.0,
            "mrope_section": [sections - 2 * rest, rest, rest],
        },
        "bos_token_id": words[PAD],
        "eos_token_id": words[END],
        "pad_token_id": words[PAD],
        "tie_word_embeddings": True,
    }
    vision = {
        "depth": depth,
        "initializer_range": spread,
        "embed_dim": width,
        "num_heads": 4,
        "mlp_ratio": 2,
        "hidden_size": hidden,
        "patch_size": PATCH_SIZE,
        "spatial_merge_size": MERGE_SIZE,
        "temporal_patch_size": 2,
    }
    config = Qwen2VLConfig(
        text_config=text,
        vision_config=vision,
        image_token_id=words[IMAGE],
        video_token_id=words[VIDEO],
        vision_start_token_id=words[VISION_START],
        vision_end_token_id=words[VISION_END],
        tie_word_embeddings=True,
        initializer_range=spread,
    )
    return Qwen2VLForConditionalGeneration(config)


def see(model: Qwen2VLForConditionalGeneration, pixels: Tensor) -> Tensor:
    """Returns the merged tokens of pairs of frames, as the model's own vision tower computes them.

    The tower's own forward pass runs its convolution and one attention for each pair, which on a
    CPU costs several times as much as the same arithmetic in one piece.

    Args:
        model: The model.
        pixels: (pairs * patches, values), as the video processor returns them.

    Returns:
        (pairs, merged, hidden).
    """
    tower = model.model.visual
    n = len(pixels) // PATCHES
    x = F.linear(pixels, tower.patch_embed.proj.weight.flatten(1)).view(n, PATCHES, -1)
    grid = torch.tensor([[1, GRID, GRID]])
    places = get_vision_position_ids(grid, MERGE_SIZE, kwargs={})
    cos, sin = (table[:, None] for table in tower.rotary_pos_emb(x, places))
    for block in tower.blocks:
        attention = block.attn
        qkv = attention.qkv(block.norm1(x)).view(n, PATCHES, 3, attention.num_heads, -1)
        q, k, v = qkv.unbind(2)
        q, k = (_rotate(t, cos, sin).transpose(1, 2) for t in (q, k))
        seen = F.scaled_dot_product_attention(q, k, v.transpose(1, 2))
        x = x + attention.proj(seen.transpose(1, 2).reshape(x.shape))
        x = x + block.mlp(block.norm2(x))
    return tower.merger(x.flatten(0, 1)).view(n, MERGED, -1)


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


def read(
    model: Qwen2VLForConditionalGeneration,
    seen: Tensor,
    ids: Tensor,
    positions: Tensor,
    allowed: Tensor,
) -> tuple[Tensor, ...]:
    """Returns the states of rows of tokens whose videos are given as merged tokens.

    Args:
        model: The model.
        seen: (rows, video tokens, hidden).
        ids: (rows, tokens); the video tokens of each row are replaced.
        positions: (3, rows, tokens), M-RoPE.
        allowed: (rows, tokens, tokens), True where the first may look at the second.

    Returns:
        (rows, tokens, hidden), before the first layer and after each; the last is normalised.
    """
    inner = model.model
    embedded = inner.language_model.embed_tokens(ids)
    videos = (ids == model.config.video_token_id)[..., None].expand_as(embedded)
    embedded = embedded.masked_scatter(videos, seen)
    mask = torch.zeros(allowed.shape).masked_fill_(~allowed, float("-inf"))[:, None]
    return inner.language_model(
        inputs_embeds=embedded,
        position_ids=positions,
        attention_mask={"full_attention": mask},
        use_cache=False,
        output_hidden_states=True,
    ).hidden_states


class FactHeads(nn.Module):
    """Reads an event's facts off the tokens of a pair of frames; not saved.

    All tokens of a pair side by side are learnt from soonest. But words will look for facts among
    single tokens, so each is asked as well to tell all facts of its pair, all in the same way.
    """

    def __init__(self, hidden: int) -> None:
        super().__init__()
        sizes = {"cast": len(CHARACTERS)} | {name: len(values) for name, values in FACTS.items()}
        self.pair = nn.ModuleDict({k: nn.Linear(MERGED * hidden, n) for k, n in sizes.items()})
        self.token = nn.ModuleDict({k: nn.Linear(hidden, n) for k, n in sizes.items()})

    def forward(self, seen: Tensor, clips: Sequence[ToyClip]) -> dict[str, Tensor]:
        """Returns the loss of each fact for pairs of frames (pairs, merged, hidden)."""
        pairs = len(seen) // len(clips)
        cast = torch.tensor([[float(c in clip.cast) for c in CHARACTERS] for clip in clips])
        targets = {"cast": cast.repeat_interleave(pairs, dim=0)}
        for name, values in FACTS.items():
            told = [values.index(_fact(event, name)) for clip in clips for event in clip.events]
            targets[name] = torch.tensor(told).repeat_interleave(pairs * len(clips) // len(told))
        losses = {}
        for name, target in targets.items():
            by_token = target.repeat_interleave(MERGED, dim=0)
            losses[name] = (
                _loss(self.pair[name](seen.flatten(1)), target)
                + _loss(self.token[name](seen.flatten(0, 1)), by_token)
            ) / 2
        return losses


def _loss(logits: Tensor, target: Tensor) -> Tensor:
    if target.is_floating_point():
        return 3 * F.binary_cross_entropy_with_logits(logits, target)
    return F.cross_entropy(logits, target)


def _fact(event: ToyEvent, name: str) -> object:
    return (event.verb, event.direction) if name == "action" else getattr(event, name)


class ReadingHeads(nn.Module):
    """What the language model is to know half-way; not saved.

    `when`: the place in time of each video token, after the first layer. The others are asked at
    each word that completes a fact. `look`: the first head of the second layer is to look at the
    tokens that the last thing said is true of, that of the third layer at those that the whole
    sentence so far is true of. `truth`: of which of the five events that is, and whether the
    statement so far is true of the clip; before the last layer, so that an answer can look at it.
    """

    def __init__(self, hidden: int, pairs: int) -> None:
        super().__init__()
        self.when = nn.Linear(hidden, pairs)
        self.rare = nn.Parameter(torch.tensor([-2.0, -2.0]))
        self.truth = nn.Sequential(nn.LayerNorm(hidden), nn.Linear(hidden, EVENTS_PER_CLIP + 1))

    def forward(
        self,
        model: Qwen2VLForConditionalGeneration,
        states: Sequence[Tensor],
        rows: Rows,
    ) -> dict[str, Tensor]:
        """Returns the three losses of rows and their states, as `read` returns them."""
        video = rows.video
        places = (video.stop - video.start) // MERGED
        times = torch.arange(places).repeat_interleave(MERGED)
        when = self.when(states[1][:, video])
        looks = []
        for layer in (1, 2):
            logits = glances(model, layer, states[layer], rows) + self.rare[layer - 1]
            first = EVENTS_PER_CLIP * (layer - 1)
            each = self.when.out_features // EVENTS_PER_CLIP
            events = rows.truths[:, first : first + places // each]
            target = events.repeat_interleave(each * MERGED, dim=1)
            looks.append(F.binary_cross_entropy_with_logits(logits, target))
        truth = self.truth(states[-2][tuple(rows.truth_at)])
        return {
            "when": F.cross_entropy(when.flatten(0, 1), times.repeat(len(when))),
            "last": looks[0],
            "match": looks[1],
            "truth": F.binary_cross_entropy_with_logits(truth, rows.truths[:, EVENTS_PER_CLIP:]),
        }


def glances(
    model: Qwen2VLForConditionalGeneration, layer: int, states: Tensor, rows: Rows
) -> Tensor:
    """Returns a layer's first head's attention logits (n, video tokens) of words to their videos.

    Args:
        model: The model.
        layer: The layer.
        states: (rows, tokens, hidden), what it reads.
        rows: The rows; the words are those of `truth_at`.
    """
    inner = model.model.language_model
    attention = inner.layers[layer].self_attn
    read, at = inner.layers[layer].input_layernorm(states), tuple(rows.truth_at)
    size = attention.head_dim
    cos, sin = inner.rotary_emb(read, rows.positions)
    words = F.linear(read[at], attention.q_proj.weight[:size], attention.q_proj.bias[:size])
    tokens = read[:, rows.video]
    tokens = F.linear(tokens, attention.k_proj.weight[:size], attention.k_proj.bias[:size])
    words = _rotate(words, cos[at], sin[at])
    tokens = _rotate(tokens, cos[:, rows.video], sin[:, rows.video])
    return (tokens[at[0]] @ words[:, :, None])[..., 0] * attention.scaling
