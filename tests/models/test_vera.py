"""VERA against its published arithmetic, one text at a time in double precision, on a tiny T5."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from vbench.errors import ConfigError, ModelError
from vbench.models.vera import Vera
from vbench.protocols import PairScorer, TextLimit, TextScorer

from .conftest import State

TEXTS = [
    "a red circle jumps slowly",
    "the man in the suit walks away then he is lying in the snow",
    "a",
    "first in a dark bar",
    "eleven twelve nine",
    "the blue square pushes it",
]


@pytest.fixture(scope="module")
def folder(vera_folder: Path) -> Path:
    return vera_folder


@pytest.fixture
def rewrite(folder: Path, tmp_path: Path) -> Callable[[Callable[[State], State]], Path]:
    """Copies the checkpoint with other weights."""

    def copy(change: Callable[[State], State]) -> Path:
        target = shutil.copytree(folder, tmp_path / "rewritten")
        weights = change(load_file(folder / "model.safetensors"))
        save_file(weights, target / "model.safetensors", metadata={"format": "pt"})
        return target

    return copy


@cache
def loaded(folder: Path) -> tuple[Any, Any]:
    from transformers import AutoTokenizer, T5EncoderModel

    module = T5EncoderModel.from_pretrained(folder, dtype=torch.float64)
    return AutoTokenizer.from_pretrained(folder), module


def published(folder: Path, text: str, *, calibrated: bool = True, most: int = 128) -> float:
    """Scores one text alone, without padding, as the checkpoint's card says."""
    tokenizer, module = loaded(folder)
    rows = load_file(folder / "model.safetensors")["shared.weight"].double()
    ids = tokenizer(text).input_ids
    ids = ids if len(ids) <= most else [*ids[: most - 1], 1]
    with torch.no_grad():
        states = module(input_ids=torch.tensor([ids])).last_hidden_state
    logit = float(states[0, len(ids) - 1] @ rows[32099] + rows[32098, 0])
    return 1 / (1 + math.exp(-logit / (float(rows[32097, 0]) if calibrated else 1.0)))


@pytest.mark.parametrize("calibrated", [True, False])
def test_scores_are_those_of_the_published_arithmetic(folder: Path, calibrated: bool) -> None:
    scores, truncated = Vera(str(folder), calibrated=calibrated).score_texts(TEXTS)
    expected = [published(folder, text, calibrated=calibrated) for text in TEXTS]
    assert scores == pytest.approx(expected, abs=1e-6)
    assert max(scores) - min(scores) > 0.05
    assert truncated == [False] * len(TEXTS)


@pytest.mark.parametrize("text_batch", [1, 2, 5])
def test_neither_batch_nor_order_nor_neighbours_matter(folder: Path, text_batch: int) -> None:
    whole = Vera(str(folder)).score_texts(TEXTS)[0]
    other = Vera(str(folder), text_batch=text_batch).score_texts(TEXTS[::-1])[0][::-1]
    assert other == pytest.approx(whole, abs=1e-6)


def test_a_bin_file_of_half_precision_gives_the_same_head(folder: Path, tmp_path: Path) -> None:
    target = shutil.copytree(folder, tmp_path / "bin")
    state = {
        key: value.bfloat16() for key, value in load_file(folder / "model.safetensors").items()
    }
    (target / "model.safetensors").unlink()
    torch.save(state, target / "pytorch_model.bin")
    save_file(state, tmp_path / "model.safetensors", metadata={"format": "pt"})
    rounded = shutil.copytree(folder, tmp_path / "rounded")
    shutil.copy(tmp_path / "model.safetensors", rounded / "model.safetensors")
    scores = Vera(str(target)).score_texts(TEXTS)[0]
    assert scores == pytest.approx([published(rounded, text) for text in TEXTS], abs=1e-6)


@pytest.mark.parametrize(
    "kept", ["shared.weight", "encoder.embed_tokens.weight", "both", "decoder"]
)
def test_each_way_of_storing_the_embeddings(
    folder: Path, rewrite: Callable[[Callable[[State], State]], Path], kept: str
) -> None:
    def change(weights: State) -> State:
        rows = weights.pop("shared.weight")
        weights.pop("encoder.embed_tokens.weight", None)
        names = ["shared.weight", "encoder.embed_tokens.weight"] if kept == "both" else [kept]
        if kept == "decoder":
            names = ["shared.weight", "lm_head.weight", "decoder.embed_tokens.weight"]
        return weights | {name: rows.clone() for name in names}

    scores = Vera(str(rewrite(change))).score_texts(TEXTS)[0]
    assert scores == pytest.approx([published(folder, text) for text in TEXTS], abs=1e-6)


