"""Clusters against loops over tokens, and against what must hold of any."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from vbench.models.chat_univi.config import clusters
from vbench.models.chat_univi.merging import merge


def plain(tokens: list[list[float]], count: int, neighbours: int) -> tuple[list[int], list[int]]:
    """Returns the centres, and the cluster of each token, read off the published code."""
    if neighbours > count:
        neighbours = min(3, max(count // 2, 1))
    apart = [[math.dist(a, b) / len(a) ** 0.5 for b in tokens] for a in tokens]
    density = [
        math.exp(-sum(d * d for d in sorted(row)[:neighbours]) / neighbours) for row in apart
    ]
    rank = sorted(range(len(tokens)), key=lambda at: (-density[at], at))
    furthest = max(map(max, apart))
    height = {
        at: min((apart[at][other] for other in rank[:place]), default=furthest)
        for place, at in enumerate(rank)
    }
    centres = sorted(height, key=lambda at: (-height[at] * density[at], at))[:count]
    found = [min(range(count), key=lambda c: apart[centres[c]][at]) for at in range(len(tokens))]
    for number, centre in enumerate(centres):
        found[centre] = number
    return centres, found


@pytest.mark.parametrize(("count", "neighbours"), [(6, 5), (4, 5), (2, 3), (1, 5), (16, 3)])
def test_clusters_equal_plain_arithmetic(count: int, neighbours: int) -> None:
    tokens = torch.randn(3, 16, 5, generator=torch.Generator().manual_seed(count))
    merged, found = merge(tokens, count, neighbours)
    for own, means, places in zip(tokens.double(), merged, found, strict=True):
        _, right = plain(own.tolist(), count, neighbours)
        assert places.tolist() == right
        for number in range(count):
            members = own[[at for at, cluster in enumerate(right) if cluster == number]]
            torch.testing.assert_close(means[number].double(), members.mean(0), rtol=0, atol=1e-5)


def test_nothing_is_drawn_and_a_set_does_not_depend_on_those_beside_it() -> None:
    tokens = torch.randn(4, 16, 5, generator=torch.Generator().manual_seed(0))
    torch.manual_seed(1)
    together = merge(tokens, 4, 3)[0]
    torch.manual_seed(2)
    assert torch.equal(merge(tokens, 4, 3)[0], together)
    for number, own in enumerate(tokens):
        assert torch.equal(merge(own[None], 4, 3)[0][0], together[number])


def test_tokens_that_are_all_alike_fill_every_cluster() -> None:
    tokens: Tensor = torch.ones(1, 16, 5)
    merged, found = merge(tokens, 6, 5)
    assert set(found[0].tolist()) == set(range(6))
    torch.testing.assert_close(merged, torch.ones(1, 6, 5))


def test_events_begin_at_frames_unlike_all_before() -> None:
    """One neighbour, the frame itself, makes all equally dense: their order is that of time."""
    scenes = torch.tensor([[0.0, 0], [9, 0], [0, 20]])
    drift = torch.randn(12, 2, generator=torch.Generator().manual_seed(0)) / 10
    frames = scenes.repeat_interleave(4, dim=0) + drift
    _, found = merge(frames[None], 3, 5)
    names = found[0].tolist()
    assert [len(set(names[at : at + 4])) for at in (0, 4, 8)] == [1, 1, 1]
    assert len(set(names)) == 3


@pytest.mark.parametrize(
    ("count", "rate", "expected"), [(256, 64, 64), (16, 1 / 16, 1), (17, 1 / 16, 2), (3, 0.25, 1)]
)
def test_how_many_clusters(count: int, rate: float, expected: int) -> None:
    assert clusters(count, rate) == expected
