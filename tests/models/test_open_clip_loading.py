"""Ways of loading an open_clip model, and the files and names that do not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor

from vbench.errors import ModelError
from vbench.models.open_clip import OpenClip

open_clip = pytest.importorskip("open_clip", reason="the extra open_clip is not installed")
pytestmark = pytest.mark.usefixtures("tiny_arch")

ARCH = "tiny-B-16"
TEXTS = ["a red circle jumps", "the blue square pushes it and then it sleeps", "red"]


def rewrite(weights: Path, path: Path, **changes: Tensor | None) -> Path:
    """Writes the bare state dict with some tensors replaced, or dropped where None."""
    state = torch.load(weights, weights_only=True)["state_dict"]
    state = {name.removeprefix("module."): tensor for name, tensor in state.items()} | changes
    torch.save({name: tensor for name, tensor in state.items() if tensor is not None}, path)
    return path


def test_safetensors_and_bare_state_dicts_load(weights: Path, tmp_path: Path) -> None:
    from safetensors.torch import save_file

    bare = rewrite(weights, tmp_path / "bare.pt")
    save_file(torch.load(bare, weights_only=True), tmp_path / "bare.safetensors")
    expected = OpenClip(ARCH, str(weights)).embed_texts(TEXTS)[0]
    for path in (bare, tmp_path / "bare.safetensors"):
        assert torch.equal(OpenClip(ARCH, str(path)).embed_texts(TEXTS)[0], expected)


def failure(arch: str, pretrained: str | Path) -> ModelError:
    with pytest.raises(ModelError) as caught:
        _ = OpenClip(arch, str(pretrained)).module
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
