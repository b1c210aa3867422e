"""Whether what a caption claims is what a clip shows."""

from __future__ import annotations

from collections.abc import Sequence

from vbench.records import Claim, Event


def holds(claim: Claim, events: Sequence[Event], *, in_order: bool = True) -> bool:
    """Says whether a claim is true of a clip.

    A claimed event is true of an event that has all its role fillers; what the caption leaves out
    (a manner, the agent of AgCoref) may be anything.

    Args:
        claim: What the caption says.
        events: What happens in the clip, in time order.
        in_order: Whether `then` means what it says; otherwise it is read as "and".

    >>> jump, sit = Event((("agent", "Ann"), ("verb", "jump"))), Event((("verb", "sit"),))
    >>> holds(Claim((jump, sit), "then"), [jump, sit])
    True
    >>> backwards = Claim((sit, jump), "then")
    >>> holds(backwards, [jump, sit]), holds(backwards, [jump, sit], in_order=False)
    (False, True)
    """
    if claim.relation == "same_agent":
        agents = {event.get("agent") for event in events}
        return any(
            _all_true(claim, [event for event in events if event.get("agent") == agent])
            for agent in agents
        )
    if claim.relation == "then" and in_order:
        return _one_after_another(claim, events)
    return _all_true(claim, events)


def _true_of(claimed: Event, event: Event) -> bool:
    return set(claimed.roles) <= set(event.roles)


def _all_true(claim: Claim, events: Sequence[Event]) -> bool:
    return all(any(_true_of(claimed, event) for event in events) for claimed in claim.events)


def _one_after_another(claim: Claim, events: Sequence[Event]) -> bool:
    # To match each claimed event as early as possible leaves the most room for the next.
    ahead = iter(events)
    return all(any(_true_of(claimed, event) for event in ahead) for claimed in claim.events)
