"""Chat-UniVi's features against plain arithmetic on the tensors of its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from vbench.checkpoints import find_checkpoint
from vbench.errors import ModelError
from vbench.models.vlm.clip_inputs import ClipInputs

from ..assembled_runs import load, noise, sharing_changes_no_score, two_questions
from ..plain_arithmetic import PlainClip, State, close
from .test_merging import plain

LEVELS = ((6, 5), (4, 3), (2, 3))


@pytest.fixture(scope="module")
def model(univi: Path) -> Any:
    return load(univi)


def video(count: int) -> Tensor:
    return noise(count, 16)


class Plain(PlainClip):
    """The same with loops over frames, levels and events, read off the published code."""

    root = "vision_model"

    def merged(self, tokens: Tensor, count: int, neighbours: int) -> Tensor:
        _, found = plain(tokens.tolist(), count, neighbours)
        groups = [[at for at, name in enumerate(found) if name == c] for c in range(count)]
        return torch.stack([tokens[group].sum(0) / (len(group) + 1e-6) for group in groups])

    def features(self, frames: Tensor) -> Tensor:
        """Takes (frames, 3, side, side), returns (features, words)."""
        seen = [self.clip(frame, layers=2)[1:] for frame in frames.double()]
        levels, left = [], seen
        for count, neighbours in LEVELS:
            left = [self.merged(tokens, count, neighbours) for tokens in left]
            levels.append(left)
        if len(seen) <= 2:
            made = [level[at] for at in range(len(seen)) for level in levels]
        else:
            means = torch.stack([tokens.mean(0) for tokens in seen])
            _, found = plain(means.tolist(), -(-len(seen) // 4), 5)
            made = [
                self.merged(
                    torch.cat([level[at] for at, own in enumerate(found) if own == event]),
                    count,
                    neighbours,
                )
                for event in dict.fromkeys(found)
                for level, (count, neighbours) in zip(levels, LEVELS, strict=True)
            ]
        return self.linear("model.mm_projector", torch.cat(made))


@pytest.mark.parametrize(("count", "events"), [(1, 1), (2, 2), (3, 1), (9, 3)])
def test_features_equal_plain_arithmetic(model: Any, state: State, count: int, events: int) -> None:
    pixels = video(count)
    with torch.no_grad():
        found = model.get_video_features(pixels)
    assert found.shape == (1, 12 * events, 16)
    assert model.config.features(count) == 12 * events
    close(found, Plain(state).features(pixels[0])[None], 1e-5)


def test_clip_is_its_own_repositorys_not_what_training_left(model: Any, state: State) -> None:
    name = "pre_layrnorm.weight"
    found = dict(model.vision_tower.named_parameters())[f"vision_model.{name}"]
    assert torch.equal(found, state[f"vision_model.{name}"])
    assert not torch.equal(found, state[f"model.vision_tower.vision_tower.vision_model.{name}"])


def test_sharing_a_prefix_changes_no_score(model: Any) -> None:
    visual = (model.config.video_token_id,) * 36
    sharing_changes_no_score(model, two_questions(*visual), video(9))


def test_a_checkpoint_that_merges_nothing_is_refused(univi: Path, tmp_path: Path) -> None:
    for name in ("tokenizer.model", "tokenizer_config.json", "config.json"):
        (tmp_path / name).write_bytes((univi / name).read_bytes())
    said = json.loads((tmp_path / "config.json").read_text())
    said["config"]["use_cluster"] = False
    (tmp_path / "config.json").write_text(json.dumps(said))
    with pytest.raises(ModelError) as caught:
        ClipInputs(find_checkpoint(str(tmp_path)), {})
    assert "merges no features" in caught.value.why
