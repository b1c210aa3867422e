"""Files that models in LLaVA's layout of 2023 share: CLIP in a folder of its own, a vocabulary."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import torch

from .assembled_files import SPECIALS, Clip, random_tensors, write_sentences


def write_clip(folder: Path, clip: Clip) -> Path:
    """Writes a CLIP as openai's repositories hold it: both sides in one file, position ids too."""
    from safetensors.torch import save_file

    folder.mkdir()
    state = random_tensors(clip.shapes("vision_model"), 0.4, seed=5)
    state["vision_model.embeddings.position_ids"] = torch.arange(3)[None]
    state["text_model.final_layer_norm.weight"] = torch.ones(4)
    state["visual_projection.weight"] = torch.ones(4, clip.width)
    state["logit_scale"] = torch.ones(())
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    said = {"model_type": "clip", "projection_dim": 4, "vision_config": clip.config()}
    (folder / "config.json").write_text(json.dumps(said))
    return folder


def write_words(folder: Path, texts: Sequence[str], pieces: int, marks: Sequence[str] = ()) -> None:
    """Writes a tokenizer as LLaMA's slow one of 2023 saved itself, marks beside its words."""
    count = write_sentences(folder, texts, pieces)
    assert count == pieces
    said = {**SPECIALS, "tokenizer_class": "LlamaTokenizer", "model_max_length": 2048}
    (folder / "tokenizer_config.json").write_text(json.dumps(said))
    if marks:
        added = {mark: count + number for number, mark in enumerate(marks)}
        (folder / "added_tokens.json").write_text(json.dumps(added))
