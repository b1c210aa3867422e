"""Questions from annotations: a template asks, the annotations answer and lend the wrong options.

A reader who never sees the video must learn nothing from the options. So over a test every text is
right about as often as every other, is wrong about as often as every other, and every letter is
right exactly as often as every other. docs/questions.md says how, and what is checked afterwards.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from vbench.errors import ConfigError, DataError, did_you_mean

LETTERS = "ABCDEF"
_SLOT = re.compile(r"\{(\w+)\}")

Row = Mapping[str, str]
"""One annotation: columns by name. A row that lacks a column a template names is not used."""


@dataclass(frozen=True)
class Template:
    """How questions of one test are made. Slots in braces name columns of the annotations."""

    question: str
    """`What is {agent} doing?`"""
    answer: str
    """`{action}`"""
    num_options: int = 4
    always: str | None = None
    """A text that is among the options of every question, such as `Normal`."""
    excluded: str | None = None
    """A text that is never a wrong option, because the question rules it out: `{agent}`."""
    limit: int | None = None
    """At most so many questions."""
    per_video: int | None = None
    """At most so many about one video."""

    def __post_init__(self) -> None:
        if not 2 <= self.num_options <= len(LETTERS):
            raise ConfigError(
                f"a question has 2 to {len(LETTERS)} options",
                where=f"num_options={self.num_options}",
            )


@dataclass(frozen=True, slots=True)
class Made:
    """A finished question."""

    video: str
    text: str
    options: tuple[str, ...]
    """In the order of the letters A, B, C, …"""
    answer: str
    """A letter."""


@dataclass(frozen=True, slots=True)
class Account:
    """What became of the annotations of one template."""

    rows: int
    """That have all columns the template names."""
    ambiguous: int
    """Questions about a video with several right answers: none of them is asked."""
    repeated: int
    """Rows that ask the same of the same video with the same answer: asked once."""
    left_over: int
    """Questions dropped so that texts and letters balance."""


@dataclass
class _Draft:
    """A question before it has options."""

    video: str
    text: str
    right: str
    excluded: str | None = None
    wrong: list[str] = field(default_factory=list)


def make_questions(
    rows: Sequence[Row], template: Template, seed: int, video: str = "video"
) -> tuple[list[Made], Account]:
    """Makes the questions of one test.

    Args:
        rows: The annotations.
        template: How they are asked about.
        seed: Of all draws.
        video: The column that names the video.

    Returns:
        Questions in the order of the annotations, and what became of these.

    Raises:
        ConfigError: The template names a column that no row has.
        DataError: The annotations hold too few different answers.
    """
    used = _usable(rows, template, video)
    drafts, ambiguous, repeated = _drafts(used, template, video)
    rng = random.Random(f"vbench/questions/{seed}/{template.question}/{template.answer}")
    vocabulary = sorted({draft.right for draft in drafts})
    _check_vocabulary(vocabulary, template)
    chosen = _balanced(drafts, template, rng)
    _lend_wrong(chosen, vocabulary, template, rng)
    made = _lettered(chosen, template, rng)
    place = {(draft.video, draft.text): n for n, draft in enumerate(drafts)}
    made.sort(key=lambda one: place[one.video, one.text])
    return made, Account(len(used), ambiguous, repeated, len(drafts) - len(made))


def _usable(rows: Sequence[Row], template: Template, video: str) -> list[Row]:
    named = (template.question, template.answer, template.excluded or "")
    columns = [video, *(name for text in named for name in _SLOT.findall(text))]
    known = {name for row in rows for name in row}
    for name in columns:
        if name not in known:
            raise ConfigError(
                f"no annotation has a column '{name}'",
                where=f"{template.question} → {template.answer}",
                mend=did_you_mean(name, known),
            )
    return [row for row in rows if all(row.get(name) for name in columns)]


def _drafts(rows: Iterable[Row], template: Template, video: str) -> tuple[list[_Draft], int, int]:
    """Returns one draft per question with a single right answer, and two counts."""
    answers: dict[tuple[str, str], list[_Draft]] = defaultdict(list)
    for row in rows:
        excluded = _fill(template.excluded, row) if template.excluded else None
        draft = _Draft(
            row[video], _fill(template.question, row), _fill(template.answer, row), excluded
        )
        answers[draft.video, draft.text].append(draft)
    single = [same for same in answers.values() if len({draft.right for draft in same}) == 1]
    repeated = sum(len(same) - 1 for same in single)
    return [same[0] for same in single], len(answers) - len(single), repeated


def _fill(text: str, row: Row) -> str:
    return _SLOT.sub(lambda slot: row[slot[1]], text)


def _check_vocabulary(vocabulary: Sequence[str], template: Template) -> None:
    others = [text for text in vocabulary if text != template.always]
    needed = template.num_options - (template.always is not None)
    if len(others) < needed or (template.always and template.always not in vocabulary):
        raise DataError(
            "the annotations hold too few different answers",
            where=f"{template.question} → {template.answer}",
            why=f"{len(vocabulary)} different ones for {template.num_options} options"
            + (f", '{template.always}' among them" if template.always else ""),
            mend="give more annotations, or fewer options (num_options)",
        )


def _balanced(drafts: Sequence[_Draft], template: Template, rng: random.Random) -> list[_Draft]:
    """Chooses drafts so that each answer is right equally often, as far as there are drafts.

    Answers take turns, the rarest so far first; what `always` names is right in one question of
    num_options.
    """
    waiting: dict[str, list[_Draft]] = defaultdict(list)
    for draft in rng.sample(drafts, len(drafts)):
        waiting[draft.right].append(draft)
    most = len(drafts) if template.limit is None else template.limit
    fixed = waiting.pop(template.always, []) if template.always else []
    share = template.num_options - 1
    if template.always:
        most = min(most, len(fixed) * template.num_options)
    others = _in_turn(
        waiting,
        most * share // template.num_options if template.always else most,
        template.per_video,
    )
    if not template.always:
        return others[: len(others) // template.num_options * template.num_options]
    groups = len(others) // share
    return [*fixed[:groups], *others[: groups * share]]


def _in_turn(waiting: Mapping[str, list[_Draft]], most: int, per_video: int | None) -> list[_Draft]:
    chosen: list[_Draft] = []
    of_video: Counter[str] = Counter()
    rounds = max(map(len, waiting.values()), default=0)
    for place in range(rounds):
        for text in sorted(waiting):
            if place < len(waiting[text]) and len(chosen) < most:
                draft = waiting[text][place]
                if per_video is None or of_video[draft.video] < per_video:
                    of_video[draft.video] += 1
                    chosen.append(draft)
    return chosen


def _lend_wrong(
    chosen: Sequence[_Draft], vocabulary: Sequence[str], template: Template, rng: random.Random
) -> None:
    """Gives each draft its wrong options: the texts that are owed most appearances as wrong.

    A text that is right r times has to be wrong r x (options - 1) times: then it tells nothing.
    """
    rights = Counter(draft.right for draft in chosen)
    owed = {text: rights[text] * (template.num_options - 1) for text in vocabulary}
    for draft in rng.sample(chosen, len(chosen)):
        if template.always and draft.right != template.always:
            draft.wrong.append(template.always)
        needed = template.num_options - 1 - len(draft.wrong)
        pool = [
            text
            for text in vocabulary
            if text not in (draft.right, draft.excluded, template.always)
        ]
        rng.shuffle(pool)
        pool.sort(key=lambda text: -owed[text])
        for text in pool[:needed]:
            draft.wrong.append(text)
            owed[text] -= 1


def _lettered(chosen: Sequence[_Draft], template: Template, rng: random.Random) -> list[Made]:
    """Gives letters: each is right equally often, whatever the answer."""
    made: list[Made] = []
    by_kind = [
        [d for d in chosen if (d.right == template.always) is fixed] for fixed in (True, False)
    ]
    turn = 0
    for drafts in by_kind:
        for draft in rng.sample(drafts, len(drafts)):
            place = turn % template.num_options
            turn += 1
            wrong = rng.sample(draft.wrong, len(draft.wrong))
            options = (*wrong[:place], draft.right, *wrong[place:])
            made.append(Made(draft.video, draft.text, options, LETTERS[place]))
    return made


def check_questions(made: Sequence[Made]) -> None:
    """Checks what must hold of any test: no question twice, no option twice, answers are options.

    Raises:
        DataError: It does not hold.
    """
    seen: set[tuple[str, str]] = set()
    for one in made:
        where = f"video {one.video}: {one.text}"
        if (one.video, one.text) in seen:
            raise DataError("a question is asked twice", where=where)
        seen.add((one.video, one.text))
        if len(set(one.options)) < len(one.options):
            raise DataError("two options are the same", where=where)
        if one.answer not in LETTERS[: len(one.options)]:
            raise DataError(f"the answer {one.answer} is no option", where=where)
