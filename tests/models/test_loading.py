"""Checkpoints that do not load, or only seem to."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from vbench.checkpoints import find_checkpoint
from vbench.errors import ModelError
from vbench.models.dual_encoder import DualEncoder
from vbench.models.loading import check_keys, load_dual_encoder, quietly

Weights = dict[str, torch.Tensor]


@pytest.fixture
def folder(clip_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(clip_folder, tmp_path / "checkpoint"))


def rewrite(folder: Path, change: Callable[[Weights], Weights]) -> None:
    path = folder / "model.safetensors"
    weights = change(load_file(path))
    save_file({k: v.contiguous() for k, v in weights.items()}, path, metadata={"format": "pt"})


def failure(folder: Path) -> ModelError:
    with pytest.raises(ModelError) as caught:
        _ = DualEncoder(str(folder)).module
    assert str(folder) in caught.value.where
    assert caught.value.mend
    return caught.value


def test_half_of_the_keys_missing(folder: Path) -> None:
    rewrite(folder, lambda w: {k: w[k] for i, k in enumerate(sorted(w)) if i % 2})
    error = failure(folder)
    assert "40 of 78 parameters" in error.what
    assert "38 missing (" in error.why
    assert error.why.count(",") == 4  # the first few, not all


def test_one_key_missing(folder: Path) -> None:
    rewrite(folder, lambda w: {k: v for k, v in w.items() if k != "visual_projection.weight"})
    assert failure(folder).why == "1 missing (visual_projection.weight)"


def test_foreign_prefix_matches_nothing(folder: Path) -> None:
    rewrite(folder, lambda w: {f"wrapped.module.{k}": v for k, v in w.items()})
    error = failure(folder)
    assert "0 of 78" in error.what
    assert "not known to the model (wrapped.module" in error.why


def test_adapter_left_out(folder: Path) -> None:
    rewrite(folder, lambda w: {**w, "text_projection.lora_A.weight": torch.zeros(2, 2)})
    error = failure(folder)
    assert "1 not known to the model (text_projection.lora_A.weight)" in error.why
    assert "adapters" in error.mend


def test_shapes_differ(folder: Path) -> None:
    rewrite(folder, lambda w: {**w, "text_projection.weight": torch.zeros(3, 3)})
    assert failure(folder).why == "1 mis-shaped (text_projection.weight)"


def test_position_ids_of_older_files_are_no_fault() -> None:
    check_keys("x", total=1, missing=[], unexpected=["text_model.embeddings.position_ids"])


@pytest.mark.parametrize("content", [b"", b"not a tensor file" * 50])
def test_damaged_safetensors(folder: Path, content: bytes) -> None:
    (folder / "model.safetensors").write_bytes(content)
    error = failure(folder)
    assert error.what == "the weights cannot be loaded"
    assert "damaged" in error.mend


def test_cut_off_safetensors(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1000])
    assert "not fully downloaded" in failure(folder).mend


def test_no_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    error = failure(folder)
    assert "no file named model.safetensors" in error.why
    assert "model.safetensors" in error.mend


def test_bin_weights_load(folder: Path) -> None:
    expected = DualEncoder(str(folder)).embed_frames(torch.zeros(1, 3, 32, 32))
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    got = DualEncoder(str(folder)).embed_frames(torch.zeros(1, 3, 32, 32))
    assert torch.equal(got, expected)


class RunsCode:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (self.path,))


def test_pickle_with_code_is_refused_and_not_run(folder: Path, tmp_path: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.save({"a": RunsCode(tmp_path / "ran")}, folder / "pytorch_model.bin")
    error = failure(folder)
    assert "could run code and is refused" in error.mend
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("content", ["{", "{}", '{"model_type": "nonesuch"}'])
def test_unreadable_config(folder: Path, content: str) -> None:
    (folder / "config.json").write_text(content)
    failure(folder)


def test_folder_without_config(folder: Path) -> None:
    (folder / "config.json").unlink()
    assert "config.json" in failure(folder).mend


@pytest.mark.parametrize("family", ["clip", "siglip"])
def test_folder_without_tokenizer(
    family: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    folder = tmp_path / "checkpoint"
    shutil.copytree(request.getfixturevalue(f"{family}_folder"), folder)
    for pattern in ("tokenizer*", "vocab*", "merges*", "spiece*"):
        for path in folder.glob(pattern):
            path.unlink()
    error = failure(folder)
    assert error.what == "the tokenizer cannot be loaded"
    assert "spiece.model" in error.mend


def test_folder_without_image_processor(folder: Path) -> None:
    (folder / "preprocessor_config.json").unlink()
    assert "preprocessor_config.json" in failure(folder).mend


def test_code_in_a_checkpoint_is_not_trusted(folder: Path, tmp_path: Path) -> None:
    import json

    config = json.loads((folder / "config.json").read_text())
    config.update(
        model_type="nonesuch", auto_map={"AutoModel": "evil.Model", "AutoConfig": "evil.C"}
    )
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    failure(folder)
    assert not (tmp_path / "ran").exists()


def test_loading_says_nothing(
    clip_folder: Path, capfd: pytest.CaptureFixture[str], folder: Path
) -> None:
    rewrite(folder, lambda w: {k: v for k, v in w.items() if k != "visual_projection.weight"})
    load_dual_encoder(find_checkpoint(str(clip_folder)))
    with pytest.raises(ModelError):
        load_dual_encoder(find_checkpoint(str(folder)))
    assert capfd.readouterr() == ("", "")


def test_quiet_is_undone() -> None:
    from transformers.utils import logging as hf_logging

    root = logging.getLogger()
    before = (hf_logging.get_verbosity(), list(root.handlers), root.manager.disable)
    with pytest.raises(ValueError, match="x"), quietly():
        raise ValueError("x")
    after = (hf_logging.get_verbosity(), list(root.handlers), root.manager.disable)
    assert before == after
    assert hf_logging.is_progress_bar_enabled()
