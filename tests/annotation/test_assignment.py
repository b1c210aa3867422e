from collections import Counter

import pytest

from vbench.annotation.assignment import Staff, assign
from vbench.errors import ConfigError
from vbench.records import Clip, Sample


def sample(test: str, source: int, number: int) -> Sample:
    clip = Clip(f"v{source}", f"v{source}.mp4")
    name = f"v{source}/{number}"
    return Sample(test, name, "v2t", f"s{source}", (clip,), ("a.", "b."), 0)


SAMPLES = [
    sample(test, s, n) for test in ("chrono", "agent_bind") for s in range(200) for n in range(3)
]


def test_the_papers_staff_answers_150_a_test_and_shares_nothing() -> None:
    given = assign(SAMPLES, Staff())
    assert [len(own) for own in given] == [60] * 5
    for own in given:
        assert Counter(s.test for s in own) == {"chrono": 30, "agent_bind": 30}
    sources = [{s.cluster for s in own} for own in given]
    assert sum(map(len, sources)) == len(set().union(*sources))
    assert len({(s.test, s.sample_id) for own in given for s in own}) == 300


def test_a_source_gives_a_second_sample_only_when_all_gave_one() -> None:
    (own,) = assign(SAMPLES[:30], Staff(annotators=1, per_annotator=10))
    assert len({s.cluster for s in own}) == 10


def test_overlap_gives_each_sample_to_so_many_people() -> None:
    given = assign(SAMPLES, Staff(annotators=4, per_annotator=20, overlap=2))
    assert [len(own) for own in given] == [40] * 4
    times = Counter((s.test, s.sample_id) for own in given for s in own)
    assert set(times.values()) == {2}
    assert len(times) == 80


def test_the_draw_is_seeded_and_takes_what_there_is() -> None:
    assert assign(SAMPLES, Staff(seed=1)) == assign(SAMPLES, Staff(seed=1))
    assert assign(SAMPLES, Staff(seed=1)) != assign(SAMPLES, Staff(seed=2))
    everything = assign(SAMPLES, Staff(per_annotator=10_000))
    assert sum(map(len, everything)) == len(SAMPLES)


def test_impossible_staffs() -> None:
    with pytest.raises(ConfigError, match="overlap counts the people"):
        Staff(annotators=2, overlap=3)
    with pytest.raises(ConfigError, match="must divide"):
        Staff(per_annotator=30, overlap=4)
