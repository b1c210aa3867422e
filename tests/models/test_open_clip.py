"""OpenClip against transformers' CLIP on the same weights, and its ways of loading."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor

from vbench.errors import ModelError
from vbench.models.open_clip import OpenClip
from vbench.protocols import FrameEncoder

open_clip = pytest.importorskip("open_clip", reason="the extra open_clip is not installed")

ARCH = "tiny-B-16"
TEXTS = ["a red circle jumps", "the blue square pushes it and then it sleeps", "red"]

State = dict[str, Tensor]


@pytest.fixture(scope="module", autouse=True)
def architectures(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A tiny ViT and its QuickGELU twin, registered as open_clip's own JSON configs are."""
    folder = tmp_path_factory.mktemp("configs")
    config = {
        "embed_dim": 24,
        "vision_cfg": {"image_size": 32, "layers": 2, "width": 64, "patch_size": 16},
        "text_cfg": {
            "context_length": 77,
            "vocab_size": 49408,
            "width": 64,
            "heads": 2,
            "layers": 2,
        },
    }
    config["vision_cfg"]["head_width"] = 32
    (folder / f"{ARCH}.json").write_text(json.dumps(config))
    (folder / f"{ARCH}-quickgelu.json").write_text(json.dumps({**config, "quick_gelu": True}))
    before = dict(open_clip.factory._MODEL_CONFIGS), list(open_clip.factory._MODEL_CONFIG_PATHS)
    open_clip.add_model_config(folder)
    yield
    open_clip.factory._MODEL_CONFIGS.clear()
    open_clip.factory._MODEL_CONFIGS.update(before[0])
    open_clip.factory._MODEL_CONFIG_PATHS[:] = before[1]


@pytest.fixture(scope="module")
def hugging_face() -> torch.nn.Module:
    """A random CLIP of transformers with the same shape."""
    from transformers import CLIPConfig, CLIPModel

    tower = {
        "hidden_size": 64,
        "intermediate_size": 256,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "hidden_act": "gelu",
    }
    torch.manual_seed(0)
    model = CLIPModel(
        CLIPConfig(
            text_config={**tower, "vocab_size": 49408, "max_position_embeddings": 77},
            vision_config={**tower, "image_size": 32, "patch_size": 16},
            projection_dim=24,
        )
    ).eval()
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    return model


def to_open_clip(state: State) -> State:
    """Renames transformers' CLIP weights to open_clip's names."""
    renamed = {
        "logit_scale": state["logit_scale"],
        "text_projection": state["text_projection.weight"].T,
        "visual.proj": state["visual_projection.weight"].T,
        "token_embedding.weight": state["text_model.embeddings.token_embedding.weight"],
        "positional_embedding": state["text_model.embeddings.position_embedding.weight"],
        "visual.class_embedding": state["vision_model.embeddings.class_embedding"],
        "visual.conv1.weight": state["vision_model.embeddings.patch_embedding.weight"],
        "visual.positional_embedding": state["vision_model.embeddings.position_embedding.weight"],
    }
    for ours, theirs in {
        "ln_final": "text_model.final_layer_norm",
        "visual.ln_pre": "vision_model.pre_layrnorm",
        "visual.ln_post": "vision_model.post_layernorm",
    }.items():
        for kind in ("weight", "bias"):
            renamed[f"{ours}.{kind}"] = state[f"{theirs}.{kind}"]
    names = {"ln_1": "layer_norm1", "ln_2": "layer_norm2", "mlp.c_fc": "mlp.fc1"}
    names |= {"mlp.c_proj": "mlp.fc2", "attn.out_proj": "self_attn.out_proj"}
    for ours, theirs in {"": "text_model", "visual.": "vision_model"}.items():
        for layer in range(2):
            to, source = f"{ours}transformer.resblocks.{layer}", f"{theirs}.encoder.layers.{layer}"
            for kind in ("weight", "bias"):
                for mine, other in names.items():
                    renamed[f"{to}.{mine}.{kind}"] = state[f"{source}.{other}.{kind}"]
                parts = [state[f"{source}.self_attn.{x}_proj.{kind}"] for x in "qkv"]
                renamed[f"{to}.attn.in_proj_{kind}"] = torch.cat(parts)
    return {name: tensor.clone().contiguous() for name, tensor in renamed.items()}


