"""Checkpoints in the layout of LLaVA's own code of 2023, which several video models share.

config.json is LLaMA's with keys `mm_…` beside; names of weights are LLaMA's, the projector among
them; CLIP lies in a repository of its own, which `mm_vision_tower` names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import torch
from tokenizers import AddedToken
from torch import Tensor
from transformers import CLIPVisionConfig, LlamaConfig, LlamaTokenizer, PreTrainedConfig
from transformers.configuration_utils import SubConfigSpec

from vbench.checkpoints import Checkpoint, find_checkpoint
from vbench.models.vlm.lora import read_shards
from vbench.models.vlm.spliced import SplicedModel
from vbench.models.vlm.spliced_processor import spaced_by_segment

State = dict[str, Tensor]

_TOWER = "vision_tower."
_VOCABULARY = ("language_model.model.embed_tokens.weight", "language_model.lm_head.weight")
_CLIP = ("embeddings.", "encoder.", "pre_layrnorm.", "post_layernorm.")
"""How names begin in a CLIP vision model that transformers 5 saved."""


class LlavaFilesConfig(PreTrainedConfig):
    """The sizes of such a model, CLIP's read from where CLIP lies."""

    sub_configs_defaults: ClassVar[dict[str, Any]] = {
        "vision_config": SubConfigSpec(config_class=CLIPVisionConfig),
        "text_config": SubConfigSpec(config_class=LlamaConfig),
    }
    own_keys: ClassVar[tuple[str, ...]] = ()
    """What else is read from config.json."""

    vision_config: dict[str, Any] | PreTrainedConfig | None = None
    text_config: dict[str, Any] | PreTrainedConfig | None = None
    mm_vision_tower: str = ""
    files: dict[str, Any] | None = None
    """Where the language model's files lie: the fields of a `Checkpoint`."""
    written: str = ""
    """The model_type in config.json."""
    video_token_id: int = 0
    """What stands for a visual feature."""
    tie_word_embeddings: bool = False

    @classmethod
    def from_pretrained(cls, source: Any, **options: Any) -> Self:
        """Reads config.json, that of CLIP, and the tokenizer, which marks are added to.

        Args:
            source: A folder or a hub id.
            options: `revision`, `local_files_only`.

        Raises:
            ModelError: There is no CLIP where config.json says.
            KeyError: config.json does not say where CLIP lies.
        """
        said, _ = cls.get_config_dict(source, **options)
        tower = find_checkpoint(str(said["mm_vision_tower"]))
        vision = CLIPVisionConfig.from_pretrained(tower.source, **tower.load_options())
        language = _language(said)
        own = {key: said[key] for key in cls.own_keys if key in said}
        config = cls(
            vision_config=vision,
            text_config=language,
            mm_vision_tower=said["mm_vision_tower"],
            files={"name": str(source), "source": str(source), **options},
            written=said.get("model_type", ""),
            **own,
        )
        tokenizer = config.make_tokenizer(source, **options)
        config.video_token_id = tokenizer.convert_tokens_to_ids(config.video_token)
        language.vocab_size = config.vocabulary(len(tokenizer))
        config.text_config = language
        return config

    @property
    def video_token(self) -> str:
        """What stands for a visual feature, as text."""
        raise NotImplementedError

    def vocabulary(self, words: int) -> int:
        """Returns how many rows the embedding has for a tokenizer of so many words."""
        return words

    def make_tokenizer(self, source: Any, **options: Any) -> Any:
        """Reads the tokenizer as the model's code does."""
        raise NotImplementedError

    @property
    def tower(self) -> Checkpoint:
        """Where CLIP lies."""
        return find_checkpoint(self.mm_vision_tower)


def _language(said: Mapping[str, Any]) -> LlamaConfig:
    """Returns LLaMA's part of config.json; its context was called otherwise in 2023."""
    names = ("model_type", "architectures", "auto_map", "dtype", "torch_dtype")
    kept = {
        key: value
        for key, value in said.items()
        if key not in names and not key.startswith(("mm_", "use_mm_", "tune_mm_"))
    }
    if "max_sequence_length" in said:
        kept["max_position_embeddings"] = said["max_sequence_length"]
    return LlamaConfig(**kept)


