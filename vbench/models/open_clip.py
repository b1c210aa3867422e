"""Image-text dual encoders of the open_clip library: EVA-CLIP, NegCLIP and a hundred others."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch

from vbench.checkpoints import (
    Checkpoint,
    file_sha256,
    find_checkpoint,
    looks_like_path,
    missing_path,
)
from vbench.errors import ModelError, did_you_mean
from vbench.models.embedding import Pooling, pool_frames, unit
from vbench.models.loading import check_keys, explained, freeze, quietly
from vbench.preprocess import from_open_clip
from vbench.protocols import Need, Preprocess

Activation = Literal["gelu", "quick_gelu"]


class OpenClip:
    """A model of open_clip by architecture and weights, which are loaded on first use.

    Args:
        arch: A name of `open_clip.list_models()`.
        pretrained: A tag of that architecture, or a weight file on this machine.
        activation: None: the one the tag's weights were trained with; for a file, the
            architecture's own. open_clip from 2.29 on builds GELU for `ViT-B-32` with `openai` and
            only warns; here a tag decides.
        pooling: How the frames of a clip become one embedding.
        text_batch: Texts encoded at once; changes speed and memory only.

    Raises:
        ModelError: open_clip is not installed, or knows no such architecture or weights.
    """

    needs: ClassVar[frozenset[Need]] = frozenset({"frames", "text"})

    preprocess: Preprocess

    def __init__(
        self,
        arch: str,
        pretrained: str,
        activation: Activation | None = None,
        pooling: Pooling = "mean_then_normalise",
        text_batch: int = 256,
    ) -> None:
        self._arch, self._pooling, self._text_batch = arch, pooling, text_batch
        self._config = _config(arch)
        self._name = f"{arch}, {pretrained}"
        self._tag, self._file = _find_weights(arch, pretrained)
        source = self._tag or self._config
        trained: Activation = "quick_gelu" if source.get("quick_gelu") else "gelu"
        self._activation = activation or trained
        self.preprocess = from_open_clip(_preprocessing(self._config, self._tag))
        self._tokens = _TokenBatches(arch, self._config["text_cfg"])
        self.embedding_width: int = self._config["embed_dim"]

    @cached_property
    def _weights(self) -> Path:
        return self._file or _fetch(self._name, self._tag)

    @cached_property
    def module(self) -> torch.nn.Module:
        """All the weights, in float32 on the CPU until Lightning moves them.

        Raises:
            ModelError: They cannot be fetched or read, or do not fill the architecture exactly.
        """
        weights = self._weights  # before anything large is built: they may be out of reach
        model = _build(self._arch, self._tag, quick_gelu=self._activation == "quick_gelu")
        _fill(model, weights, self._name)
        return freeze(model)

    @property
    def max_text_tokens(self) -> int:
        """The longest text that is read whole, in tokens, special tokens included."""
        return self._tokens.length

    def overlong(self, texts: Sequence[str]) -> list[bool]:
        """Says of each text whether it is cut at `max_text_tokens`."""
        return self._tokens(texts)[1]

    @cached_property
    def _content(self) -> dict[str, str | None]:
        config = json.dumps(self._config, sort_keys=True, default=str)
        return {
            "weights": f"sha256:{file_sha256(self._weights)}",
            "config": f"sha256:{hashlib.sha256(config.encode()).hexdigest()}",
            "tokenizer": self._tokens.identity,
        }

    def identity(self) -> str:
        """Returns the weights' and architecture's content and every setting beside them."""
        settings = {
            "model": "open_clip",
            "arch": self._arch,
            "activation": self._activation,
            "pooling": self._pooling,
            **self._content,
        }
        return json.dumps(settings, sort_keys=True)

    def embed_frames(self, pixels: torch.Tensor) -> torch.Tensor:
        """Encodes pixels (n, 3, h, w) into frame embeddings (n, d), not normalised."""
        weights = next(self.module.parameters())
        model: Any = self.module
        frames: torch.Tensor = model.encode_image(pixels.to(weights.device, weights.dtype))
        return frames

    def pool(self, frames: torch.Tensor) -> torch.Tensor:
        """Pools the frame embeddings (n, d) of one clip into a unit vector (d,), in float32."""
        return pool_frames(frames, self._pooling)

    def embed_texts(self, texts: Sequence[str]) -> tuple[torch.Tensor, list[bool]]:
        """Encodes texts into unit vectors (n, d) in float32, with a flag for each truncated text.

        open_clip pads every text to the model's full length, so batches need no sorting.
        """
        model: Any = self.module
        device = next(self.module.parameters()).device
        tokens, truncated = self._tokens(texts)
        batches = torch.split(tokens, self._text_batch)
        return torch.cat([unit(model.encode_text(ids.to(device))) for ids in batches]), truncated


class _TokenBatches:
    """An architecture's tokenizer, which also tells which texts it cut."""

    def __init__(self, arch: str, text_config: Mapping[str, Any]) -> None:
        open_clip = _library()
        hub_name = text_config.get("hf_tokenizer_name")
        source = find_checkpoint(hub_name) if hub_name else None
        self.identity = source.identity() if source else None
        with explained(arch, "tokenizer"), quietly():
            self._tokenizer = open_clip.get_tokenizer(
                arch, **(source.load_options() if source else {})
            )
        self.length = int(self._tokenizer.context_length)

    def __call__(self, texts: Sequence[str]) -> tuple[torch.Tensor, list[bool]]:
        """Returns ids (n, length), int64, and a flag per text.

        With room for one token more, a text that fits only gains padding; one that was cut gains a
        token, or has another before its end-of-text token, which may be the padding token too.
        """
        tokens: torch.Tensor = self._tokenizer(list(texts), context_length=self.length)
        roomier = self._tokenizer(list(texts), context_length=self.length + 1)
        padding = self._tokenizer([""], context_length=self.length)[0, -1]
        last = self.length - 1
        cut = (roomier[:, last + 1] != padding) | (roomier[:, last] != tokens[:, last])
        return tokens, cut.tolist()