@pytest.fixture(scope="module")
def weights(hugging_face: torch.nn.Module, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file as open_clip's training writes it: epoch, optimizer and `module.` prefixes."""
    state = to_open_clip(hugging_face.state_dict())
    path = tmp_path_factory.mktemp("weights") / "negclip.pth"
    wrapped = {f"module.{name}": tensor for name, tensor in state.items()}
    torch.save({"epoch": 5, "name": "tiny", "state_dict": wrapped, "optimizer": {"lr": 1e-6}}, path)
    return path


def rewrite(weights: Path, path: Path, **changes: Tensor | None) -> Path:
    """Writes the bare state dict with some tensors replaced, or dropped where None."""
    state = torch.load(weights, weights_only=True)["state_dict"]
    state = {name.removeprefix("module."): tensor for name, tensor in state.items()} | changes
    torch.save({name: tensor for name, tensor in state.items() if tensor is not None}, path)
    return path


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


def test_truncated_texts_are_flagged(weights: Path) -> None:
    model = OpenClip(ARCH, str(weights), text_batch=2)
    words = [" ".join(["red"] * n) for n in (74, 75, 76, 200)]  # with two special tokens: 76, 77, …
    vectors, truncated = model.embed_texts(words)
    assert truncated == [False, False, True, True]
    assert torch.allclose(vectors[1], vectors[3], atol=1e-6)  # both cut to 75 words
    alone = torch.cat([model.embed_texts([text])[0] for text in words])
    assert torch.allclose(vectors, alone, atol=1e-6)


def test_truncation_where_padding_is_the_end_token(weights: Path, siglip_folder: Path) -> None:
    """SigLIP's tokenizer pads with its end token, so the last id alone tells nothing."""
    from open_clip.tokenizer import HFTokenizer

    model = OpenClip(ARCH, str(weights))
    model._tokens._tokenizer = HFTokenizer(str(siglip_folder), context_length=6)
    model._tokens._length = 6
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
    model._tokens._length = 6
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
    changed = rewrite(weights, tmp_path / "x.pth", logit_scale=torch.tensor(2.0))
    others = [
        OpenClip(ARCH, str(changed)),
        OpenClip(ARCH, str(weights), activation="quick_gelu"),
        OpenClip(f"{ARCH}-quickgelu", str(weights), activation="gelu"),
    ]
    assert model.identity() not in {other.identity() for other in others}


def test_safetensors_and_bare_state_dicts_load(weights: Path, tmp_path: Path) -> None:
    from safetensors.torch import save_file

    bare = rewrite(weights, tmp_path / "bare.pt")
    save_file(torch.load(bare, weights_only=True), tmp_path / "bare.safetensors")
    expected = OpenClip(ARCH, str(weights)).embed_texts(TEXTS)[0]
    for path in (bare, tmp_path / "bare.safetensors"):
        assert torch.equal(OpenClip(ARCH, str(path)).embed_texts(TEXTS)[0], expected)


def failure(arch: str, pretrained: str | Path) -> ModelError:
    with pytest.raises(ModelError) as caught:
        OpenClip(arch, str(pretrained))
    assert caught.value.mend
    return caught.value


def test_wrong_keys(weights: Path, tmp_path: Path) -> None:
    state = {
        f"image_encoder.{k}": v for k, v in torch.load(rewrite(weights, tmp_path / "b.pt")).items()
    }
    torch.save(state, tmp_path / "vifi.pt")
    error = failure(ARCH, tmp_path / "vifi.pt")
    assert error.what.startswith("the weights do not fit the model: 0 of ")
    assert "not known to the model (image_encoder." in error.why


def test_half_of_the_keys_missing(weights: Path, tmp_path: Path) -> None:
    state = torch.load(rewrite(weights, tmp_path / "b.pt"))
    half = {k: None for i, k in enumerate(sorted(state)) if i % 2}
    error = failure(ARCH, rewrite(weights, tmp_path / "half.pt", **half))
    assert f"{len(half)} missing (" in error.why


def test_shapes_differ(weights: Path, tmp_path: Path) -> None:
    path = rewrite(weights, tmp_path / "b.pt", text_projection=torch.zeros(5, 5))
    error = failure(ARCH, path)
    assert "size mismatch for text_projection" in error.why
    assert "made for this arch" in error.mend


@pytest.mark.parametrize("content", [b"", b"no weights here" * 10])
def test_damaged_file(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.pth").write_bytes(content)
    assert failure(ARCH, tmp_path / "x.pth").what == "the weight file cannot be loaded"


class RunsCode:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (self.path,))


def test_pickle_with_code_is_refused_and_not_run(tmp_path: Path) -> None:
    torch.save({"state_dict": RunsCode(tmp_path / "ran")}, tmp_path / "x.pth")
    assert "could run code and is refused" in failure(ARCH, tmp_path / "x.pth").mend
    assert not (tmp_path / "ran").exists()


def test_unknown_names(tmp_path: Path) -> None:
    assert "did you mean 'ViT-B-32'" in failure("ViT-B32", "openai").mend
    assert failure("ViT-B-32", "opnai").mend == "did you mean 'openai'?"
    (tmp_path / "negclip.pth").write_bytes(b"")
    error = failure("ViT-B-32", tmp_path / "negclop.pth")
    assert error.what == "there is no such file"
    assert "did you mean 'negclip.pth'?" in error.mend


def test_tag_offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    error = failure("EVA02-L-14", "merged2b_s4b_b131k")
    assert "cannot be reached" in error.what
    assert "timm/eva02_large_patch14_clip_224" in error.where


def test_tag_from_the_hub_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, weights: Path
) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    tag = {"hf_hub": "owner/tiny/", "quick_gelu": False}
    monkeypatch.setitem(open_clip.pretrained._PRETRAINED, ARCH, {"mine": tag})
    repository = tmp_path / "models--owner--tiny"
    snapshot = repository / "snapshots" / ("c" * 40)
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("c" * 40)
    assert "weights are not in its local cache" in failure(ARCH, "mine").what
    (snapshot / "open_clip_pytorch_model.bin").write_bytes(weights.read_bytes())
    assert OpenClip(ARCH, "mine").identity() == OpenClip(ARCH, str(weights)).identity()


def test_library_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "open_clip", None)
    error = failure("ViT-B-32", "openai")
    assert error.what == "open_clip is not installed"
    assert error.mend == 'pip install "vbench-eval[open_clip]"'


def test_loading_says_nothing(weights: Path, capfd: pytest.CaptureFixture[str]) -> None:
    OpenClip(ARCH, str(weights))
    assert capfd.readouterr() == ("", "")


def test_the_published_architectures_exist() -> None:
    """What conf/model names: the tags, their activation and their preprocessing."""
    assert open_clip.get_pretrained_cfg("EVA02-L-14", "merged2b_s4b_b131k")["resize_mode"] == (
        "shortest"
    )
    assert open_clip.get_pretrained_cfg("ViT-B-32", "openai")["quick_gelu"] is True
    assert open_clip.get_model_config("EVA02-L-14")["vision_cfg"]["timm_model_name"]
