"""What is taken for an adapter, and what is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from vbench.errors import ConfigError, ModelError
from vbench.models.vlm.lora import Adapter, merge

START = "base_model.model.lm"


def wrapped() -> dict[str, torch.Tensor]:
    return {
        f"{START}.q.base_layer.weight": torch.ones(2, 3),
        f"{START}.q.lora_A.default.weight": torch.tensor([[1.0, 2.0, 3.0]]),
        f"{START}.q.lora_B.default.weight": torch.tensor([[1.0], [10.0]]),
        f"{START}.norm.weight": torch.zeros(3),
    }


@pytest.mark.parametrize("inner", [".base_layer", ""])  # newer and older PEFT
def test_the_change_is_added_by_its_scale(inner: str) -> None:
    state = wrapped()
    state[f"{START}.q{inner}.weight"] = state.pop(f"{START}.q.base_layer.weight")
    found = merge("x", state, alpha=2.0, dtype=torch.bfloat16)
    assert sorted(found) == ["lm.norm.weight", "lm.q.weight"]
    assert found["lm.q.weight"].tolist() == [[3, 5, 7], [21, 41, 61]]
    assert found["lm.q.weight"].dtype == torch.bfloat16


def test_a_part_may_be_wrapped_alone() -> None:
    state = {f"text.{name}": value for name, value in wrapped().items()}
    state["tower.q.weight"] = torch.ones(1)
    found = merge("x", state, alpha=2.0)
    assert sorted(found) == ["text.lm.norm.weight", "text.lm.q.weight", "tower.q.weight"]
    assert found["text.lm.q.weight"].tolist() == [[3, 5, 7], [21, 41, 61]]


def test_shards_come_before_a_file_beside_them(tmp_path: Path) -> None:
    """As PLLaVA's own code reads a folder that holds both."""
    from safetensors.torch import save_file

    save_file(wrapped(), tmp_path / "model-00001-of-00001.safetensors")
    save_file({f"{START}.q.weight": torch.zeros(2, 3)}, tmp_path / "model.safetensors")
    found = Adapter.of({"checkpoint": str(tmp_path), "alpha": 2}).merged(torch.float32)
    assert found["lm.q.weight"].tolist() == [[3, 5, 7], [21, 41, 61]]


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a plain checkpoint": ({"lm.q.weight": torch.ones(2, 3)}, "does not begin with"),
    "no low-rank part": ({f"{START}.q.weight": torch.ones(2, 3)}, "no name holds lora_A"),
    "half of one": (
        {name: value for name, value in wrapped().items() if "lora_B" not in name},
        "lm.q lacks its weight, lora_A or lora_B",
    ),
    "the change alone": (
        {name: value for name, value in wrapped().items() if "base_layer" not in name},
        "lm.q lacks its weight, lora_A or lora_B",
    ),
    "another shape": (
        wrapped() | {f"{START}.q.lora_B.default.weight": torch.ones(3, 1)},
        "shapes of lm.q do not fit",
    ),
}


@pytest.mark.parametrize("kind", WRONG)
def test_other_files_are_refused(kind: str) -> None:
    state, why = WRONG[kind]
    with pytest.raises(ModelError, match="no whole weights with a LoRA adapter") as caught:
        merge("x", dict(state), alpha=1.0)
    assert why in caught.value.why


def test_a_file_of_other_objects_is_not_opened(tmp_path: Path) -> None:
    torch.save({"weight": torch.ones(1), "hook": Path("x")}, tmp_path / "pytorch_model.bin")
    adapter = Adapter.of({"checkpoint": str(tmp_path), "alpha": 1})
    with pytest.raises(ModelError, match="weights cannot be loaded"):
        adapter.merged(torch.float32)


def test_an_empty_folder_says_what_it_lacks(tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        Adapter.of({"checkpoint": str(tmp_path), "alpha": 1}).merged(torch.float32)
    assert "no pytorch_model*.bin" in caught.value.why


@pytest.mark.parametrize(
    ("setting", "what"),
    [
        ({"checkpoint": "."}, "named with its scale"),
        ({"alpha": 32}, "named with its scale"),
        ({"checkpoint": ".", "scale": 1}, "no adapter setting 'scale'"),
    ],
)
def test_settings_that_say_too_little_or_too_much(setting: dict[str, Any], what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        Adapter.of(setting)
