import itertools
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import pytest

from vbench.datasets.toy.benchmark import ToyVelociti
from vbench.errors import ConfigError, DataError
from vbench.models.oracles import BagOfConcepts, Constant, OrderBlind, Perfect, Random
from vbench.protocols import Dataset, PairScorer
from vbench.records import Claim, Clip, Event, Sample

ORDER_TIES = {"chrono"}
BAG_TIES = {"agent_bind", "action_bind", "agent_coref", "chrono"}
TESTS = {
    *("control_t2v", "control_v2t", "ivat", "agent_iden", "agent_bind"),
    *("agent_coref", "action_adv", "action_bind", "action_modif", "chrono"),
}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    root = tmp_path_factory.mktemp("toy") / "set"
    return ToyVelociti(str(root), num_videos=300, seed=11, render=False)


@pytest.fixture(scope="module")
def samples(dataset: Dataset) -> list[Sample]:
    return dataset.samples()


def comparisons(scorer: PairScorer, sample: Sample) -> list[int]:
    """1 right, 0 tied, -1 wrong, for each comparison that a sample decides."""
    matrix = [scorer.score(clip, sample.texts) for clip in sample.clips]
    if sample.kind == "match":
        (a, b), (c, d) = matrix
        differences = [a - c, d - b, a - b, d - c]
    else:
        right, wrong = itertools.chain(*matrix)
        differences = [right - wrong]
    return [(d > 0) - (d < 0) for d in differences]


def results(scorer: PairScorer, dataset: Dataset, samples: list[Sample]) -> dict[str, list[int]]:
    scorer.bind(dataset.facts())
    found: dict[str, list[int]] = defaultdict(list)
    for sample in samples:
        found[sample.test] += comparisons(scorer, sample)
    assert set(found) == TESTS
    return found


def share_right(of: list[int]) -> float:
    return sum(r > 0 for r in of) / len(of)


def test_perfect_is_right_everywhere(dataset: Dataset, samples: list[Sample]) -> None:
    for test, of in results(Perfect(), dataset, samples).items():
        assert set(of) == {1}, test


def test_order_blind_ties_on_chronology_alone(dataset: Dataset, samples: list[Sample]) -> None:
    for test, of in results(OrderBlind(), dataset, samples).items():
        assert set(of) == ({0} if test in ORDER_TIES else {1}), test


def test_bag_of_concepts_cannot_bind(dataset: Dataset, samples: list[Sample]) -> None:
    found = results(BagOfConcepts(), dataset, samples)
    for test, of in found.items():
        if test in BAG_TIES:
            assert set(of) == {0}, test
        else:
            assert share_right(of) >= 0.97, test
    assert share_right(found["ivat"]) == 1


def test_constant_ties_everywhere(dataset: Dataset, samples: list[Sample]) -> None:
    for test, of in results(Constant(), dataset, samples).items():
        assert set(of) == {0}, test


def test_random_is_near_one_half_and_never_ties(dataset: Dataset, samples: list[Sample]) -> None:
    for test, of in results(Random(5), dataset, samples).items():
        assert 0 not in of
        # Five standard errors, had all comparisons been independent.
        assert abs(share_right(of) - 0.5) < 2.5 / len(of) ** 0.5, test


def test_random_is_even_and_unrelated_across_clips_texts_and_seeds() -> None:
    texts = [str(i) for i in range(400)]
    a, b = Clip("v", "v.mp4", 0.0, 4.0), Clip("v", "v.mp4", 6.0, 10.0)
    rows = [Random(0).score(a, texts), Random(0).score(b, texts), Random(1).score(a, texts)]
    for row in rows:
        assert all(0 <= value < 1 for value in row)
        assert abs(sum(row) / len(row) - 0.5) < 0.06
        assert len(set(row)) == len(row)
    for one, other in itertools.combinations(rows, 2):
        assert abs(sum(x > y for x, y in zip(one, other, strict=True)) / 400 - 0.5) < 0.1


def test_random_does_not_depend_on_place_or_order_of_files() -> None:
    here, there = Clip("v", "a/v.mp4"), Clip("v", "b/v.mp4")
    assert Random(2).score(here, ["x", "y"]) == Random(2).score(there, ["y", "x"])[::-1]
    assert Random(2).identity() != Random(3).identity()


@pytest.mark.parametrize(("have", "of"), [(1, 3), (2, 6), (7, 49)])
def test_equal_shares_tie_exactly(have: int, of: int) -> None:
    seen = [Event(tuple((f"r{i}", "x") for i in range(have)))]
    claim = Claim((Event(tuple((f"r{i}", "x") for i in range(of))),))
    assert BagOfConcepts().judge(claim, seen) == float(Fraction(have, of))


@pytest.mark.parametrize("oracle", [Perfect(), OrderBlind(), BagOfConcepts()])
def test_oracles_need_facts(oracle: PairScorer) -> None:
    assert oracle.needs == {"facts"}
    oracle.bind(None)
    with pytest.raises(ConfigError, match="dataset=velociti/toy"):
        oracle.score(Clip("v", "v.mp4"), ["a caption."])


def test_an_unknown_caption_or_video_is_an_error(dataset: Dataset, samples: list[Sample]) -> None:
    oracle = Perfect()
    oracle.bind(dataset.facts())
    with pytest.raises(DataError, match="'A rendered prompt'"):
        oracle.score(samples[0].clips[0], ["A rendered prompt"])
    with pytest.raises(DataError, match="'v_x_seg_0_10'"):
        oracle.score(Clip("v_x_seg_0_10", ""), [samples[0].texts[0]])


def test_oracles_open_no_file(dataset: Dataset, samples: list[Sample]) -> None:
    assert not any(Path(clip.path).exists() for sample in samples[:50] for clip in sample.clips)


@pytest.mark.parametrize("scorer", [Perfect(), OrderBlind(), BagOfConcepts(), Constant(), Random()])
def test_all_are_pair_scorers(scorer: object) -> None:
    assert isinstance(scorer, PairScorer)