def _library() -> Any:
    try:
        import open_clip
    except ImportError as error:
        raise ModelError(
            "open_clip is not installed",
            where="model=open_clip",
            why=str(error),
            mend='pip install "vbench-eval[open_clip]"',
        ) from None
    return open_clip


def _config(arch: str) -> dict[str, Any]:
    open_clip = _library()
    config: dict[str, Any] | None = open_clip.get_model_config(arch)
    if config is None:
        raise ModelError(
            f"open_clip has no architecture '{arch}'",
            where="model.arch",
            mend=did_you_mean(arch, open_clip.list_models())
            or "python -c 'import open_clip; print(open_clip.list_models())' prints all",
        )
    return config


def _find_weights(arch: str, pretrained: str) -> tuple[dict[str, Any], Path | None]:
    """Returns the settings of a tag, whose file is yet to be fetched, or a file on this machine."""
    open_clip = _library()
    tag: dict[str, Any] = open_clip.get_pretrained_cfg(arch, pretrained)
    if tag:
        return tag, None
    path = Path(pretrained).expanduser()
    if path.is_file():
        return {}, path
    if looks_like_path(pretrained) or path.suffix in {".pt", ".pth", ".bin", ".safetensors"}:
        raise missing_path(pretrained, "file")
    tags = open_clip.list_pretrained_tags_by_model(arch)
    raise ModelError(
        f"open_clip has no weights '{pretrained}' for {arch}",
        where="model.pretrained",
        why="it is no tag of this architecture, and no file of that name exists",
        mend=did_you_mean(pretrained, tags) or "name a weight file",
    )


def _preprocessing(config: Mapping[str, Any], tag: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what `create_model` would leave in `model.visual.preprocess_cfg`.

    That is open_clip's defaults (which `from_open_clip` fills in), then the vision tower's image
    size, then what the tag says.
    """
    size = {"size": config["vision_cfg"].get("image_size", 224)}
    return size | {key: value for key, value in tag.items() if value is not None}


def _fetch(name: str, tag: Mapping[str, Any]) -> Path:
    from open_clip.pretrained import download_pretrained, download_pretrained_from_hf

    repository, file = os.path.split(tag.get("hf_hub") or "")
    if not repository:
        with explained(name, "weight file"), quietly():
            return Path(download_pretrained(dict(tag)))
    found = find_checkpoint(repository)
    if found.local_files_only:
        return _cached(name, found, file)
    with explained(name, "weight file"), quietly():
        return Path(
            download_pretrained_from_hf(repository, filename=file or None, revision=found.revision)
        )


def _cached(name: str, found: Checkpoint, file: str) -> Path:
    from huggingface_hub import snapshot_download

    folder = Path(snapshot_download(found.source, revision=found.revision, local_files_only=True))
    for candidate in ("open_clip_model.safetensors", file, "open_clip_pytorch_model.bin"):
        if candidate and (folder / candidate).is_file():
            return folder / candidate
    raise ModelError(
        "the hub cannot be reached and the weights are not in its local cache",
        where=f"checkpoint {name} ({found.source})",
        mend="connect once to fetch them, or name a local file: model.pretrained=…",
    )


def _build(arch: str, tag: Mapping[str, Any], *, quick_gelu: bool) -> Any:
    """Builds the architecture in float32 with random weights."""
    open_clip = _library()
    with explained(arch, "architecture"), quietly():
        return open_clip.create_model(
            arch,
            load_weights=False,
            precision="fp32",
            pretrained_text=False,
            force_preprocess_cfg=dict(tag),
            quick_gelu=quick_gelu,
        )


def _fill(model: torch.nn.Module, weights: Path, name: str) -> None:
    """Loads weights that must fill the model exactly; training checkpoints are unwrapped."""
    with explained(name, "weight file"), quietly():
        result = _library().load_checkpoint(model, str(weights), strict=False, weights_only=True)
    if result:
        check_keys(
            name,
            total=len(model.state_dict()),
            missing=result.missing_keys,
            unexpected=result.unexpected_keys,
        )
