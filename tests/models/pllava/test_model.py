"""PLLaVA's modules against plain arithmetic on the checkpoint's own tensors."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from vbench.checkpoints import find_checkpoint
from vbench.errors import ModelError
from vbench.models.vlm.lora import Adapter

from ..assembled_runs import load, noise, sharing_changes_no_score, two_questions
from ..plain_arithmetic import PlainClip, State, close

FEATURES, ALPHA, RANK = 2304, 2, 4
WRAPPED = "base_model.model."


@pytest.fixture(scope="module")
def model(pllava: Path) -> Any:
    return load(pllava, alpha=ALPHA)


def video(count: int, rows: int = 1) -> Tensor:
    return noise(count, 48, rows)


class Plain(PlainClip):
    """The same with loops over frames and cells, read off the published code."""

    root = "vision_tower.vision_model"

    def patches(self, frame: Tensor) -> Tensor:
        """Takes (3, side, side), returns what all layers but the last make of its patches."""
        return self.clip(frame, layers=2)[1:]

    def features(self, patches: Tensor) -> Tensor:
        """Takes (frames, patches, width), returns (features, words)."""
        inner = self.linear("multi_modal_projector.linear_1", patches.double())
        gelu = inner * (1 + torch.erf(inner / 2**0.5)) / 2
        words = self.linear("multi_modal_projector.linear_2", gelu).unflatten(1, (24, 24))
        moments = [  # of each sixteenth of the video the frames that overlap it
            words[floor(at * len(words) / 16) : ceil((at + 1) * len(words) / 16)].mean(0)
            for at in range(16)
        ]
        cells = [
            (slice(y, y + 2), slice(x, x + 2)) for y in range(0, 24, 2) for x in range(0, 24, 2)
        ]
        return torch.stack([moment[cell].mean((0, 1)) for moment in moments for cell in cells])


def test_features_equal_plain_arithmetic(model: Any, state: State) -> None:
    plain, pixels = Plain(state), video(2, rows=2)
    seen = [torch.stack([plain.patches(frame) for frame in each.double()]) for each in pixels]
    with torch.no_grad():
        found = model.get_video_features(pixels)
    assert found.shape == (2, FEATURES, 16)
    close(found, torch.stack([plain.features(each) for each in seen]), 1e-6)


@pytest.mark.parametrize("count", [1, 4, 5, 16, 20])
def test_any_number_of_frames_is_pooled_to_sixteen_moments(
    model: Any, state: State, count: int
) -> None:
    patches = torch.randn(1, count, 576, 8, generator=torch.Generator().manual_seed(count))
    with torch.no_grad():
        found = model.multi_modal_projector(patches)[0]
    close(found, Plain(state).features(patches[0]), 1e-6)


def ids(model: Any) -> Tensor:
    return torch.tensor([[1, 300, *([model.config.video_token_id] * FEATURES), 310, 320]])


def test_merged_weights_equal_two_paths(
    model: Any, resaved: Callable[[State], Path], state: State
) -> None:
    named = {name.replace(WRAPPED, "").replace(".base_layer", ""): name for name in state}
    plain = load(resaved({new: state[name] for new, name in named.items() if "lora_" not in new}))
    layers = {name.partition(".lora_")[0] for name in named if ".lora_" in name}
    assert len(layers) == 2 * 2  # queries and values of both blocks
    modules, pixels = dict(plain.named_modules()), video(2)
    with torch.no_grad():
        unchanged = plain(ids(plain), pixel_values_videos=pixels).logits
        for layer in layers:
            down, up = (state[named[f"{layer}.lora_{part}.default.weight"]] for part in "AB")
            modules[layer].register_forward_hook(
                lambda _, given, made, down=down, up=up: (
                    made + ALPHA / RANK * (given[0] @ down.T) @ up.T
                )
            )
        two_paths = plain(ids(plain), pixel_values_videos=pixels).logits
        found = model(ids(model), pixel_values_videos=pixels).logits
    assert (two_paths - unchanged).abs().max() > 0.1 * two_paths.abs().max()
    close(found, two_paths, 1e-5)


def test_all_weights_come_in_the_precision_asked_for(pllava: Path) -> None:
    model = load(pllava, "bf16-true", alpha=ALPHA)
    assert {weight.dtype for weight in model.parameters()} == {torch.bfloat16}
    assert not any(weight.requires_grad for weight in model.parameters())


def test_sharing_a_prefix_changes_no_score(model: Any) -> None:
    visual = (model.config.video_token_id,) * FEATURES
    sharing_changes_no_score(model, two_questions(*visual), video(2))


def test_a_prompt_needs_a_place_for_every_feature(model: Any) -> None:
    with pytest.raises(ValueError, match="2304 features of videos for 2303 places"):
        model(ids(model)[:, :-3], pixel_values_videos=torch.zeros(1, 2, 3, 48, 48))


def without(start: str) -> Callable[[State], State]:
    return lambda state: {name: value for name, value in state.items() if start not in name}


WRONG: dict[str, tuple[Callable[[State], State], float | None, str]] = {
    "with a layer less": (without("vision_model.encoder.layers.2"), ALPHA, "missing"),
    "of another projector": (
        lambda state: state | {"multi_modal_projector.linear_1.weight": torch.ones(16, 4)},
        ALPHA,
        "mis-shaped",
    ),
    "with more than PLLaVA has": (
        lambda state: state | {"image_newline": torch.ones(16)},
        ALPHA,
        "not known to the model (image_newline)",
    ),
    "of which the LoRA is not merged": (dict, None, "the low-rank part"),
    "that are merged already": (without("lora_"), ALPHA, "no name holds lora_A"),
    "of a training without deepspeed": (
        lambda state: {k: v for k, v in state.items() if "lora_" in k or "projector" in k},
        ALPHA,
        "lacks its weight, lora_A or lora_B",
    ),
}


@pytest.mark.parametrize("kind", WRONG)
def test_weights_that_do_not_fill_the_model_are_refused(
    resaved: Callable[[State], Path], state: State, kind: str
) -> None:
    edit, alpha, why = WRONG[kind]
    folder = resaved(edit(state))
    with pytest.raises(ModelError) as caught:
        load(folder, alpha=alpha)
    assert why in caught.value.why


def test_the_scale_is_part_of_the_identity(pllava: Path) -> None:
    own = find_checkpoint(str(pllava))
    one, two = (Adapter.of({"alpha": alpha}, own) for alpha in (4, 32))
    assert (one.identity(), two.identity()) == ("alpha 4", "alpha 32")
    assert one.whole
