from vbench.records import Claim, Event
from vbench.truth import holds


def event(**roles: str) -> Event:
    return Event(tuple(sorted(roles.items())))


ANN_SITS = event(agent="Ann", verb="sit", manner="sadly")
BOB_SITS = event(agent="Bob", verb="sit")
ANN_JUMPS = event(agent="Ann", verb="jump", patient="Bob")
CLIP = [ANN_SITS, BOB_SITS, ANN_JUMPS]


def test_a_caption_may_leave_roles_out_but_not_add_any() -> None:
    assert holds(Claim((event(verb="sit", manner="sadly"),)), CLIP)
    assert not holds(Claim((event(agent="Bob", verb="sit", manner="sadly"),)), CLIP)
    assert not holds(Claim((event(agent="Ann", verb="sit", scene="room"),)), CLIP)


def test_nothing_happens_in_an_empty_clip() -> None:
    assert not holds(Claim((event(verb="sit"),)), [])
    assert not holds(Claim((event(verb="sit"),), "same_agent"), [])


def test_one_person_must_do_it_all() -> None:
    sits, jumps = event(verb="sit"), event(verb="jump")
    assert holds(Claim((sits, jumps), "same_agent"), CLIP)
    assert not holds(Claim((sits, jumps), "same_agent"), [BOB_SITS, ANN_JUMPS])
    assert holds(Claim((sits, jumps)), [BOB_SITS, ANN_JUMPS])


def test_then_looks_for_any_later_event() -> None:
    sits, jumps = event(verb="sit"), event(verb="jump")
    assert holds(Claim((sits, sits, jumps), "then"), CLIP)
    assert not holds(Claim((jumps, sits), "then"), CLIP)
    assert holds(Claim((jumps, sits), "then"), CLIP, in_order=False)
    assert not holds(Claim((jumps, jumps), "then"), CLIP)
    assert not holds(Claim((event(verb="fly"), sits), "then"), CLIP, in_order=False)
