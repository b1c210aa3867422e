"""Flags of the commands that take paths and names; settings (`key=value`) have no dashes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from vbench.errors import ConfigError, did_you_mean

Number = TypeVar("Number", int, float)


def parse(words: Sequence[str], known: Mapping[str, bool]) -> tuple[list[str], dict[str, str]]:
    """Separates flags from the other words. After `--` no word is a flag.

    Args:
        words: As typed.
        known: The flags, and whether each takes a value: `--limit=5` or `--limit 5`.

    Raises:
        ConfigError: A flag is unknown, or has a value too many or too few.

    >>> parse(["run", "--json", "--limit=5"], {"--json": False, "--limit": True})
    (['run'], {'--json': '', '--limit': '5'})
    """
    rest: list[str] = []
    given: dict[str, str] = {}
    left = iter(words)
    for word in left:
        flag, has_value, value = word.partition("=")
        if word == "--":
            rest += left
        elif not word.startswith("-"):
            rest.append(word)
        elif flag not in known:
            raise unknown(word, list(known))
        elif known[flag]:
            given[flag] = value if has_value else next(left, "")
            if not given[flag]:
                raise ConfigError(f"{flag} needs a value", where=word, mend=f"{flag}=…")
        elif has_value:
            raise ConfigError(f"{flag} takes no value", where=word, mend=flag)
        else:
            given[flag] = ""
    return rest, given


def listed(text: str, known: Collection[str]) -> list[str]:
    """Separates names at commas, except those in a known name; where several fit, the longest does.

    >>> listed("hue=red, blue,chrono", ["chrono", "hue=red", "hue=red, blue"])
    ['hue=red, blue', 'chrono']
    """
    names: list[str] = []
    left = [piece for piece in text.split(",") if piece.strip()]
    while left:
        ends = range(len(left), 0, -1)
        joined = ((end, ",".join(left[:end]).strip()) for end in ends)
        end, name = next((one for one in joined if one[1] in known), (1, left[0].strip()))
        names.append(name)
        left = left[end:]
    return names


def number(
    given: Mapping[str, str], flag: str, default: Number, read: Callable[[str], Number]
) -> Number:
    """Returns a flag's value as a number from 0.

    Args:
        given: From `parse`.
        flag: Its name.
        default: The value where it is not given.
        read: `int` or `float`.

    Raises:
        ConfigError: It is no such number.
    """
    try:
        value = read(given.get(flag, str(default)))
        if value >= 0:
            return value
        why = f"{value} is not"
    except ValueError as error:
        why = str(error)
    raise ConfigError(
        f"{flag} is a number from 0", where=f"{flag}={given[flag]}", why=why,
        mend=f"leave it out for {default}",
    )  # fmt: skip


def unknown(word: str, known: Sequence[str], value: str = "") -> ConfigError:
    """Returns the error for a flag that a command does not have.

    Args:
        word: As typed.
        known: The flags that it has.
        value: What follows, where the command takes settings, and this may be meant for one.
    """
    flag = word.partition("=")[0]
    hint = did_you_mean(flag, known)
    meant = word if "=" in word or not value or hint.startswith("did") else f"{word}={value}"
    settings = "" if "=" not in meant else f" (settings have no dashes: {meant.lstrip('-')})"
    return ConfigError(f"unknown flag '{word}'", where="the command", mend=hint + settings)


def expand(word: str) -> list[str]:
    """Returns the run folders a path or glob names; a shell may have expanded it already.

    Raises:
        ConfigError: A glob matches nothing.
    """
    if Path(word).exists() or not set(word) & set("*?["):
        return [word]
    root = Path(word).anchor or "."
    found = sorted(str(path) for path in Path(root).glob(word.removeprefix(root)) if path.is_dir())
    if not found:
        raise ConfigError(
            "no run folder matches", where=word, mend="`ls outputs/runs` shows what there is"
        )
    return found


def expand_one(word: str) -> str:
    """Returns the one run folder that a path or glob names.

    Raises:
        ConfigError: It names several, or none.
    """
    found = expand(word)
    if len(found) > 1:
        raise ConfigError(
            "one run is wanted", where=word, why=f"it names {len(found)}", mend=f"name {found[0]}"
        )
    return found[0]
