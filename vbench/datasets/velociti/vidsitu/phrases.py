"""Phrases as sets of words, and the few inflections that captions need.

"Not a subset" is the paper's rule for replacements (arXiv 2406.10889v1, section 4.1): whoever is a
man in a black shirt is also a man, so neither phrase can stand for a different person.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

ARTICLES = frozenset({"a", "an", "the"})

_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_ARTICLE = re.compile(r"\b(?:an?|the)\s+$", re.IGNORECASE)
_TYPOGRAPHIC = str.maketrans(
    {"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "…": "...", "\u00a0": " "}
)
_CACHED = 1 << 16


@lru_cache(maxsize=_CACHED)
def plain(text: str) -> str:
    """Returns text with single blanks, plain quotes and dashes, and letters without accents.

    VELOCITI's released captions are ASCII. What has no plain form stays as it is.

    >>> plain("  Renée’s   café "), plain("東京")
    ("Renee's cafe", '東京')
    """
    text = " ".join(text.translate(_TYPOGRAPHIC).split())
    if text.isascii():
        return text
    letters = unicodedata.normalize("NFKD", text)
    bare = "".join(c for c in letters if not unicodedata.combining(c))
    return bare if bare.isascii() else unicodedata.normalize("NFC", text)


@lru_cache(maxsize=_CACHED)
def words(text: str) -> tuple[str, ...]:
    """Returns the words of a phrase in small letters, without articles.

    >>> words("The man's well-worn hat.")
    ("man's", 'well-worn', 'hat')
    """
    return tuple(w for w in _WORD.findall(plain(text).lower()) if w not in ARTICLES)


@lru_cache(maxsize=_CACHED)
def word_set(text: str) -> frozenset[str]:
    """Returns the different words of a phrase."""
    return frozenset(words(text))


def overlaps(one: str, other: str) -> bool:
    """Says whether the words of one phrase are all words of the other.

    >>> overlaps("man", "the man in black shirt"), overlaps("man in red", "man in blue")
    (True, False)
    """
    a, b = word_set(one), word_set(other)
    return a <= b or b <= a


def contains(text: str, phrase: str) -> bool:
    """Says whether the words of a phrase stand in a text, one after another, articles aside.

    >>> contains("In a bar, a Man in black nods.", "the man in black")
    True
    """
    return find(text, phrase) is not None


def find(text: str, phrase: str) -> tuple[int, int] | None:
    """Returns where a phrase stands in a text first, its own article included, or None.

    >>> text = "In a bar, the man in black nods."
    >>> start, end = find(text, "a man in black")
    >>> text[start:end]
    'the man in black'
    """
    return next(find_all(text, phrase), None)


def find_all(text: str, phrase: str) -> Iterator[tuple[int, int]]:
    """Yields every place where a phrase stands in a text."""
    wanted = words(phrase)
    if not wanted:
        return
    found = [match for match in _WORD.finditer(text) if match.group().lower() not in ARTICLES]
    spelled = [plain(match.group()).lower() for match in found]
    for place in range(len(spelled) - len(wanted) + 1):
        if tuple(spelled[place : place + len(wanted)]) == wanted:
            start = found[place].start()
            article = _ARTICLE.search(text[:start])
            yield (article.start() if article else start), found[place + len(wanted) - 1].end()


def ing(verb: str) -> str:
    """Returns the present participle of a verb's first word, and its other words.

    >>> [ing(v) for v in ("run", "lie", "see", "move", "walk away", "open", "shake", "panic")]
    ['running', 'lying', 'seeing', 'moving', 'walking away', 'opening', 'shaking', 'panicking']
    """
    first, *rest = plain(verb).lower().split() or [""]
    return " ".join([_participle(first), *rest])


def _participle(verb: str) -> str:
    if verb in ("be", "singe", "dye", "tinge") or verb.endswith(("ee", "oe", "ye")):
        return f"{verb}ing"
    if verb.endswith("ie"):
        return f"{verb[:-2]}ying"
    if verb.endswith("e"):
        return f"{verb[:-1]}ing"
    if verb.endswith("ic"):
        return f"{verb}king"
    return f"{_doubled(verb)}ing"


_STRESSED = frozenset(
    {"begin", "forget", "admit", "permit", "submit", "commit", "prefer", "refer", "occur", "regret"}
)


def _doubled(verb: str) -> str:
    """Doubles a last consonant as English does after one short, stressed vowel.

    >>> [_doubled(v) for v in ("stop", "begin", "look", "fix", "open", "sit", "quit", "play")]
    ['stopp', 'beginn', 'look', 'fix', 'open', 'sitt', 'quitt', 'play']
    """
    short = re.fullmatch(r"(?:[^aeiou]*|[^aeiou]*qu)[aeiou][bdfgklmnprtvz]", verb)
    return verb + verb[-1] if short or verb in _STRESSED else verb


def inflections(verb: str) -> frozenset[str]:
    """Returns the regular forms of a verb's first word.

    >>> sorted(inflections("stop"))
    ['stop', 'stopped', 'stopping', 'stops']
    """
    first = (plain(verb).lower().split() or [""])[0]
    if not first:
        return frozenset()
    past = first + "d" if first.endswith("e") else f"{_doubled(first)}ed"
    third = first + ("es" if first.endswith(("s", "x", "ch", "sh")) else "s")
    forms = {first, third, past, _participle(first)}
    if re.search(r"[^aeiou]y$", first):
        forms |= {f"{first[:-1]}ies", f"{first[:-1]}ied"}
    return frozenset(forms)