class LlavaFilesModel(SplicedModel):
    """A model whose weights lie in such files.

    What derives from it has a `ClipTower` as `vision_tower`, and names its other parts on the
    vision side as the files do after `model.`.
    """

    own_tower: ClassVar[bool] = False
    """Whether CLIP's weights are taken from the model's own files where they hold them."""
    parts: ClassVar[tuple[str, ...]] = ("mm_projector.",)
    """How names of parts on the vision side begin."""
    spare: ClassVar[tuple[str, ...]] = ()
    """How names begin of weights in the files that the model makes no use of."""

    @classmethod
    def from_pretrained(
        cls,
        pretrained_model_name_or_path: Any = None,
        *,
        config: Any,
        state_dict: State | None = None,
        **options: Any,
    ) -> Any:
        """Loads the files that the config was read from.

        Args:
            pretrained_model_name_or_path: Of no use: the config knows.
            config: A `LlavaFilesConfig` with `files`.
            state_dict: Weights that replace those of the files.
            options: What else transformers' `from_pretrained` takes.

        Raises:
            FileNotFoundError: There are no weights.
        """
        for name in ("revision", "local_files_only", "trust_remote_code"):
            options.pop(name, None)
        own = cls._renamed(read_shards(Checkpoint(**config.files)))
        for name in _VOCABULARY:
            if name in own:
                own[name] = _rows(own[name], config.text_config.vocab_size)
        held = any(name.startswith(_TOWER) for name in own)
        state = ({} if held else _clip(config.tower)) | own | cls._renamed(state_dict or {})
        return super().from_pretrained(None, config=config, state_dict=state, **options)

    @classmethod
    def _renamed(cls, state: State) -> State:
        """Gives weights the names they have here, CLIP's left out where they are not taken."""
        named = {}
        while state:
            name, value = state.popitem()
            inner = name.removeprefix("model.")
            if inner.startswith(_TOWER):
                if cls.own_tower:
                    named[inner] = value
            elif inner.startswith(cls.parts):
                named[inner] = value
            elif not inner.startswith(cls.spare):
                named[f"language_model.{name}"] = value
        return named


def _clip(tower: Checkpoint) -> State:
    """Reads the vision side of a CLIP, whole or alone."""
    found = {}
    for name, value in read_shards(tower).items():
        inner = name.removeprefix("vision_model.")
        if inner.startswith(_CLIP) and not inner.endswith("position_ids"):
            found[f"{_TOWER}vision_model.{inner}"] = value
    return found


def _rows(weight: Tensor, count: int) -> Tensor:
    """Gives a vocabulary as many rows as there are words: new ones are the mean of the others.

    So does the training of these models; their inference leaves rows that no file holds random.
    """
    if len(weight) >= count:
        return weight[:count]
    mean = weight.float().mean(dim=0, keepdim=True).to(weight.dtype)
    return torch.cat([weight, mean.expand(count - len(weight), -1)])


def marked_tokenizer(
    source: Any, marks: tuple[str, ...], bare: tuple[str, ...] = (), **options: Any
) -> Any:
    """Reads LLaMA's tokenizer as its slow one of 2023 read texts, marks added after its words.

    That one takes the spaces and line breaks around a mark away, and puts a space before each
    segment between marks.

    Args:
        source: A folder or a hub id.
        marks: Added in this order where they are not there.
        bare: Added after those; the spaces around them stay.
        options: `revision`, `local_files_only`.
    """
    tokenizer = LlamaTokenizer.from_pretrained(source, add_bos_token=True, **options)
    added = [
        AddedToken(mark, lstrip=strips, rstrip=strips, normalized=False, special=True)
        for group, strips in ((marks, True), (bare, False))
        for mark in group
    ]
    tokenizer.add_tokens(added, special_tokens=True)
    return spaced_by_segment(tokenizer)
