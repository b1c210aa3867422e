"""Chunks hold each path once, whole, and blind to the others."""

from __future__ import annotations

import random

import pytest

from vbench.models.vlm.packing import PREFIX, pack


def some_paths(seed: int) -> list[tuple[int, ...]]:
    draw = random.Random(seed)
    return [tuple(draw.choices((1, 2, 3), k=draw.randint(0, 7))) for _ in range(25)]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("budget", [1, 7, 20, 1000])
def test_every_path_is_in_one_chunk_and_sees_itself_only(seed: int, budget: int) -> None:
    paths = some_paths(seed)
    held: list[tuple[int, ...]] = []
    for chunk in pack(paths, budget):
        longest = max(len(path) for path in chunk.paths)
        assert len(chunk.tokens) <= max(budget, longest)
        seen, depths = chunk.visible(), chunk.depths()
        for path, nodes in chunk.paths.items():
            held.append(path)
            assert tuple(chunk.tokens[node] for node in nodes) == path
            assert [depths[node] for node in nodes] == list(range(len(path)))
            for place, node in enumerate(nodes):
                assert seen[node].nonzero()[0].tolist() == sorted(nodes[: place + 1])
    assert sorted(held) == sorted({path for path in paths if path})


def test_what_paths_share_is_there_once() -> None:
    (chunk,) = pack([(1, 2, 3), (1, 2, 4), (1, 2), (5,), ()], 100)
    assert chunk.tokens == [1, 2, 3, 4, 5]
    assert chunk.parents == [PREFIX, 0, 1, 1, PREFIX]


def test_nothing_to_pack() -> None:
    assert list(pack([(), ()], 10)) == []