def test_long_texts_are_cut_flagged_and_end_as_all_texts_do(folder: Path) -> None:
    model = Vera(str(folder), max_text_tokens=6)
    scores, truncated = model.score_texts(TEXTS)
    assert truncated == [False, True, False, False, False, False]
    assert model.overlong(TEXTS) == truncated
    assert scores == pytest.approx([published(folder, text, most=6) for text in TEXTS], abs=1e-6)
    assert scores[1] != pytest.approx(published(folder, TEXTS[1]), abs=1e-6)
    assert Vera(str(folder)).max_text_tokens == 128


def test_an_empty_text_is_not_plausible(folder: Path) -> None:
    assert Vera(str(folder)).score_texts(["", "a"])[0] == pytest.approx(
        [0.0, published(folder, "a")], abs=1e-6
    )


def test_words_that_look_like_sentinels_do_not_read_the_head(folder: Path) -> None:
    model = Vera(str(folder))
    (sentinel,) = model._tokenizer.convert_tokens_to_ids(["<extra_id_0>"])
    assert sentinel in model._tokenizer("a <extra_id_0>")["input_ids"]
    assert sentinel not in model._tokens(["a <extra_id_0>"])["input_ids"][0]


def test_identity_holds_what_changes_a_score_and_no_path(folder: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(folder, tmp_path / "copy")
    base = Vera(str(folder)).identity()
    assert Vera(str(copied), text_batch=1).identity() == base
    assert Vera(str(folder), calibrated=False).identity() != base
    assert Vera(str(folder), max_text_tokens=9).identity() != base
    assert json.loads(base)["checkpoint"].startswith("sha256:")


def test_the_head_stays_exact_when_the_encoder_is_cast(folder: Path) -> None:
    model = Vera(str(folder))
    before = model.score_texts(TEXTS)[0]
    model.module.to(torch.bfloat16)
    exact = load_file(folder / "model.safetensors")["shared.weight"]
    assert torch.equal(model._loaded[1].weight, exact[32099])
    assert model.score_texts(TEXTS)[0] == pytest.approx(before, abs=0.05)


def test_it_is_a_text_scorer_that_needs_no_clip(folder: Path) -> None:
    model = Vera(str(folder))
    assert isinstance(model, TextScorer)
    assert isinstance(model, TextLimit)
    assert not isinstance(model, PairScorer)
    assert model.needs == {"text"}


def test_a_vocabulary_without_the_rows_is_refused_before_weights_are_read(
    folder: Path, tmp_path: Path
) -> None:
    target = shutil.copytree(folder, tmp_path / "small")
    config = json.loads((target / "config.json").read_text())
    (target / "config.json").write_text(json.dumps(config | {"vocab_size": 32000}))
    (target / "model.safetensors").unlink()
    with pytest.raises(ModelError) as caught:
        Vera(str(target))
    assert "no room for VERA's head" in caught.value.what
    assert "32000 rows, and the head lies in rows 32097 to 32099" in caught.value.why
    assert "vera-base" in caught.value.mend


def test_a_model_that_is_no_t5_is_refused(clip_folder: Path) -> None:
    with pytest.raises(ModelError, match="a clip model is no VERA"):
        Vera(str(clip_folder))


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan])
def test_rows_that_hold_something_else_are_refused(
    rewrite: Callable[[Callable[[State], State]], Path], temperature: float
) -> None:
    def change(weights: State) -> State:
        weights["shared.weight"][32097, 0] = temperature
        return weights

    with pytest.raises(ModelError, match="no plausibility head"):
        _ = Vera(str(rewrite(change))).module


def test_partial_weights_are_refused(rewrite: Callable[[Callable[[State], State]], Path]) -> None:
    def change(weights: State) -> State:
        del weights["encoder.final_layer_norm.weight"]
        return weights

    with pytest.raises(ModelError, match="1 missing"):
        _ = Vera(str(rewrite(change))).module


def test_a_tokenizer_without_an_end_is_refused(folder: Path, tmp_path: Path) -> None:
    target = shutil.copytree(folder, tmp_path / "endless")
    config = json.loads((target / "config.json").read_text())
    (target / "config.json").write_text(json.dumps(config | {"eos_token_id": 5}))
    with pytest.raises(ModelError, match="texts end with id 1, the model looks for 5"):
        Vera(str(target))


@pytest.mark.parametrize("wrong", [{"max_text_tokens": 1}, {"text_batch": 0}])
def test_counts_that_make_no_sense(folder: Path, wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="counts from"):
        Vera(str(folder), **wrong)
