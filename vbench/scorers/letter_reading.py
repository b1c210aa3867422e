"""Which option a free response chooses: a letter with the rule that found it, or none. No guesses.

Public harnesses take the first capital letter of a response, or a random option where there is
none, which moves accuracies by points (docs/language_models.md). Here every place that states a
choice is collected; unless they all agree on one option, the response is unparsed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from vbench.scorers.response_text import (
    is_denied,
    is_refusal,
    is_retracted,
    plain,
    says_wrong,
    starts_with,
    words,
)


@dataclass(frozen=True)
class Reading:
    """What was read."""

    letter: str | None
    """None: unparsed."""
    rule: str
    """What found the letter, or why there is none."""


@dataclass(frozen=True)
class _Found:
    letter: str | None
    """None: several at one place."""
    rule: str
    start: int
    end: int


_NOUN = r"(?:options?|choices?|captions?|letters?|answer|选项)"
_OPEN = r"[\s\"'“‘«「『【\[(<{]*"
_CLOSE = r"[\"'”»」』】\])>}]*"
_EDGE = r"(?![A-Za-z0-9'+#&]|-\w)"
_LETTER = (
    rf"(?:{_OPEN}{_NOUN}\b)?(?P<open>{_OPEN})(?<![A-Za-z0-9])(?P<letter>[A-Za-z])"
    rf"(?P<close>{_CLOSE}){_EDGE}"
)
_ADVERB = (
    r"(?:(?:most likely|probably|clearly|definitely|likely|therefore|thus|indeed|just|simply|the|"
    r"letter|option|choice|caption|as follows)\b[\s:]*){0,4}"
)
_STATEMENTS = {
    "answer_statement": (
        rf"\b(?:answer|option|choice|caption|response|selection|prediction|antwort|respuesta|"
        rf"réponse|maximum probability)\b[\"']?(?:\s+(?:to|for)\s+(?:\w+\s+){{1,4}}?)?\s*"
        rf"(?:\b(?:is|would be|should be|must be|will be|has to be|ist|est|es)\b|=|:|->|→)\s*:?\s*"
        rf"{_ADVERB}{_LETTER}"
    ),
    "answer_statement_zh": rf"(?:答案|选项)(?:应该|应)?\s*(?:是|为|选|:)\s*:?\s*{_LETTER}",
    "chosen": (
        rf"\b(?:I|we)(?:'(?:d|ll|m))?(?:\s+(?:would|will|am going to|must|should|have to|shall))?"
        rf"\s+(?:\w+ly\s+)?(?:choose|pick|select|go with|vote for|opt for|say|answer)\s+(?:the\s+)?"
        rf"{_LETTER}"
    ),
    "chosen_zh": rf"(?:选择|选)(?!项)\s*:?\s*{_LETTER}",
    "correct_statement": (
        rf"(?:^|(?<=[.,:;!?\n])|\b(?:so|therefore|thus|hence|that|think|believe|option|choice|"
        rf"caption|answer|only)\b|选项)\s*{_LETTER}\s*"
        r"(?:\s(?:is|must be|seems|looks)\s+(?:to be\s+)?(?:the\s+)?(?:(?:most|best|only|more)\s+)?"
        r"(?:correct|right|best|answer|accurate|appropriate|likely|match|fit|true|one that)|"
        r"\s(?:best|better|most accurately|accurately|correctly)\s+(?:describes|matches|fits|"
        r"captures|reflects|represents|answers)|(?:选项)?\s*(?:是|为)?\s*(?:正确|对的|最佳|最符合))"
    ),
    "answer_at_end": rf"\banswer\s+{_LETTER}\s*[.!]?\s*$",
    "concluded": (
        rf"\b(?:it(?:'s|\s+is|\s+must be)|(?:so|therefore|thus|hence),?)\s+{_LETTER}\s*[.!]?\s*$"
    ),
    "after_colon": rf":\s*{_LETTER}\s*[.!]?\s*\Z",
}
_PATTERNS = {name: re.compile(text, re.I | re.M) for name, text in _STATEMENTS.items()}
_FOLLOWS = re.compile(
    r"\s*(?:$|[.,:;!()\n–—，、]|-\s|(?:because|since|as|due|based|given|not|rather than|instead of|"
    r"over)\b)",
    re.I,
)
_SEVERAL = re.compile(
    rf"\s*(?:,|/|&|\+|;|、|\band\b|\bor\b|\bas well as\b|和|或|与|及)\s*(?:also\s+|maybe\s+)?"
    rf"(?:{_OPEN}{_NOUN}\b)?{_OPEN}(?P<other>[A-Z]){_EDGE}(?!\s+[a-z])"
)
_JOINED = re.compile(r"\b(?:and|or|both|nor)\s*\Z|[/&,]\s*\Z", re.I)
_DENIED_AFTER = re.compile(
    r"\s*,?\s*(?:which\s+)?(?:is|was|are|seems|can)\s*(?:n't|not\b|(?:wrong|incorrect|false|unlikely|"
    r"impossible)\b)|[^.!?\n]*\?",
    re.I,
)
_LEAD = re.compile(
    rf"\A{_LETTER}(?P<end>\s*(?:[.):、,;–—]|-\s)+|\s*[!]?\s*$|\s+(?=(?:because|since|as|due)\b)|(?<=[\])】」])\s)",
    re.I | re.M,
)
_LISTED = re.compile(rf"^{_OPEN}(?:{_NOUN}\s+)?\(?([A-Z])\s*(?:[.):、]|$)", re.M)
_LAST = re.compile(rf"^{_LETTER}\s*[.!]?\s*\Z", re.I | re.M)
_TEXT_AFTER = re.compile(
    r"\b(?:answer|option|choice|caption)\b[\"']?\s*(?:\bis\b|=|:)\s*:?\s*(?P<text>[^\n]+)", re.I
)
_OTHER = re.compile(rf"(?<![A-Za-z0-9'.])([A-Z]){_EDGE}(?!\s+[a-z])")
_SHOWN = re.compile(
    r"\b(?:sign|shirt|jersey|text|reads?|written|labell?ed|plate|screen|board|grade|score|type|"
    r"vitamin|team|plan|chord)\b",
    re.I,
)
"""A letter after these words and a colon may be something seen in the video."""
_FUNCTION_WORD = re.compile(
    r"(?:The|An?|This|That|These|It|He|She|They|In|Because|Since|As|There|Based|Both|One|Two|"
    r"Someone|Yes|No)\b|[^A-Z]"
)
"""What may follow `A.`; another capitalised word makes it an initial."""


def read_letter(response: str, options: Mapping[str, str]) -> Reading:
    """Reads which option a response chooses.

    Args:
        response: As generated.
        options: Capital letter → text.

    >>> options = {"A": "a cat", "B": "a dog", "C": "a man jumping"}
    >>> read_letter("A man is shown jumping, so the answer is (C).", options)
    Reading(letter='C', rule='answer_statement')
    >>> read_letter("The answer is B or C.", options)
    Reading(letter=None, rule='several_letters')
    """
    text = plain(response)
    if text is None:
        return Reading(None, "unfinished_thought")
    if not words(text):
        return Reading(None, "empty")
    same = [letter for letter, option in options.items() if _is(text, option)]
    if same:
        return _whole(text, same, options)
    found = _final([*_stated(text), *_leading(text, options), *_last_line(text)], text)
    found += _by_text(text, options)
    if not found:
        return Reading(None, "refusal" if is_refusal(text) else "nothing_found")
    return _agreed(found, text, options)


def _is(text: str, option: str) -> bool:
    return bool(words(option)) and words(text) == words(option)


def _whole(text: str, same: Sequence[str], letters: Collection[str]) -> Reading:
    """The response is an option's text, which may look like another's letter."""
    if len(same) > 1:
        return Reading(None, "duplicate_options")
    letter = words(text).upper()
    clash = letter in letters and letter != same[0]
    return Reading(None, "contradictory") if clash else Reading(same[0], "option_text")


def _agreed(found: Sequence[_Found], text: str, options: Mapping[str, str]) -> Reading:
    letters = {one.letter for one in found}
    if None in letters:
        return Reading(None, "several_letters")
    if len(letters) > 1 or any(_text_of_another(one, text, options) for one in found):
        return Reading(None, "contradictory")
    best, last = found[0], max(found, key=lambda one: one.end)
    if best.letter not in options:
        return Reading(None, "no_such_option")
    if is_retracted(text[last.end :]):
        return Reading(None, "retracted")
    return Reading(best.letter, best.rule)


def _text_of_another(found: _Found, text: str, options: Mapping[str, str]) -> bool:
    """Whether a letter is followed by the text of another option."""
    rest = words(text[found.end :])
    told = [words(option) for option in options.values()]
    longest = max((one for one in told if starts_with(rest, one)), key=len, default="")
    return bool(longest) and longest != words(options.get(found.letter or "", ""))


def _final(found: list[_Found], text: str) -> list[_Found]:
    """From the first statement that calls itself final on, where there is one."""
    marked = [one for one in found if re.search(r"\bfinal\W+\Z|\bfinal answer", _before(one, text))]
    start = min((one.start for one in marked), default=0)
    return [one for one in found if one.start >= start]


def _before(found: _Found, text: str) -> str:
    return text[max(0, found.start - 12) : found.end].lower()


def _stated(text: str) -> Iterator[_Found]:
    for rule, pattern in _PATTERNS.items():
        for match in pattern.finditer(text):
            if _is_statement(match, text, rule):
                yield _at(match, rule.removesuffix("_zh"), text)


def _is_statement(match: re.Match[str], text: str, rule: str) -> bool:
    rest, letter = text[match.end("close") :], match["letter"]
    if is_denied(text, match.start("letter")) or _DENIED_AFTER.match(rest):
        return False
    enclosed = bool(match["close"])
    if rule == "after_colon":
        line = text[text.rfind("\n", 0, match.start()) + 1 :]
        if _SHOWN.search(line) or set(_OTHER.findall(line)) - {letter.upper(), "I"}:
            return False
    if rule == "concluded" and letter in "AI" and not (enclosed or match[0].endswith((".", "!"))):
        return False
    if letter.islower() and not enclosed:
        # `the answer is a` may be the beginning of a sentence that was cut off.
        ends = re.match(r"\s*[.)!]?\s*(?:\n|\Z)", rest)
        colon = re.search(r"[:=]\s*\Z", text[: match.start("letter")])
        return bool(ends) and (letter not in "ai" or bool(colon))
    if rule == "correct_statement":
        return letter.isupper() or enclosed
    return enclosed or bool(_FOLLOWS.match(rest)) or bool(_SEVERAL.match(rest)) or _zh(rest)


def _zh(rest: str) -> bool:
    return bool(re.match(r"\s*[\u3000-\u9fff]", rest))


def _at(match: re.Match[str], rule: str, text: str) -> _Found:
    several = _SEVERAL.match(text, match.end("close"))
    several = several if several and several["other"] != match["letter"].upper() else None
    joined = _JOINED.search(text[: match.start("letter")])
    sure = not several and not (joined and rule == "correct_statement")
    letter = match["letter"].upper() if sure else None
    return _Found(letter, rule, match.start(), match.end("close"))


def _leading(text: str, options: Mapping[str, str]) -> Iterator[_Found]:
    """A letter that the response starts with: alone, before its text, or before a reason."""
    match = _LEAD.match(text)
    if not match or len(set(_LISTED.findall(text))) > 1:
        return
    rest, letter = text[match.end() :], match["letter"].upper()
    found = _at(match, "leading_letter", text)
    if not rest.strip():
        yield _Found(found.letter, "letter_only", found.start, found.end)
        return
    own = words(options.get(letter, ""))
    if starts_with(words(rest), own):
        more = re.match(r"(?:or|and)\b", words(rest)[len(own) :].strip())
        yield _Found(None if more else found.letter, found.rule, found.start, found.end)
        return
    if rest.lstrip().startswith("?"):
        return
    opened, closed = bool(match["open"].strip()), bool(match["close"])
    article = letter in "AI" and not (opened or closed) and not _FUNCTION_WORD.match(rest.lstrip())
    if article or (match["letter"].islower() and not (opened and closed)):
        return
    reason = re.match(r"\W*(?:because|since|as|due|explanation|reason\w*)\b", rest, re.I)
    others = {other for other in _OTHER.findall(rest) if other not in (letter, "I")}
    if found.letter is None or reason or not (others or says_wrong(rest)):
        yield found
    elif others and not list(_stated(text)):
        yield _Found(None, "leading_letter", found.start, found.end)


def _last_line(text: str) -> Iterator[_Found]:
    """A letter that stands alone on the last line, after reasoning."""
    match = _LAST.search(text)
    listed = _LISTED.findall(text[: match.start()] if match else "")
    if not match or match.start() == 0:
        return
    if not listed or (match["letter"].upper() in listed and len(set(listed)) > 1):
        yield _at(match, "last_line", text)


def _by_text(text: str, options: Mapping[str, str]) -> list[_Found]:
    """An option's text where a letter might stand: after `the answer is`, or at the beginning."""
    told = {letter: words(option) for letter, option in options.items()}
    found = []
    for match in _TEXT_AFTER.finditer(text):
        same = [letter for letter, own in told.items() if own and words(match["text"]) == own]
        if same and len(same) == 1 and not is_denied(text, match.start("text")):
            found.append(_Found(same[0], "answer_text", match.start(), match.end()))
    head = re.match(r"([^,.;:!\n]+)[,.;:!\n](?!\d)", text)
    begun = [letter for letter, own in told.items() if head and own == words(head[1])]
    if head and len(begun) == 1:
        rest = f" {words(text[head.end() :])} "
        others = [own for letter, own in told.items() if own and letter != begun[0]]
        if not any(f" {own} " in rest for own in others) and not is_retracted(rest):
            found.append(_Found(begun[0], "leading_text", head.start(), head.end()))
    return found
