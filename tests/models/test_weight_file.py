"""Weight files of research repositories: what is read of them, and what is never run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from vbench.errors import ModelError
from vbench.models.weight_file import fill, read_state

from .research_files import write_vifi

STATE = {"module.weight": torch.eye(2), "module.bias": torch.ones(2)}
BARE = {"weight": torch.eye(2), "bias": torch.ones(2)}


class RunsCode:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (self.path,))


def same(state: dict[str, torch.Tensor]) -> bool:
    return state.keys() == BARE.keys() and all(torch.equal(state[key], BARE[key]) for key in BARE)


def test_wrapped_and_bare_state_dicts(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    for number, content in enumerate([STATE, BARE, {"state_dict": STATE}, {"model": BARE}]):
        torch.save(content, tmp_path / f"{number}.pt")
        assert same(read_state(tmp_path / f"{number}.pt"))
    save_file(BARE, tmp_path / "x.safetensors")
    assert same(read_state(tmp_path / "x.safetensors"))


def test_a_pickled_config_is_passed_over_without_its_class(tmp_path: Path) -> None:
    path = write_vifi(tmp_path / "x.pth", STATE, DATA={"NUM_FRAMES": 32})
    assert "yacs" not in sys.modules
    assert same(read_state(path))
    assert "yacs" not in sys.modules
    with pytest.raises(Exception, match=r"yacs\.config\.CfgNode"):
        torch.load(path, weights_only=True)  # nothing is allowed beyond this one reading


def test_code_in_a_config_is_refused_and_not_run(tmp_path: Path) -> None:
    path = write_vifi(tmp_path / "x.pth", STATE, LOGGER=RunsCode(tmp_path / "ran"))
    with pytest.raises(ModelError, match="could run code and is refused") as caught:
        read_state(path)
    assert "Unsupported global: GLOBAL getattr" in caught.value.why
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("content", [b"", b"no weights here" * 10])
def test_damaged_file(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.pt").write_bytes(content)
    with pytest.raises(ModelError, match="the weight file cannot be loaded"):
        read_state(tmp_path / "x.pt")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ({"epoch": 3, "best": 0.5}, "its keys are epoch, best"),
        ([torch.ones(2)], "it is empty"),
        ({"model": {}}, "it is empty"),
    ],
)
def test_no_state_dict(content: object, why: str, tmp_path: Path) -> None:
    torch.save(content, tmp_path / "x.pt")
    with pytest.raises(ModelError, match="the file holds no state dict") as caught:
        read_state(tmp_path / "x.pt")
    assert caught.value.why == why


def test_filling_is_exact() -> None:
    linear = torch.nn.Linear(2, 2)
    assert fill(linear, BARE, "x") is linear
    assert torch.equal(linear.weight, torch.eye(2))
    assert not linear.training
    assert not linear.weight.requires_grad
    half = {name: weight.half() for name, weight in BARE.items()}
    assert fill(torch.nn.Linear(2, 2), half, "x").weight.dtype == torch.float32
    for state, why in (
        ({"weight": torch.eye(2)}, r"1 missing \(bias\)"),
        (BARE | {"scale": torch.ones(1)}, r"1 not known to the model \(scale\)"),
        (BARE | {"bias": torch.ones(3)}, r"1 mis-shaped \(bias\)"),
    ):
        with pytest.raises(ModelError, match=why):
            fill(torch.nn.Linear(2, 2), state, "x")
