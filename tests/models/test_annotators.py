import math

import pytest

from vbench.errors import ConfigError
from vbench.models.annotators import Simulated
from vbench.models.oracles import Perfect
from vbench.records import Claim, Clip, Event

SITS, JUMPS = Event((("verb", "sit"),)), Event((("verb", "jump"),))


class TwoClaims:
    """In every clip someone sits; captions that begin with `yes` say so."""

    def events_in(self, clip: Clip) -> tuple[Event, ...]:
        return (SITS,)

    def claim_of(self, text: str) -> Claim:
        return Claim((SITS if text.startswith("yes") else JUMPS,))


def errors(annotator: Simulated, n: int) -> int:
    annotator.bind(TwoClaims())
    wrong = 0
    for i in range(n):
        true, false = annotator.score(Clip(f"v{i}", "v.mp4"), ["yes", "no"])
        wrong += false > true
    return wrong


@pytest.mark.parametrize("rate", [0.0, 0.05, 0.25, 0.5])
def test_it_errs_at_its_rate(rate: float) -> None:
    n = 4000
    deviation = math.sqrt(n * rate * (1 - rate))
    assert abs(errors(Simulated(rate), n) - n * rate) <= 4 * deviation


def test_scores_are_fixed_by_seed_clip_and_text() -> None:
    one, again, other = Simulated(0.2), Simulated(0.2), Simulated(0.2, seed=1)
    for annotator in (one, again, other):
        annotator.bind(TwoClaims())
    clip = Clip("v", "v.mp4")
    assert one.score(clip, ["yes", "no"]) == again.score(clip, ["no", "yes"])[::-1]
    assert one.score(clip, ["yes"]) != other.score(clip, ["yes"])
    assert one.score(clip, ["yes"]) != one.score(Clip("v", "v.mp4", 0.0, 4.0), ["yes"])
    assert len({one.identity(), other.identity(), Simulated(0.3).identity()}) == 3


def test_what_it_cannot_do_is_said() -> None:
    with pytest.raises(ConfigError, match="between 0 and"):
        Simulated(0.6)
    with pytest.raises(ConfigError, match="cannot be used"):
        Simulated().score(Clip("v", "v.mp4"), ["yes"])
    assert Simulated.needs == Perfect.needs
