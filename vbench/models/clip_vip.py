"""CLIP-ViP: a CLIP that sees all frames of a clip at once, through four proxy tokens.

Each frame's patches attend to one another and to the proxies, and the proxies to everything; the
first proxy is CLIP's class token, where the clip's embedding is read. The layers are CLIP's own.

Source: microsoft/XPretrain, CLIP-ViP/src/modeling/CLIP_ViP.py (arXiv 2209.06430).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from vbench.checkpoints import file_sha256, find_checkpoint
from vbench.models.embedding import unit
from vbench.models.loading import explained, load_config, load_tokenizer, quietly
from vbench.models.texts import TextReader
from vbench.models.weight_file import clip_image_size, fill, find_weight_file, read_state
from vbench.preprocess import ImageTransform
from vbench.protocols import Need, Preprocess

_PREFIX = "clipmodel."
"""Before every name: the file is that of a wrapper (VidCLIP.py)."""
_PROXIES = "vision_model.embeddings.added_cls"
_MOMENTS = "vision_model.embeddings.temporal_embedding"

Processing = Literal["clip_vip", "xclip"]
"""`clip_vip`: frames squashed to a square, bicubic, CLIP's mean and deviation, as in its own
evaluation (datasets/dataloader.py; torchvision 0.9 does not antialias tensors). `xclip`: short side
and centre crop, bilinear, ImageNet's, as `microsoft/xclip-base-patch16` has it, through which
VELOCITI shows it frames."""


class ClipVip:
    """CLIP-ViP from the file that its repository publishes.

    Args:
        checkpoint: The `.pt` file on this machine.
        base: The CLIP that gives config and tokenizer, which the file lacks: OpenAI's B/32 or B/16.
            A folder or hub id, as transformers writes it.
        revision: Branch, tag or commit of `base` on the hub.
        processing: How frames become pixels.
        max_text_tokens: Longest text in tokens; None: all the model can read.
        text_batch: Texts encoded at once; changes speed and memory only.

    Raises:
        ConfigError: `max_text_tokens` is more than the model can read.
        ModelError: There is no such file, or `base` cannot be found or is no CLIP.
    """

    needs: ClassVar[frozenset[Need]] = frozenset({"frames", "text"})

    preprocess: Preprocess

    def __init__(
        self,
        checkpoint: str,
        base: str = "openai/clip-vit-base-patch32",
        revision: str | None = None,
        processing: Processing = "clip_vip",
        max_text_tokens: int | None = None,
        text_batch: int = 256,
    ) -> None:
        self._file = find_weight_file(checkpoint)
        self._base = find_checkpoint(base, revision)
        self._text_batch = text_batch
        self._config = load_config(self._base)
        side = clip_image_size(self._config, base)
        self._texts = TextReader(
            base, load_tokenizer(self._base), self._config, max_tokens=max_text_tokens
        )
        self.preprocess = _transform(processing, side)
        self.embedding_width: int = self._config.projection_dim

    @cached_property
    def module(self) -> torch.nn.Module:
        """All the weights, in float32 on the CPU until Lightning moves them.

        Raises:
            ModelError: They cannot be read, or do not fill the architecture exactly.
        """
        state = {
            key.removeprefix(_PREFIX): weight
            for key, weight in read_state(self._file).items()
            if not key.endswith("position_ids")  # a constant counter
        }
        name = str(self._file)
        with explained(name, "config"), quietly():
            model = build(self._config, state)
        return fill(model, state, name)

    @property
    def max_text_tokens(self) -> int:
        """The longest text that is read whole, in tokens, special tokens included."""
        return self._texts.max_tokens

    def overlong(self, texts: Sequence[str]) -> list[bool]:
        """Says of each text whether it is cut at `max_text_tokens`."""
        return [length > self._texts.max_tokens for length in self._texts.lengths(texts)]

    @cached_property
    def _content(self) -> str:
        return f"sha256:{file_sha256(self._file)} on {self._base.identity()}"

    def identity(self) -> str:
        """Returns the checkpoint's content and every setting that can change an embedding."""
        settings = {"model": "clip_vip", "checkpoint": self._content, **self._texts.identity()}
        return json.dumps(settings, sort_keys=True)

    def embed_clips(self, pixels: torch.Tensor) -> torch.Tensor:
        """Encodes clips of t frames, pixels (b, t, 3, h, w), into unit vectors (b, d), float32."""
        weights = next(self.module.parameters())
        return unit(video_features(self.module, pixels.to(weights.device, weights.dtype)))

    def embed_texts(self, texts: Sequence[str]) -> tuple[torch.Tensor, list[bool]]:
        """Encodes texts into unit vectors (n, d) in float32, and flags each truncated text."""
        return self._texts.embed(self.module, texts, self._text_batch)


