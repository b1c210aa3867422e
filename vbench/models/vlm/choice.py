"""Which way of sharing a model is scored by: what its config allows, if a check agrees."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import nn

from vbench.models.vlm.architecture import Strategy
from vbench.models.vlm.forward import Forward
from vbench.models.vlm.packing import Tokens
from vbench.models.vlm.ways import Answers, Asked, answer, beginnings

TOLERANCE = 1e-3
"""Largest difference in log-probability from separate passes, in fp32."""

_HALF = 32
"""In lower precision: this many times the type's rounding step, times the root of the number of
tokens, whose rounding errors add up at random."""

_Kind = tuple[frozenset[str], bool, bool]

_FOUND: WeakKeyDictionary[nn.Module, dict[_Kind, Strategy]] = WeakKeyDictionary()


def choose(forward: Forward, asked: Asked, video: Mapping[str, Any], budget: int) -> Strategy:
    """Returns the way that shares most of those that give what separate passes give.

    A few of the questions are scored both ways the first time that a model meets a kind of call
    (with which inputs, of one or several prompts, with one or several continuations).
    """
    paths = {prompt: beginnings(continuations) for prompt, continuations in asked.items()}
    if sum(len(group) for group in paths.values()) == 1:
        return "full"  # one pass answers everything
    kind = (frozenset(video), len(paths) > 1, any(len(group) > 1 for group in paths.values()))
    found = _FOUND.setdefault(forward.model, {})
    if kind not in found:
        found[kind] = _checked(forward, _few(asked), video, budget)
    return found[kind]


def _few(asked: Asked) -> Asked:
    """Returns up to two prompts with three continuations in all: short, but of two tokens."""
    few: dict[Tokens, list[Tokens]] = {}
    by_branches = sorted(asked, key=lambda prompt: -len(beginnings(asked[prompt])))
    for prompt in by_branches[:2]:
        groups = beginnings(asked[prompt])
        several = sorted(groups, key=lambda read: (len(read) < 2, len(read)))
        few[prompt] = [groups[read][0] for read in several[: 1 if few else 2]]
    return few


def _checked(forward: Forward, few: Asked, video: Mapping[str, Any], budget: int) -> Strategy:
    ways = forward.architecture.strategies(video)
    right = answer("full", forward, few, video, budget) if len(ways) > 1 else {}
    for number, way in enumerate(ways[:-1]):
        wrong = _difference(forward, way, few, video, right)
        if not wrong:
            return way
        sys.stderr.write(
            f"vbench: {type(forward.model).__name__} cannot be scored by strategy '{way}' "
            f"({wrong}); '{ways[number + 1]}' is used instead\n"
        )
    return ways[-1]


def _difference(
    forward: Forward, way: Strategy, few: Asked, video: Mapping[str, Any], right: Answers
) -> str:
    """Returns what is wrong with a way, or an empty text."""
    try:
        found = answer(way, forward, few, video, budget=sys.maxsize)
    except torch.OutOfMemoryError:
        raise
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as e:
        return f"{type(e).__name__}: {e}".splitlines()[0]
    for key, value in right.items():
        off = abs(float(found[key] - value))
        limit = _limit(forward, len(key[1]))
        if not off <= limit:  # NaN is wrong, too
            return f"log-probability off by {off:.2g}, {limit:.2g} allowed"
    return ""


def _limit(forward: Forward, tokens: int) -> float:
    if forward.rounding > torch.finfo(torch.float32).eps:
        return float(_HALF * forward.rounding * tokens**0.5)
    return TOLERANCE
