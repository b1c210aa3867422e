from __future__ import annotations

from collections import Counter

from vbench.loop.draw import draw
from vbench.records import Clip, Sample


def samples(per_source: int = 5, sources: int = 8) -> list[Sample]:
    return [
        Sample(test, f"{s}-{i}", "v2t", f"src{s}", (Clip(f"v{s}", "p"),), ("a", "b"), 0)
        for test in ("agent_bind", "chrono")
        for s in range(sources)
        for i in range(per_source)
    ]


def test_no_limit_keeps_all() -> None:
    assert draw(samples(), None, 0) == samples()


def test_limit_counts_per_test_and_spreads_over_sources() -> None:
    drawn = draw(samples(), 6, 0)
    assert Counter(s.test for s in drawn) == {"agent_bind": 6, "chrono": 6}
    assert len({s.cluster for s in drawn}) == 6  # the same six files serve both tests


def test_a_limit_beyond_the_sources_takes_second_samples() -> None:
    drawn = draw(samples(), 12, 0)
    per_source = Counter(s.cluster for s in drawn if s.test == "chrono")
    assert set(per_source.values()) == {1, 2}
    assert len(per_source) == 8


def test_order_is_kept_and_the_draw_is_seeded() -> None:
    everything = samples()
    drawn = draw(everything, 6, 0)
    places = [everything.index(sample) for sample in drawn]
    assert places == sorted(places)
    assert draw(everything, 6, 0) == drawn
    assert any(draw(everything, 6, seed) != drawn for seed in range(1, 4))


def test_a_smaller_limit_is_a_subset() -> None:
    small, large = draw(samples(), 4, 0), draw(samples(), 9, 0)
    assert all(sample in large for sample in small)


def test_limit_beyond_the_data_keeps_all() -> None:
    assert draw(samples(), 10_000, 0) == samples()
