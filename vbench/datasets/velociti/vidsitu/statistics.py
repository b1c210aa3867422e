"""The statistics of VELOCITI's Appendix D (arXiv 2406.10889v1), of any set with role labels.

The paper's text and its figures swap references: verbs are Figure 15, nouns Figure 16 by their
captions. Left open there, decided here: a role is any labelled argument, agent and scene included,
the verb not; a noun is counted by its written form, in small letters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from vbench.datasets.velociti.vidsitu.phrases import words

Roles = Mapping[str, str]
"""Role → filler of one event, with its verb under `verb` and who does it under `agent`."""

Videos = Mapping[str, Sequence[Roles]]
"""video → its events, in time order."""


@dataclass(frozen=True)
class Distribution:
    """How many things have which number."""

    name: str
    of: str
    """What is counted: `videos`."""
    by: str
    """What they are counted by: `different verbs`."""
    counts: Mapping[int, int]
    """Number → how many have exactly that."""
    mark: int = 0
    """The number that the paper comments on: `mark` or more."""
    printed: float | None = None
    """What the paper prints there: a percentage, or a count where `cumulative`."""
    cumulative: bool = field(default=False)
    """Shown as how many have at least n (Figures 15 and 16), instead of exactly n (Figure 17)."""

    @property
    def total(self) -> int:
        """How many things there are."""
        return sum(self.counts.values())

    def at_least(self, number: int) -> int:
        """Returns how many have that number or more.

        >>> Distribution("verbs", "verbs", "events", {1: 5, 4: 2}).at_least(2)
        2
        """
        return sum(count for n, count in self.counts.items() if n >= number)

    def value(self) -> float:
        """Returns what stands beside the printed value: a count, or a percentage (NaN of none)."""
        if self.cumulative:
            return float(self.at_least(self.mark))
        return 100 * self.at_least(self.mark) / self.total if self.total else float("nan")

    def rows(self) -> list[tuple[int, int, int]]:
        """Returns (n, how many have exactly n, how many at least n), up to the largest n."""
        numbers = range(min([1, *self.counts]), max(self.counts, default=0) + 1)
        return [(n, self.counts.get(n, 0), self.at_least(n)) for n in numbers]


def distributions(videos: Videos, nouns: Iterable[str] | None = None) -> list[Distribution]:
    """Returns the distributions of Figures 15 to 17.

    Args:
        videos: The labelled events.
        nouns: The nouns of the positive captions; None: Figure 16 is left out.
    """
    events = [roles for of in videos.values() for roles in of]
    verbs = Counter(roles["verb"] for roles in events)
    coreference = [n for of in videos.values() for n in _agents(of).values()]
    found = [
        Distribution("verbs_in_events", "verbs", "events", _sizes(verbs.values()), 4, 169, True),
        Distribution(
            "verbs_per_video",
            "videos",
            "different verbs",
            _sizes(len({roles["verb"] for roles in of}) for of in videos.values()),
            4,
            87,
        ),
        Distribution(
            "agents_per_video",
            "videos",
            "different agents",
            _sizes(len(_agents(of)) for of in videos.values()),
            2,
            83,
        ),
        Distribution(
            "roles_per_event", "events", "roles", _sizes(len(r) - 1 for r in events), 4, 69
        ),
        Distribution(
            "coreference_length", "agents", "events of the video", _sizes(coreference), 2, 72
        ),
    ]
    if nouns is not None:
        found.insert(1, _noun_figure(videos, set(nouns)))
    return found


def _noun_figure(videos: Videos, nouns: set[str]) -> Distribution:
    """Counts nouns of the captions where the labels hold them, as the paper says it did."""
    seen: Counter[str] = Counter()
    for of in videos.values():
        told = {word for roles in of for role, text in roles.items() if role != "verb"
                for word in words(text)}  # fmt: skip
        seen.update(nouns & told)
    return Distribution("nouns_in_videos", "nouns", "videos", _sizes(seen.values()), 4, 325, True)


def _agents(of: Sequence[Roles]) -> Counter[str]:
    """Returns in how many events of a video each agent acts: one string, one agent."""
    return Counter(roles["agent"] for roles in of if "agent" in roles)


def _sizes(numbers: Iterable[int]) -> Mapping[int, int]:
    return dict(sorted(Counter(numbers).items()))
