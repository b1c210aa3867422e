r"""A model's response as plain text, and what stands around a place in it.

Nothing here decides for a letter; it takes away what only decorates (full-width forms, Markdown,
LaTeX, tags of reasoning models) and tells denials and doubts from statements.
"""

from __future__ import annotations

import re
import unicodedata

ANSWER = "\nanswer: "
r"""What marked-up answers (<answer>, \boxed) are rewritten to."""

_OPEN_THOUGHT = re.compile(r"<(think|thinking|reasoning)>", re.I)
_CLOSED_THOUGHT = re.compile(r"^.*</(?:think|thinking|reasoning)>", re.S | re.I)
_ANSWER_TAG = re.compile(r"<answer>\s*(.*?)\s*(?:</answer>|$)", re.S | re.I)
_STYLE = re.compile(r"\\(?:text|textbf|mathrm|mathbf|textit|mbox)\s*\{([^{}]*)\}")
_BOXED = re.compile(r"\\boxed\s*\{\s*([^{}]*?)\s*\}")
_DECORATION = re.compile(r"[*`$#]|\\[()\[\]]|(?<!\w)_+|_+(?!\w)")


def plain(response: str) -> str | None:
    r"""Returns the response without decoration, or None if it ends within a thought.

    >>> plain("<think>A or B?</think> **Ｂ**")
    'B'
    >>> plain(r"so \boxed{\text{C}}").split()
    ['so', 'answer:', 'C']
    """
    text = unicodedata.normalize("NFKC", response).replace("’", "'").replace("。", ". ")
    text = _CLOSED_THOUGHT.sub("", text)
    if _OPEN_THOUGHT.search(text):
        return None
    text = _ANSWER_TAG.sub(lambda tag: f"{ANSWER}{tag[1]}\n", text)
    text = _BOXED.sub(lambda box: f"{ANSWER}{box[1]}\n", _STYLE.sub(r"\1", text))
    lines = (" ".join(line.split()) for line in _DECORATION.sub("", text).splitlines())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def words(text: str) -> str:
    """Reduces a text to its words, for comparing: case, punctuation and form do not count.

    >>> words(" The red-car. ")
    'the red car'
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    return re.sub(r"[\W_]+", " ", folded).strip()


def starts_with(text: str, start: str) -> bool:
    """Returns whether a text of words starts with whole words of another; never with no words."""
    return bool(start) and (text == start or text.startswith(start + " "))


_SENTENCE_END = re.compile(r"[.!?;](?=\s|$)|\n")
_TURN = re.compile(
    r"\b(?:but|so|therefore|thus|hence|however|consequently)\b|因此|所以|但是|但", re.I
)
_REASON = re.compile(
    r"\s*(?:since|because|as|given|based|although|though|while|when|after|from|in|at|由于|因为)"
    r"(?:\b|(?<=于)|(?<=为)).*[,，]",
    re.I | re.S,
)
_DENIAL = re.compile(
    r"\b(?:not|no|never|cannot|without|neither|nor|none|either|whether|if|unless|doubt\w*|wrong|"
    r"incorrect\w*|false|worst|least|unlikely|impossible|might|may|could|first|second|third|other|"
    r"another|alternative|possible|previous|initial\w*|eliminat\w*|exclud\w*|rul\w+ out|reject\w*|"
    r"instead|rather|says|said|claim\w*|thinks|thought|guess\w*|nicht|kein\w*|pas|falsch\w*|"
    r"options|choices|captions)\b|n't\b|不|没|非|错|吗|可能",
    re.I,
)


def is_denied(text: str, place: int) -> bool:
    """Returns whether what is said at a place is denied, doubted, asked or another's opinion.

    Only the part of the sentence that governs the place counts: what stands before a `so` or `but`,
    or is a reason set off by a comma, does not.
    """
    begin = max((end.end() for end in _SENTENCE_END.finditer(text, 0, place)), default=0)
    clause = text[begin:place]
    clause = clause[max((turn.end() for turn in _TURN.finditer(clause)), default=0) :]
    reason = _REASON.match(clause)
    return bool(_DENIAL.search(clause[reason.end() if reason else 0 :]))


_WRONG = re.compile(
    r"\b(?:not|no|never|cannot|wrong|incorrect\w*|false|unlikely|impossible|neither|nor|"
    r"eliminat\w*|exclud\w*|rul\w+ out|reject\w*)\b|n't\b|不|没|非|错",
    re.I,
)


def says_wrong(text: str) -> bool:
    """Returns whether a text about an option may be saying that it is the wrong one."""
    return bool(_WRONG.search(text))


_RETRACTION = re.compile(
    r"\b(?:actually|wait|hmm+|on second thoughts?|correction|scratch that|sorry|my mistake|let me|"
    r"i mean|no,|or maybe|or perhaps|not sure|though it (?:could|might|may)|could also|"
    r"also (?:plausible|possible|likely|correct|right|fits?|matches|describes|true))\b|no,|"
    r"等等|不对",
    re.I,
)


def is_retracted(text: str) -> bool:
    """Returns whether what follows an answer takes it back or starts anew."""
    return bool(_RETRACTION.search(text))


_REFUSAL = re.compile(
    r"\b(?:sorry|apologi[sz]e|unable to|(?:can't|cannot|can not|couldn't|could not|not able to|"
    r"impossible to|don't have|do not have)\b.{0,80}\b(?:answer|determine|tell|see|view|watch|"
    r"access|process|analy[sz]e|assist|help|provide|identify|ability|say|decide|comment|"
    r"enough)|as an ai|no video|not enough information|insufficient information)\b|"
    r"无法|抱歉|对不起|不能",
    re.I | re.S,
)


def is_refusal(text: str) -> bool:
    """Returns whether a response says that it gives no answer."""
    return bool(_REFUSAL.search(text))
