"""Our embeddings against direct calls of transformers, on real checkpoint folders."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from jaxtyping import Float
from torch import Tensor

from vbench.errors import ModelError
from vbench.models.dual_encoder import DualEncoder
from vbench.protocols import FrameEncoder, TextLimit

TEXTS = [
    "first in a dark bar the man in the suit walks away then he is lying in the snow",
    "a red circle",
    "The Blue Square pushes it.",
    "one two three four five six seven",
    "a",
]


def frames(n: int, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (n, 6, 8, 3), dtype=np.uint8)
    return [np.kron(frame, np.ones((8, 8, 1), np.uint8)) for frame in coarse]


def reference(folder: Path, **tokenizer_options: object) -> tuple[Tensor, Tensor]:
    """Image (n, d) and text (n, d) embeddings of transformers itself, not normalised."""
    from transformers import AutoModel, AutoTokenizer

    model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    tokens = AutoTokenizer.from_pretrained(folder)(
        TEXTS, return_tensors="pt", truncation=True, **tokenizer_options
    )
    if model.config.model_type == "siglip":
        tokens.pop("attention_mask", None)
    with torch.no_grad():
        images = model.get_image_features(DualEncoder(str(folder)).preprocess(frames(3)))
        texts = model.get_text_features(**tokens)
    return images.pooler_output, texts.pooler_output


def close(a: Tensor, b: Tensor, atol: float = 1e-6) -> bool:
    return a.shape == b.shape and bool((a - b).abs().max() <= atol)


def test_clip_equals_transformers(clip_folder: Path) -> None:
    images, texts = reference(clip_folder, padding=True)
    model = DualEncoder(str(clip_folder))
    assert isinstance(model, FrameEncoder)
    ours: Float[Tensor, "n d"] = model.embed_frames(model.preprocess(frames(3)))
    assert ours.shape == (3, 24)
    assert close(ours, images)
    vectors, truncated = model.embed_texts(TEXTS)
    assert close(vectors, torch.nn.functional.normalize(texts, dim=-1))
    assert close(vectors.norm(dim=-1), torch.ones(5))
    assert truncated == [False] * 5


def test_siglip_equals_transformers(siglip_folder: Path) -> None:
    images, texts = reference(siglip_folder, padding="max_length", max_length=64)
    model = DualEncoder(str(siglip_folder))
    assert close(model.embed_frames(model.preprocess(frames(3))), images)
    vectors, _ = model.embed_texts(TEXTS)
    assert close(vectors, torch.nn.functional.normalize(texts, dim=-1))


def test_weights_are_float32_frozen_and_in_evaluation(clip_folder: Path) -> None:
    module = DualEncoder(str(clip_folder)).module  # the file holds float16
    assert {p.dtype for p in module.parameters()} == {torch.float32}
    assert not any(p.requires_grad for p in module.parameters())
    assert not module.training


def test_weights_are_read_on_first_use(clip_folder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(clip_folder, tmp_path / "damaged")
    (folder / "model.safetensors").write_bytes(b"no weights here")
    model = DualEncoder(str(folder))
    assert model.identity() != DualEncoder(str(clip_folder)).identity()
    assert isinstance(model, TextLimit)
    assert model.overlong(["red " * 75, "red " * 76]) == [False, True]
    assert (model.max_text_tokens, model.embedding_width) == (77, 24)
    with pytest.raises(ModelError):
        _ = model.module


@pytest.mark.parametrize("family", ["clip", "siglip", "siglip2"])
def test_embedding_width_is_known_beforehand(family: str, request: pytest.FixtureRequest) -> None:
    model = DualEncoder(str(request.getfixturevalue(f"{family}_folder")))
    assert model.embed_texts(["a"])[0].shape[-1] == model.embedding_width


def test_clip_text_does_not_depend_on_padding(clip_folder: Path) -> None:
    vectors = {
        padding: DualEncoder(str(clip_folder), text_padding=padding).embed_texts(TEXTS)[0]
        for padding in ("auto", "longest", "max_length")
    }
    assert torch.equal(vectors["auto"], vectors["longest"])
    assert close(vectors["longest"], vectors["max_length"])


def test_siglip_text_depends_on_padding_so_the_family_decides(siglip_folder: Path) -> None:
    vectors = {
        padding: DualEncoder(str(siglip_folder), text_padding=padding).embed_texts(TEXTS)[0]
        for padding in ("auto", "longest", "max_length")
    }
    assert torch.equal(vectors["auto"], vectors["max_length"])
    assert not close(vectors["longest"], vectors["max_length"], atol=1e-3)


def test_siglip2_text_is_lower_cased_and_padded_on_the_right(siglip2_folder: Path) -> None:
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(siglip2_folder)
    assert tokenizer(["A Red"])["input_ids"] != tokenizer(["a red"])["input_ids"]  # keeps case
    tokenizer.padding_side = "right"
    lowered = [text.lower() for text in TEXTS]
    ids = tokenizer(lowered, padding="max_length", max_length=64, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        module = AutoModel.from_pretrained(siglip2_folder, dtype=torch.float32)
        expected = module.get_text_features(ids).pooler_output
    model = DualEncoder(str(siglip2_folder))
    vectors, _ = model.embed_texts(TEXTS)
    assert close(vectors, torch.nn.functional.normalize(expected, dim=-1))
    assert json.loads(model.identity())["lower_case"] is True


def test_order_is_restored_after_sorting_by_length(clip_folder: Path) -> None:
    model = DualEncoder(str(clip_folder), text_batch=2)
    together = model.embed_texts(TEXTS)[0]
    alone = torch.cat([model.embed_texts([text])[0] for text in TEXTS])
    assert close(together, alone)
    assert not close(together, together.flip(0), atol=1e-2)


def test_pooling_orders_differ_and_equal_hand_arithmetic(clip_folder: Path) -> None:
    first = DualEncoder(str(clip_folder))
    second = DualEncoder(str(clip_folder), pooling="normalise_then_mean")
    raw = first.embed_frames(first.preprocess(frames(4))) * torch.tensor(
        [[1.0], [5.0], [1.0], [9.0]]
    )
    mean = raw.numpy().mean(0)
    units = (raw.numpy() / np.linalg.norm(raw.numpy(), axis=1, keepdims=True)).mean(0)
    assert np.allclose(first.pool(raw), mean / np.linalg.norm(mean), atol=1e-6)
    assert np.allclose(second.pool(raw), units / np.linalg.norm(units), atol=1e-6)
    assert not close(first.pool(raw), second.pool(raw), atol=1e-3)
    assert first.pool(raw.bfloat16()).dtype == torch.float32


def test_runs_in_bfloat16_when_the_loop_casts_the_module(clip_folder: Path) -> None:
    model = DualEncoder(str(clip_folder))
    exact = model.embed_frames(model.preprocess(frames(2)))
    model.module.to(torch.bfloat16)
    rough = model.embed_frames(model.preprocess(frames(2)))
    assert rough.dtype == torch.bfloat16
    assert torch.nn.functional.cosine_similarity(exact, rough.float()).min() > 0.99
    assert model.embed_texts(TEXTS)[0].dtype == torch.float32


def test_preprocess_is_picklable_and_follows_both_config_formats(
    clip_folder: Path, siglip2_folder: Path
) -> None:
    for folder in (clip_folder, siglip2_folder):
        preprocess = DualEncoder(str(folder)).preprocess
        again = pickle.loads(pickle.dumps(preprocess))  # noqa: S301 - our own bytes
        assert torch.equal(preprocess(frames(2)), again(frames(2)))
        assert preprocess.digest() == again.digest()
    square = DualEncoder(str(siglip2_folder)).preprocess(frames(1))
    assert square.shape == (1, 3, 32, 32)
    assert square.min() >= -1
    assert square.max() <= 1


def test_preprocess_is_the_image_processor_of_the_checkpoint(
    clip_folder: Path, siglip_folder: Path
) -> None:
    from transformers import AutoImageProcessor

    for folder in (clip_folder, siglip_folder):
        processor = AutoImageProcessor.from_pretrained(folder, backend="pil")
        theirs = processor(frames(2), return_tensors="pt")["pixel_values"]
        grey_level = 1 / 255 / min(processor.image_std)
        ours = DualEncoder(str(folder)).preprocess(frames(2))
        assert (ours - theirs).abs().mean() < 0.1 * grey_level
        assert close(ours, theirs, 2.01 * grey_level)  # hard edges; resize is tested elsewhere


def test_identity_is_content_not_place(clip_folder: Path, tmp_path: Path) -> None:
    model = DualEncoder(str(clip_folder))
    copy = tmp_path / "elsewhere"
    shutil.copytree(clip_folder, copy)
    assert DualEncoder(str(copy)).identity() == model.identity()
    assert str(clip_folder.parent) not in model.identity()
    weights = bytearray((copy / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (copy / "model.safetensors").write_bytes(weights)
    assert DualEncoder(str(copy)).identity() != model.identity()


@pytest.mark.parametrize(
    "setting",
    [
        {"pooling": "normalise_then_mean"},
        {"text_padding": "max_length"},
        {"max_text_tokens": 20},
    ],
)
def test_identity_names_every_setting_that_changes_an_embedding(
    clip_folder: Path, setting: dict[str, object]
) -> None:
    changed = DualEncoder(str(clip_folder), **setting)
    assert changed.identity() != DualEncoder(str(clip_folder)).identity()
    assert DualEncoder(str(clip_folder), text_batch=3).identity() == (
        DualEncoder(str(clip_folder)).identity()
    )


def test_image_processor_must_fit_the_vision_tower(edit: Callable[..., Path]) -> None:
    folder = edit("preprocessor_config.json", lambda c: c.update(crop_size=24, size=24))
    with pytest.raises(ModelError, match="makes 24x24 pixels, the model takes 32x32"):
        DualEncoder(str(folder))


def test_naflex_is_refused(clip_folder: Path, tmp_path: Path) -> None:
    from transformers import Siglip2Config, Siglip2Model

    shutil.copytree(clip_folder, tmp_path / "naflex")
    tower = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    special = {"bos_token_id": 2, "eos_token_id": 1, "pad_token_id": 0}
    Siglip2Model(
        Siglip2Config(
            text_config={**tower, **special, "vocab_size": 300},
            vision_config={**tower, "patch_size": 16, "num_patches": 4},
        )
    ).save_pretrained(tmp_path / "naflex")
    with pytest.raises(ModelError, match="NaFlex"):
        DualEncoder(str(tmp_path / "naflex"))


def test_a_model_without_two_towers_is_refused(tmp_path: Path) -> None:
    from transformers import BertConfig, BertModel

    BertModel(
        BertConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, vocab_size=9)
    ).save_pretrained(tmp_path / "bert")
    with pytest.raises(ModelError, match="not an image-text dual encoder"):
        DualEncoder(str(tmp_path / "bert"))