def build(config: Any, state: Mapping[str, Tensor]) -> torch.nn.Module:
    """Builds a CLIP with CLIP-ViP's own two weights beside its vision embeddings.

    Args:
        config: transformers' CLIPConfig.
        state: Says how many proxies are added, and for how many frames moments were learnt.
    """
    from transformers import AutoModel

    # Only this implementation takes a mask of booleans.
    model: Any = AutoModel.from_config(config, attn_implementation="sdpa", dtype=torch.float32)
    width = config.vision_config.hidden_size
    embeddings = model.vision_model.embeddings
    embeddings.added_cls = torch.nn.Parameter(torch.empty(_length(state, _PROXIES, 0), width))
    moments = torch.empty(1, _length(state, _MOMENTS, 1), width)
    embeddings.temporal_embedding = torch.nn.Parameter(moments)
    module: torch.nn.Module = model
    return module


def video_features(model: Any, pixels: Float[Tensor, "b t c h w"]) -> Float[Tensor, "b d"]:
    """Encodes clips into embeddings that are not normalised.

    Args:
        model: From `build`.
        pixels: Of the model's own size.
    """
    vision = model.vision_model
    tokens = _tokens(vision.embeddings, pixels)
    proxies = 1 + len(vision.embeddings.added_cls)
    frames = pixels.shape[1]
    mask = proxy_mask(proxies, frames, (tokens.shape[1] - proxies) // frames).to(pixels.device)
    states = vision.encoder(vision.pre_layrnorm(tokens), mask[None, None]).last_hidden_state
    features: Tensor = model.visual_projection(vision.post_layernorm(states[:, 0]))
    return features


def proxy_mask(proxies: int, frames: int, patches: int) -> Bool[Tensor, "s s"]:
    """Says which token (row) sees which (column): proxies first, then patches frame by frame.

    >>> proxy_mask(1, 2, 1).int().tolist()
    [[1, 1, 1], [1, 1, 0], [1, 0, 1]]
    """
    frame_of = torch.arange(frames).repeat_interleave(patches)
    place = torch.cat([torch.full((proxies,), -1), frame_of])
    return (place[:, None] == place) | (place[:, None] < 0) | (place < 0)


def _tokens(embeddings: Any, pixels: Float[Tensor, "b t c h w"]) -> Float[Tensor, "b s w"]:
    """Returns class token and added proxies, all at position 0, then patches frame by frame."""
    positions = embeddings.position_embedding.weight
    first = torch.cat([embeddings.class_embedding[None], embeddings.added_cls]) + positions[0]
    maps = embeddings.patch_embedding(pixels.flatten(0, 1))  # (b t, w, rows, columns)
    patches = maps.flatten(2).transpose(1, 2).unflatten(0, pixels.shape[:2])
    moments = _moments(embeddings.temporal_embedding, pixels.shape[1])
    patches = patches + moments[:, :, None] + positions[1:]
    return torch.cat([first.expand(len(pixels), -1, -1), patches.flatten(1, 2)], dim=1)


def _moments(learnt: Float[Tensor, "1 n w"], frames: int) -> Float[Tensor, "1 t w"]:
    """Returns one embedding per frame, interpolated where another number was learnt."""
    if learnt.shape[1] == frames:
        return learnt
    between = torch.nn.functional.interpolate(
        learnt.transpose(1, 2), size=frames, mode="linear", align_corners=False
    )
    return between.transpose(1, 2)


def _length(state: Mapping[str, Tensor], name: str, axis: int) -> int:
    """Returns an axis' length; of a weight that is not there or misshapen, 1: `fill` will tell."""
    weight = state.get(name)
    return weight.shape[axis] if weight is not None and weight.ndim > axis else 1


def _transform(processing: Processing, side: int) -> ImageTransform:
    if processing == "clip_vip":
        return ImageTransform(fit="squash", size=(side, side), crop=None, antialias=False)
    return ImageTransform(
        size=(side, side),
        crop=(side, side),
        interpolation="bilinear",
        mean=(0.485, 0.456, 0.406),
        std=(0.229, 0.224, 0.225),
    )
