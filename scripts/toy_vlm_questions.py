"""What the tiny video-language model is asked in training, with the answers.

Every draw starts from a training clip's facts. False statements are made by rules of this file
and checked against the facts; nothing is taken from the benchmark's own pairs.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TypeVar

from toy_vlm_statements import Statement, Text, pieces, write
from toy_vlm_words import (
    COUNTS,
    DESCRIBE,
    END,
    LETTERS,
    LONG_HEAD,
    LONG_TAIL,
    OPTIONS_TAIL,
    PAIR_HEAD,
    PAIR_TAIL,
    QUESTIONS,
    SHORT_HEAD,
    SHORT_TAIL,
    START,
    vocabulary,
)

from vbench.datasets.toy.captions import SCENE_PHRASES
from vbench.datasets.toy.world import (
    CHARACTERS,
    MANNERS,
    SCENES,
    VERBS,
    ToyClip,
    ToyEvent,
    with_verb,
)

REPLY = f"{END}{START}"
"""Ends a question; the reply's first word, `assistant`, belongs to each answer."""
TRIES = 20


class Examiner:
    """Draws questions about one clip."""

    def __init__(self, clip: ToyClip, others: Sequence[ToyClip], rng: random.Random) -> None:
        self.clip = clip
        self.others = others
        self.rng = rng

    def true(self, kind: str) -> Statement:
        """Draws a true statement; one of `one` where the clip has none of the kind asked."""
        events = self.clip.events
        pairs = list(combinations(events, 2))
        if kind == "same":
            pairs = [(a, b) for a, b in pairs if a.agent == b.agent]
        if kind != "one" and pairs:
            return Statement(kind, self.rng.choice(pairs))
        return Statement("one", (self.rng.choice(events),))

    def false(self, kind: str, change: str) -> Statement:
        """Draws a false statement that differs from a true one in one thing."""
        for _ in range(TRIES):
            true = self.true(kind)
            if true.kind == "then" and change == "order":
                wrong = Statement(true.kind, true.events[::-1])
            else:
                k = self.rng.randrange(len(true.events))
                events = list(true.events)
                events[k] = self.changed(events[k], change)
                wrong = Statement(true.kind, tuple(events))
            if not self.holds(wrong):
                return wrong
        return self.false("one", "stranger")

    def holds(self, statement: Statement) -> bool:
        """Says whether a statement is true of the clip."""
        return write(statement, self.clip, Text())

    def changed(self, event: ToyEvent, change: str) -> ToyEvent:
        """Returns the event with one thing changed; it may still be true."""
        rng, clip = self.rng, self.clip
        kind = VERBS[event.verb].transitive
        if change == "stranger":
            return replace(event, agent=rng.choice([c for c in CHARACTERS if c not in clip.cast]))
        if change == "agent":
            rest = [c for c in clip.cast if c not in (event.agent, event.patient)]
            return replace(event, agent=rng.choice(rest)) if rest else event
        if change == "verb":
            done = {other.verb for other in clip.events}
            verbs = [v for v, of in VERBS.items() if of.transitive is kind and v not in done]
            return with_verb(event, rng.choice(verbs), rng)
        if change == "deed":
            return replace(rng.choice(clip.events), agent=event.agent)
        if change == "manner":
            return replace(event, manner=rng.choice(MANNERS)) if event.manner else event
        if change == "patient":
            rest = [c for c in CHARACTERS if c not in (event.agent, event.patient)]
            return replace(event, patient=rng.choice(rest)) if event.patient else event
        if change == "scene":
            return replace(event, scene=rng.choice(SCENES))
        return rng.choice(rng.choice(self.others).events)


Drawn = TypeVar("Drawn")

KINDS = (("one", 0.62), ("then", 0.28), ("same", 0.1))
CHANGES = (
    ("other clip", 0.16),
    ("stranger", 0.16),
    ("agent", 0.18),
    ("verb", 0.2),
    ("deed", 0.12),
    ("manner", 0.08),
    ("patient", 0.06),
    ("scene", 0.04),
)


def draw(rng: random.Random, shares: Sequence[tuple[Drawn, float]]) -> Drawn:
    """Draws a value by its share."""
    names, weights = zip(*shares, strict=True)
    return rng.choices(names, weights)[0]


def draw_change(rng: random.Random, kind: str) -> str:
    """Draws how a false statement of a kind is made; most of `then` exchange the two."""
    if kind == "then" and rng.random() < 0.7:
        return "order"
    return draw(rng, CHANGES)


