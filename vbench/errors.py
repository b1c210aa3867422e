"""Errors that a user can act on.

Every error that reaches a user says four things: what happened, where, why, and how to mend it.
The console prints them without a traceback; code catches them by class.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class VbenchError(Exception):
    """An error with a remedy.

    Args:
        what: What happened, in one sentence without a full stop.
        where: The file, key, column, sample or command part it happened at.
        why: The cause, as far as known.
        mend: What the user can do about it.
    """

    def __init__(self, what: str, *, where: str = "", why: str = "", mend: str = "") -> None:
        self.what = what
        self.where = where
        self.why = why
        self.mend = mend
        super().__init__(self.render())

    def render(self) -> str:
        """Returns the message as the console prints it, one line per part.

        >>> print(DataError("no column 'vidio'", where="a.csv", mend="use 'video'").render())
        no column 'vidio'
          where: a.csv
          mend:  use 'video'
        """
        parts = [("where: ", self.where), ("why:   ", self.why), ("mend:  ", self.mend)]
        return "\n".join([self.what, *(f"  {label}{text}" for label, text in parts if text)])

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions with keyword-only arguments need help to cross process boundaries.
        return (_rebuild, (type(self), self.what, self.where, self.why, self.mend))


def _rebuild(kind: type[VbenchError], what: str, where: str, why: str, mend: str) -> VbenchError:
    return kind(what, where=where, why=why, mend=mend)


class ConfigError(VbenchError):
    """The command or a YAML file asks for something that does not exist or does not fit."""


class DataError(VbenchError):
    """A dataset's files are missing, malformed or inconsistent."""


class DecodeError(VbenchError):
    """A video (or folder of frames) cannot be opened or decoded."""


class ModelError(VbenchError):
    """A checkpoint cannot be found, loaded or run as configured."""


class RunError(VbenchError):
    """A run folder cannot be created, continued or read."""


class OtherRankError(RunError):
    """Another of the processes that share a run has failed, and says itself why."""


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """Returns a hint naming the closest choices, or all of a few, or an empty string.

    Closest are all that start with the name, then those that differ by little.

    >>> did_you_mean("uniform_midpoint", ["uniform_midpoints", "fps"])
    "did you mean 'uniform_midpoints'?"
    >>> did_you_mean("uniform", ["uniform_midpoints", "uniform_endpoints", "unicorn", "fps"])
    "did you mean 'uniform_endpoints', 'uniform_midpoints' or 'unicorn'?"
    >>> did_you_mean("qqq", ["a", "b"])
    'one of: a, b'
    """
    pool = sorted(set(choices))
    begun = [c for c in pool if name and c.startswith(name)]
    near = difflib.get_close_matches(name, pool, n=3, cutoff=0.6)
    close = [f"'{c}'" for c in dict.fromkeys([*begun, *near])]
    if close:
        *most, last = close
        return f"did you mean {', '.join(most)}{' or ' if most else ''}{last}?"
    return f"one of: {', '.join(pool)}" if 0 < len(pool) <= 60 else ""
