"""OpenClip against transformers' CLIP on the same weights."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch import Tensor

from vbench.errors import ModelError
from vbench.models.open_clip import OpenClip
from vbench.preprocess import from_open_clip
from vbench.protocols import FrameEncoder, TextLimit

open_clip = pytest.importorskip("open_clip", reason="the extra open_clip is not installed")
pytestmark = pytest.mark.usefixtures("tiny_arch")

ARCH = "tiny-B-16"
TEXTS = ["a red circle jumps", "the blue square pushes it and then it sleeps", "red"]


def transformers_answer(
    model: torch.nn.Module, activation: str, pixels: Tensor, tokens: Tensor
) -> tuple[Tensor, Tensor]:
    from transformers.activations import ACT2FN

    for name, module in model.named_modules():
        if name.endswith("mlp"):
            module.activation_fn = ACT2FN[activation]
    with torch.no_grad():
        images = model.get_image_features(pixels).pooler_output
        texts = model.get_text_features(tokens).pooler_output
    return images, torch.nn.functional.normalize(texts, dim=-1)


def test_equals_transformers_with_either_activation(
    weights: Path, hugging_face: torch.nn.Module
) -> None:
    torch.manual_seed(1)
    pixels, tokens = torch.randn(3, 3, 32, 32), open_clip.tokenize(TEXTS)
    answers = {}
    for activation in ("gelu", "quick_gelu"):
        model = OpenClip(ARCH, str(weights), activation=activation)
        images, texts = transformers_answer(hugging_face, activation, pixels, tokens)
        assert (model.embed_frames(pixels) - images).abs().max() < 1e-5
        vectors, truncated = model.embed_texts(TEXTS)
        assert (vectors - texts).abs().max() < 1e-5
        assert truncated == [False] * 3
        answers[activation] = vectors
    assert (answers["gelu"] - answers["quick_gelu"]).abs().max() > 1e-3


def test_weights_are_read_on_first_use(tmp_path: Path) -> None:
    (tmp_path / "x.pth").write_bytes(b"no weights here")
    model = OpenClip(ARCH, str(tmp_path / "x.pth"))
    assert model.identity()
    assert isinstance(model, TextLimit)
    assert model.overlong(["red"]) == [False]
    with pytest.raises(ModelError):
        _ = model.module


def test_is_a_frame_encoder_in_float32(weights: Path) -> None:
    model = OpenClip(ARCH, str(weights))
    assert isinstance(model, FrameEncoder)
    assert {p.dtype for p in model.module.parameters()} == {torch.float32}
    assert not model.module.training
    assert not any(p.requires_grad for p in model.module.parameters())


def test_a_file_gets_the_activation_of_its_architecture(weights: Path) -> None:
    for arch, expected in ((ARCH, "gelu"), (f"{ARCH}-quickgelu", "quick_gelu")):
        assert json.loads(OpenClip(arch, str(weights)).identity())["activation"] == expected
    forced = OpenClip(f"{ARCH}-quickgelu", str(weights), activation="gelu")
    plain = OpenClip(ARCH, str(weights))
    assert torch.equal(forced.embed_texts(TEXTS)[0], plain.embed_texts(TEXTS)[0])


def test_a_tag_brings_its_activation_and_preprocessing(
    weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ViT-B-32 with openai builds GELU in open_clip since 2.29, with no more than a warning."""
    tag = {"file": str(weights), "quick_gelu": True, "mean": (0.5,) * 3, "std": (0.5,) * 3}
    tag |= {"interpolation": "bicubic", "resize_mode": "squash"}
    monkeypatch.setitem(open_clip.pretrained._PRETRAINED, ARCH, {"openai": tag})
    model = OpenClip(ARCH, "openai")
    assert json.loads(model.identity())["activation"] == "quick_gelu"
    quick = OpenClip(f"{ARCH}-quickgelu", str(weights))
    assert torch.equal(model.embed_texts(TEXTS)[0], quick.embed_texts(TEXTS)[0])
    assert (model.preprocess.fit, model.preprocess.mean) == ("squash", (0.5, 0.5, 0.5))
    assert quick.preprocess.fit == "shortest_edge"
    assert model.preprocess.size == (32, 32)
    for made in (model, quick):  # known from configs, before open_clip builds anything
        assert made.preprocess == from_open_clip(made.module.visual.preprocess_cfg)


