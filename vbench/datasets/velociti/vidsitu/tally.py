"""Counts of what was left out and why: nothing is lost silently."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

EXAMPLES = 3
"""Places named for each reason; the rest is a number."""


@dataclass(slots=True)
class Reason:
    """How often something happened, and where first."""

    count: int = 0
    examples: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Tally:
    """Reasons in the order in which they first occurred."""

    reasons: dict[str, Reason] = field(default_factory=dict)

    def add(self, reason: str, where: str) -> None:
        """Counts one occurrence.

        >>> tally = Tally()
        >>> for place in ("v_a/Ev1", "v_b/Ev4"):
        ...     tally.add("an event has no agent", place)
        >>> tally.count("an event has no agent"), tally.count("something else")
        (2, 0)
        """
        entry = self.reasons.setdefault(reason, Reason())
        entry.count += 1
        if len(entry.examples) < EXAMPLES:
            entry.examples.append(where)

    def count(self, reason: str) -> int:
        """Returns how often a reason occurred."""
        return self.reasons[reason].count if reason in self.reasons else 0

    def lines(self) -> list[str]:
        """Returns one line a reason, as the console prints it."""
        return [
            f"{entry.count:>7,} {reason} ({', '.join(entry.examples)}"
            f"{', …' if entry.count > len(entry.examples) else ''})"
            for reason, entry in self.reasons.items()
        ]

    def document(self) -> Mapping[str, object]:
        """Returns the counts as a JSON object."""
        return {
            reason: {"count": entry.count, "examples": entry.examples}
            for reason, entry in self.reasons.items()
        }