def yes_or_no(examiner: Examiner, long: bool) -> Text:
    """Asks whether a caption is true; as often yes as no."""
    rng = examiner.rng
    kind = draw(rng, KINDS)
    right = rng.random() < 0.5
    statement = examiner.true(kind) if right else examiner.false(kind, draw_change(rng, kind))
    text = Text()
    truth = write(statement, examiner.clip, text)
    text.add((LONG_TAIL if long else SHORT_TAIL) + REPLY + "assistant")
    return text.answer("Yes" if truth else "No")


def which_of_two(examiner: Examiner) -> Text:
    """Asks which of two captions is true; as often A as B."""
    rng = examiner.rng
    kind = draw(rng, KINDS)
    options = [examiner.true(kind), examiner.false(kind, draw_change(rng, kind))]
    rng.shuffle(options)
    text = Text()
    answer = "?"
    for letter, option in zip("AB", options, strict=True):
        text.add(f"{letter})")
        answer = letter if write(option, examiner.clip, text) else answer
    return text.add(PAIR_TAIL + REPLY + "assistant").answer(answer)


def which_of_many(examiner: Examiner) -> Text:
    """Asks for an agent, an action or a place by letter, among two to six."""
    rng, clip = examiner.rng, examiner.clip
    event = rng.choice(clip.events)
    asked = rng.choice(list(QUESTIONS))
    if asked == "agent":
        question = QUESTIONS[asked].format(action=_deed(event))
        right, wrong = event.agent, [c for c in CHARACTERS if c != event.agent]
    elif asked == "scene":
        right, wrong = _place(event), [_place(replace(event, scene=s)) for s in SCENES]
        wrong = [w for w in wrong if w not in {_place(e) for e in clip.events}]
        question = QUESTIONS[asked]
    else:
        event = {"first": clip.events[0], "last": clip.events[-1]}.get(asked, event)
        question = QUESTIONS[asked].format(agent=event.agent)
        tell: Callable[[ToyEvent], str] = _deed if asked == "action" else _sentence
        right = tell(event)
        done = [e for e in clip.events if asked != "action" or e.agent != event.agent]
        made = [examiner.changed(event, "verb") for _ in range(3)]
        wrong = list(dict.fromkeys(tell(e) for e in [*done, *made] if tell(e) != right))
    count = rng.choice([2, 3, 4, 4, 5, 6])
    options = [right, *rng.sample(wrong, min(count - 1, len(wrong)))]
    rng.shuffle(options)
    letters = LETTERS[: len(options)]
    listed = " ".join(f"{a}.{b}" for a, b in zip(letters, options, strict=True))
    tail = OPTIONS_TAIL.format(count=COUNTS[len(options)], letters=", ".join(letters))
    text = Text().add(f"{question} {listed} \n {tail}{REPLY}assistant")
    return text.answer(letters[options.index(right)])


def _deed(event: ToyEvent) -> str:
    """Returns what is done: `pushing the red star`."""
    parts = [part for part, said in pieces(event, named=False) if "verb" in said]
    return " ".join(parts)


def _sentence(event: ToyEvent) -> str:
    return f"{event.agent} is {_deed(event)}"


def _place(event: ToyEvent) -> str:
    return SCENE_PHRASES[event.scene].lower()


def describe(examiner: Examiner) -> Text:
    """Has a true caption said."""
    heard, text = Text(), Text().add("assistant")
    write(examiner.true(draw(examiner.rng, KINDS)), examiner.clip, heard)
    words = list(vocabulary())
    return text.say(" ".join(words[k] for k in heard.ids) + END)


def exam(
    clip: ToyClip, others: Sequence[ToyClip], rng: random.Random, counts: tuple[int, int, int, int]
) -> list[tuple[str, list[Text]]]:
    """Draws the questions of a clip, grouped by how they begin.

    Args:
        clip: The clip.
        others: Clips to borrow captions from.
        rng: Decides everything.
        counts: How many of `yes_or_no`, `which_of_two`, `which_of_many`, `describe`.
    """
    examiner = Examiner(clip, others, rng)
    ask, two, many, said = counts
    long = rng.random() < 0.15
    return [
        (LONG_HEAD if long else SHORT_HEAD, [yes_or_no(examiner, long) for _ in range(ask)]),
        (PAIR_HEAD, [which_of_two(examiner) for _ in range(two)]),
        ("", [which_of_many(examiner) for _ in range(many)]),
        (DESCRIBE + REPLY, [describe(examiner) for _ in range(said)]),
    ]