def test_truncated_texts_are_flagged(weights: Path) -> None:
    model = OpenClip(ARCH, str(weights), text_batch=2)
    words = [" ".join(["red"] * n) for n in (74, 75, 76, 200)]  # with two special tokens: 76, 77, …
    vectors, truncated = model.embed_texts(words)
    assert truncated == model.overlong(words) == [False, False, True, True]
    assert model.max_text_tokens == 77
    assert torch.allclose(vectors[1], vectors[3], atol=1e-6)  # both cut to 75 words
    alone = torch.cat([model.embed_texts([text])[0] for text in words])
    assert torch.allclose(vectors, alone, atol=1e-6)


def test_truncation_where_padding_is_the_end_token(weights: Path, siglip_folder: Path) -> None:
    """SigLIP's tokenizer pads with its end token, so the last id alone tells nothing."""
    from open_clip.tokenizer import HFTokenizer

    model = OpenClip(ARCH, str(weights))
    model._tokens._tokenizer = HFTokenizer(str(siglip_folder), context_length=6)
    model._tokens.length = 6
    full = model._tokens._tokenizer.tokenizer("one two three four five six seven")["input_ids"]
    assert len(full) > 8
    decode = model._tokens._tokenizer.tokenizer.decode
    texts = [decode(full[:n]) for n in range(3, 9)]
    needed = [len(model._tokens._tokenizer.tokenizer(text)["input_ids"]) for text in texts]
    assert {5, 6, 7} <= set(needed)
    assert model._tokens(texts)[1] == [n > 6 for n in needed]


def test_truncation_without_an_end_token(
    weights: Path, siglip2_folder: Path, tmp_path: Path
) -> None:
    from open_clip.tokenizer import HFTokenizer

    tokenizer = json.loads((siglip2_folder / "tokenizer.json").read_text())
    (tmp_path / "tokenizer.json").write_text(json.dumps({**tokenizer, "post_processor": None}))
    config = json.loads((siglip2_folder / "tokenizer_config.json").read_text())
    config["padding_side"] = "right"
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    model = OpenClip(ARCH, str(weights))
    model._tokens._tokenizer = HFTokenizer(str(tmp_path), context_length=6)
    model._tokens.length = 6
    words = ["one", "two", "three", "four", "five", "six"]
    texts = [" ".join(words[:n]) for n in range(1, 7)]
    needed = [len(model._tokens._tokenizer.tokenizer(text)["input_ids"]) for text in texts]
    assert {6, 7} <= set(needed)
    assert model._tokens(texts)[1] == [n > 6 for n in needed]


def test_pooling_orders_differ(weights: Path) -> None:
    first, second = (
        OpenClip(ARCH, str(weights), pooling=pooling)
        for pooling in ("mean_then_normalise", "normalise_then_mean")
    )
    raw = torch.tensor([[3.0, 0.0], [0.0, 1.0]])
    assert torch.allclose(first.pool(raw), torch.tensor([3.0, 1.0]) / 10**0.5)
    assert torch.allclose(second.pool(raw), torch.tensor([1.0, 1.0]) / 2**0.5)
    assert first.identity() != second.identity()


def test_runs_in_bfloat16(weights: Path) -> None:
    model = OpenClip(ARCH, str(weights))
    model.module.to(torch.bfloat16)
    assert model.embed_frames(torch.zeros(2, 3, 32, 32)).dtype == torch.bfloat16
    assert model.embed_texts(TEXTS)[0].dtype == torch.float32


def test_identity_is_content_not_place(weights: Path, tmp_path: Path) -> None:
    model = OpenClip(ARCH, str(weights))
    copy = tmp_path / "copy.pth"
    copy.write_bytes(weights.read_bytes())
    assert OpenClip(ARCH, str(copy)).identity() == model.identity()
    assert "negclip" not in model.identity()
    state = torch.load(weights, weights_only=True)["state_dict"]
    changed = tmp_path / "x.pth"
    torch.save(state | {"module.logit_scale": torch.tensor(2.0)}, changed)
    others = [
        OpenClip(ARCH, str(changed)),
        OpenClip(ARCH, str(weights), activation="quick_gelu"),
        OpenClip(f"{ARCH}-quickgelu", str(weights), activation="gelu"),
    ]
    assert model.identity() not in {other.identity() for other in others}
