"""How texts are cut, padded and ended, family by family."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from vbench.errors import ConfigError, ModelError
from vbench.models.dual_encoder import DualEncoder

Edit = Callable[[str, Callable[[dict], None]], Path]


def test_end_of_text_must_be_what_the_encoder_reads(clip_folder: Path, edit: Edit) -> None:
    def set_eos(value: int) -> Callable[[dict], None]:
        return lambda config: config["text_config"].update(eos_token_id=value)

    largest = DualEncoder(str(clip_folder)).module.config.text_config.vocab_size - 1
    DualEncoder(str(edit("config.json", set_eos(largest))))  # the newer spelling of the same
    with pytest.raises(ModelError, match="does not end texts") as caught:
        DualEncoder(str(edit("config.json", set_eos(5))))
    assert f"id {largest}" in caught.value.why


def test_legacy_end_of_text_needs_the_largest_id(clip_folder: Path, edit: Edit) -> None:
    def add_token(tokenizer: dict) -> None:
        entry = dict(tokenizer["added_tokens"][0], id=len(tokenizer["model"]["vocab"]) + 1)
        tokenizer["added_tokens"].append(dict(entry, content="<|extra|>"))

    with pytest.raises(ModelError, match="does not end texts"):
        DualEncoder(str(edit("tokenizer.json", add_token)))


@pytest.mark.parametrize("tokens", [0, 78])
def test_max_text_tokens_beyond_the_model_is_refused(clip_folder: Path, tokens: int) -> None:
    with pytest.raises(ConfigError, match=f"cannot be {tokens}") as caught:
        DualEncoder(str(clip_folder), max_text_tokens=tokens)
    assert "1 to 77" in caught.value.mend


def test_siglip_tokenizer_drops_case_and_punctuation(siglip_folder: Path) -> None:
    model = DualEncoder(str(siglip_folder))
    plain, shouted = model.embed_texts(["a red circle jumps", "A RED circle, jumps!"])[0]
    assert torch.equal(plain, shouted)


def test_truncated_texts_are_flagged_and_keep_their_end(clip_folder: Path) -> None:
    model = DualEncoder(str(clip_folder), max_text_tokens=8)
    words = [" ".join(["red"] * n) for n in (5, 6, 7, 30)]  # with two special tokens: 7, 8, 9, 32
    vectors, truncated = model.embed_texts(words)
    assert truncated == [False, False, True, True]
    assert torch.allclose(
        vectors[2], vectors[1], atol=1e-6
    )  # cut to the same eight tokens, end token kept
    long = " ".join(["one"] * 100)
    assert DualEncoder(str(clip_folder)).embed_texts(["a", long])[1] == [False, True]
