"""What the captions alone give away, learned on one set and tried on another of other videos."""

from __future__ import annotations

import json
import math
import random
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from vbench.datasets.toy.srl import write_vidsitu
from vbench.datasets.toy.world import benchmark_clip
from vbench.datasets.velociti.layout import TEST_FILES
from vbench.datasets.velociti.vidsitu.dataset import FromVidsitu
from vbench.datasets.velociti.vidsitu.lending import exchange, lend

Pairs = list[tuple[str, str]]
TESTS = [t for t in TEST_FILES if t not in ("ivat", "control_t2v")]


def pairs_of(root: Path, test: str) -> Pairs:
    document = json.loads((root / "data" / TEST_FILES[test]).read_text())
    entries = [entry for of in document.values() for entry in of.values()]
    return [(e.get("pos", e.get("pos_cap")), e.get("neg", e.get("neg_cap"))) for e in entries]


def features(text: str) -> list[str]:
    words = re.findall(r"\w+", text.lower())
    return [*words, *map(" ".join, pairwise(words))]


def learned(pairs: Pairs) -> Counter[str]:
    """Log odds of words and word pairs in true and in false captions."""
    true, false = (Counter(f for pair in pairs for f in features(pair[side])) for side in (0, 1))
    odds: Counter[str] = Counter()
    for feature in {*true, *false}:
        odds[feature] = math.log((true[feature] + 5) / (false[feature] + 5))  # type: ignore[assignment]
    return odds


def accuracy(pairs: Pairs, odds: Counter[str]) -> float:
    scores = [[sum(odds[f] for f in features(text)) for text in pair] for pair in pairs]
    return sum((t > f) + 0.5 * (t == f) for t, f in scores) / len(pairs)


@pytest.fixture(scope="module")
def two_sets(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    roots = []
    for seed in (21, 22):
        folder = tmp_path_factory.mktemp("bias")
        write_vidsitu(folder / "labels", [benchmark_clip(seed, index) for index in range(200)])
        FromVidsitu(str(folder / "set"), str(folder / "labels"), seed=seed).build()
        roots.append(folder / "set")
    return roots[0], roots[1]


@pytest.mark.parametrize("test", TESTS)
def test_words_alone_are_at_chance(test: str, two_sets: tuple[Path, Path]) -> None:
    training, trial = (pairs_of(root, test) for root in two_sets)
    # Samples of a video share captions: four standard errors of half as many free ones.
    slack = 4 * 0.5 / math.sqrt(len(trial) / 2)
    assert abs(accuracy(trial, learned(training)) - 0.5) < slack


@pytest.mark.parametrize("test", TESTS)
def test_length_alone_is_at_chance(test: str, two_sets: tuple[Path, Path]) -> None:
    for root in two_sets:
        pairs = pairs_of(root, test)
        longer = sum((len(t) > len(f)) + 0.5 * (len(t) == len(f)) for t, f in pairs) / len(pairs)
        assert abs(longer - 0.5) < 4 * 0.5 / math.sqrt(len(pairs) / 2)


def test_the_audit_sees_a_hint_where_there_is_one(two_sets: tuple[Path, Path]) -> None:
    training, trial = (
        [(t, f.replace(" is ", " is wrongly ")) for t, f in pairs_of(root, "agent_bind")]
        for root in two_sets
    )
    assert accuracy(trial, learned(training)) > 0.95


def test_lending_keeps_shares_where_common_fillers_are_hard_to_place() -> None:
    # Half of all say "a", and whoever has "a" in sight cannot take it.
    rng = random.Random(3)
    items = [("a" if n % 2 else "bcde"[n // 2 % 4], rng.randrange(10) < 4) for n in range(4000)]

    def fits(own: tuple[str, bool], lender: tuple[str, bool]) -> bool:
        return own[0] != lender[0] and not (lender[0] == "a" and own[1])

    lenders = lend(items, fits, lambda item: item[0], random.Random(1))
    assert all(got is None or fits(own, got) for own, got in zip(items, lenders, strict=True))
    served = [(own, got) for own, got in zip(items, lenders, strict=True) if got is not None]
    lent = Counter(got[0] for _, got in served)
    used = Counter(own[0] for own, _ in served)
    assert sum(used.values()) > 2000
    for filler in "bcde":
        assert abs(lent[filler] - used[filler]) < 6 * math.sqrt(used[filler])
    exact = [got for got in exchange(items, fits, random.Random(1)) if got is not None]
    assert len({id(item) for item in exact}) == len({*map(id, exact)})


def test_nobody_lends_twice_in_an_exchange() -> None:
    items = list(range(300))
    lenders = exchange(items, lambda a, b: a != b and (a + b) % 7 != 0, random.Random(2))
    found = [lender for lender in lenders if lender is not None]
    assert len(found) == len(set(found)) == 300
    assert all((a + b) % 7 and a != b for a, b in zip(items, found, strict=True))
