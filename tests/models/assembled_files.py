"""Files of models that are CLIP, something between, and LLaMA: names, shapes, vocabularies."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

State = dict[str, torch.Tensor]
Shapes = dict[str, tuple[int, ...]]

SPECIALS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}


def linear(name: str, out: int, inside: int) -> Shapes:
    return {f"{name}.weight": (out, inside), f"{name}.bias": (out,)}


def norm(name: str, width: int) -> Shapes:
    return {f"{name}.weight": (width,), f"{name}.bias": (width,)}


@dataclass(frozen=True, kw_only=True)
class Transformer:
    """Its sizes, and how a config says them."""

    width: int = 8
    between: int = 12
    """The channels between the two products of a feed-forward part."""
    layers: int = 2
    heads: int = 2

    def config(self) -> dict[str, Any]:
        return {
            "hidden_size": self.width,
            "intermediate_size": self.between,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
        }

    def mlp(self, one: str, two: str) -> Shapes:
        """The feed-forward part, by the names of its products."""
        return linear(one, self.between, self.width) | linear(two, self.width, self.between)


@dataclass(frozen=True, kw_only=True)
class Clip(Transformer):
    """The vision side of a CLIP, as files of transformers 4 name it."""

    layers: int = 3
    side: int = 16
    patch: int = 4

    def shapes(self, root: str) -> Shapes:
        width = self.width
        shapes = {
            f"{root}.embeddings.class_embedding": (width,),
            f"{root}.embeddings.patch_embedding.weight": (width, 3, self.patch, self.patch),
            f"{root}.embeddings.position_embedding.weight": (
                (self.side // self.patch) ** 2 + 1,
                width,
            ),
            **norm(f"{root}.pre_layrnorm", width),
            **norm(f"{root}.post_layernorm", width),
        }
        for layer in (f"{root}.encoder.layers.{number}" for number in range(self.layers)):
            for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
                shapes |= linear(f"{layer}.self_attn.{name}", width, width)
            shapes |= norm(f"{layer}.layer_norm1", width) | norm(f"{layer}.layer_norm2", width)
            shapes |= self.mlp(f"{layer}.mlp.fc1", f"{layer}.mlp.fc2")
        return shapes

    def config(self) -> dict[str, Any]:
        own = {"model_type": "clip_vision_model", "image_size": self.side, "patch_size": self.patch}
        return super().config() | own


@dataclass(frozen=True, kw_only=True)
class Llama(Transformer):
    """A LLaMA."""

    vocabulary: int
    width: int = 16
    between: int = 24
    context: int = 4096

    def shapes(self, root: str = "") -> Shapes:
        width = self.width
        shapes: Shapes = {
            f"{root}model.embed_tokens.weight": (self.vocabulary, width),
            f"{root}model.norm.weight": (width,),
            f"{root}lm_head.weight": (self.vocabulary, width),
        }
        for layer in (f"{root}model.layers.{number}" for number in range(self.layers)):
            for name in ("q", "k", "v", "o"):
                shapes[f"{layer}.self_attn.{name}_proj.weight"] = (width, width)
            for name in ("gate", "up"):
                shapes[f"{layer}.mlp.{name}_proj.weight"] = (self.between, width)
            shapes[f"{layer}.mlp.down_proj.weight"] = (width, self.between)
            for name in ("input_layernorm", "post_attention_layernorm"):
                shapes[f"{layer}.{name}.weight"] = (width,)
        return shapes

    def config(self) -> dict[str, Any]:
        own = {"vocab_size": self.vocabulary, "max_position_embeddings": self.context}
        return super().config() | own | {"bos_token_id": 1, "eos_token_id": 2}


def random_tensors(shapes: Mapping[str, tuple[int, ...]], scale: float, seed: int = 3) -> State:
    """Draws weights; those of norms around one, those of the last layer so that answers differ."""
    made = torch.Generator().manual_seed(seed)
    state = {}
    for name, shape in shapes.items():
        centre = 1.0 if re.search(r"(norm\w*|ln)\.weight$", name) else 0.0
        state[name] = centre + scale * torch.randn(shape, generator=made)
        if name.endswith("lm_head.weight"):
            state[name] *= 5
    return state


def write_sentences(folder: Path, texts: Sequence[str], pieces: int = 460) -> int:
    """Trains a SentencePiece model with LLaMA's settings and returns its size."""
    import sentencepiece

    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_prefix=str(folder / "tokenizer"), vocab_size=pieces,
        model_type="bpe", byte_fallback=True, normalization_rule_name="identity",
        remove_extra_whitespaces=False, hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    (folder / "tokenizer.vocab").unlink()
    model = sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
    return int(model.get_piece_size())


def write_bins(folder: Path, state: State) -> None:
    """Writes two shards of pickled tensors and their index."""

    def save(part: State, file: str) -> str:
        torch.save(part, folder / f"pytorch_model-{file}.bin")
        return f"pytorch_model-{file}.bin"

    _shards(folder / "pytorch_model.bin.index.json", state, save)


def write_safetensors(folder: Path, state: State) -> None:
    """Writes two shards and their index."""
    from safetensors.torch import save_file

    def save(part: State, file: str) -> str:
        save_file(part, folder / f"model-{file}.safetensors", metadata={"format": "pt"})
        return f"model-{file}.safetensors"

    _shards(folder / "model.safetensors.index.json", state, save)


def write_vicuna(
    folder: Path,
    texts: Sequence[str],
    config: Mapping[str, Any],
    write: Callable[[Path, State], None] = write_bins,
    pieces: int = 460,
) -> tuple[Llama, State]:
    """Makes a folder of Vicuna v0's files; `config`: what else its config.json says."""
    folder.mkdir()
    words = write_sentences(folder, texts, pieces)
    tokenizer = {**SPECIALS, "tokenizer_class": "LlamaTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    llama = Llama(vocabulary=words + 1, context=512)  # Vicuna v0 has a row for a [PAD]
    said = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "rms_norm_eps": 1e-6}
    said |= {"torch_dtype": "float16"}
    (folder / "config.json").write_text(json.dumps({**llama.config(), **said, **config}))
    state = random_tensors(llama.shapes(), 0.4)
    write(folder, state)
    return llama, state


def _shards(index: Path, state: State, save: Any) -> None:
    names, places = sorted(state), {}
    for number, part in enumerate((names[::2], names[1::2]), start=1):
        file = save({name: state[name] for name in part}, f"0000{number}-of-00002")
        places |= dict.fromkeys(part, file)
    index.write_text(json.dumps({"metadata": {"total_size": 0}, "weight_map": places}))
