"""Video-ChatGPT's modules against plain arithmetic on the tensors of its files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from vbench.errors import ModelError

from ..assembled_runs import load, noise, sharing_changes_no_score, two_questions
from ..plain_arithmetic import PlainClip, State, close
from .conftest import Places

FEATURES = 100 + 16


@pytest.fixture(scope="module")
def model(chatgpt: Places) -> Any:
    return load(chatgpt.base, tuned=str(chatgpt.tuned))


def video(count: int, rows: int = 1) -> Tensor:
    return noise(count, 16, rows)


class Plain(PlainClip):
    """The same with loops over moments and places, read off the published code."""

    root = "vision_model"

    def features(self, frames: Tensor) -> Tensor:
        """Takes (frames, 3, side, side), returns (features, words)."""
        seen = [self.clip(frame, layers=2)[1:] for frame in frames.double()]
        made = [patches.mean(0) for patches in seen]
        made += [torch.zeros_like(made[0])] * (100 - len(made))
        made += [torch.stack([patches[place] for patches in seen]).mean(0) for place in range(16)]
        return self.linear("model.mm_projector", torch.stack(made))


@pytest.mark.parametrize("count", [1, 3])
def test_features_equal_plain_arithmetic(model: Any, state: State, count: int) -> None:
    pixels = video(count, rows=2)
    with torch.no_grad():
        found = model.get_video_features(pixels)
    assert found.shape == (2, FEATURES, 16)
    close(found, torch.stack([Plain(state).features(each) for each in pixels]), 1e-6)


def test_a_full_video_has_no_empty_moment(model: Any) -> None:
    bias = model.mm_projector.bias
    with torch.no_grad():
        full, short = (model.get_video_features(video(count))[0] for count in (100, 99))
    assert not torch.allclose(full[99], bias)
    torch.testing.assert_close(short[99], bias)
    with pytest.raises(ValueError, match="101 frames for 100 moments"):
        model.get_video_features(video(101))


def test_tuned_weights_replace_those_of_the_base(model: Any, state: State) -> None:
    words = model.language_model.model.embed_tokens.weight
    assert torch.equal(words, state["model.embed_tokens.weight"])
    assert torch.equal(model.mm_projector.weight, state["model.mm_projector.weight"])


def test_words_without_a_row_of_logits_get_the_mean_of_the_others(model: Any, state: State) -> None:
    found, held = model.language_model.lm_head.weight, state["lm_head.weight"]
    assert (len(found), len(held)) == (465, 462)
    assert torch.equal(found[:462], held)
    torch.testing.assert_close(found[462:], held.mean(0).expand(3, -1))


def test_all_weights_come_in_the_precision_asked_for(chatgpt: Places) -> None:
    model = load(chatgpt.base, "bf16-true", tuned=str(chatgpt.tuned))
    assert {weight.dtype for weight in model.parameters()} == {torch.bfloat16}
    assert not any(weight.requires_grad for weight in model.parameters())


def test_sharing_a_prefix_changes_no_score(model: Any) -> None:
    visual = (model.config.video_token_id,) * FEATURES
    sharing_changes_no_score(model, two_questions(463, *visual, 464), video(2))


WRONG: dict[str, tuple[Callable[[State], State], str]] = {
    "of a vocabulary of another size": (
        lambda state: state | {"model.embed_tokens.weight": torch.ones(464, 16)},
        "mis-shaped (language_model.model.embed_tokens.weight)",
    ),
    "of another projector": (
        lambda state: state | {"model.mm_projector.weight": torch.ones(16, 4)},
        "mis-shaped (mm_projector.weight)",
    ),
    "with more than the model has": (
        lambda state: state | {"model.mm_projector.2.weight": torch.ones(16, 16)},
        "not known to the model (mm_projector.2.weight)",
    ),
}


@pytest.mark.parametrize("kind", WRONG)
def test_weights_that_do_not_fit_are_refused(
    chatgpt: Places, retuned: Callable[[State], Any], state: State, kind: str
) -> None:
    edit, why = WRONG[kind]
    own = {name: state[name] for name in ("model.embed_tokens.weight", "model.mm_projector.weight")}
    with pytest.raises(ModelError) as caught:
        load(chatgpt.base, tuned=str(retuned(edit(own))))
    assert why in caught.value.why


def test_the_base_alone_is_refused(chatgpt: Places) -> None:
    with pytest.raises(ModelError, match="LLaVA's own files") as caught:
        load(chatgpt.base)
    assert "model.adapter.tuned=MBZUAI/Video-ChatGPT-7B" in caught.value.mend
