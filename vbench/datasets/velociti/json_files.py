"""JSON documents whose every complaint names the file and the place in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vbench.errors import DataError, did_you_mean


@dataclass(frozen=True, slots=True)
class Node:
    """A value inside a JSON document, or a key of one of its objects."""

    value: object
    file: Path
    place: str = "$"
    """The way down from the top: `$.v_abc_seg_0_10.Ev1`."""

    def error(self, what: str, *, why: str = "", mend: str = "") -> DataError:
        """Returns an error that points here."""
        return DataError(what, where=f"{self.file}, at {self.place}", why=why, mend=mend)

    def items(self) -> Iterator[tuple[Node, Node]]:
        """Yields the keys and values of an object, in file order.

        Raises:
            DataError: It is no object.
        """
        if not isinstance(self.value, dict):
            raise self._wrong_type("an object {…}")
        for key, value in self.value.items():
            place = f"{self.place}.{key}"
            yield Node(key, self.file, place), Node(value, self.file, place)

    def __getitem__(self, key: str) -> Node:
        """Returns the value under a key of an object.

        Raises:
            DataError: It is no object or lacks the key.
        """
        if not isinstance(self.value, dict):
            raise self._wrong_type("an object {…}")
        if key not in self.value:
            raise self.error(f"'{key}' is missing", mend=did_you_mean(key, self.value))
        return Node(self.value[key], self.file, f"{self.place}.{key}")

    def text(self) -> str:
        """Returns a text that is not blank.

        Raises:
            DataError: It is something else.
        """
        if not isinstance(self.value, str):
            raise self._wrong_type("a text")
        if not self.value.strip():
            raise self.error("a text is empty", mend="fill it in, or remove its entry")
        return self.value

    def _wrong_type(self, wanted: str) -> DataError:
        names = {dict: "an object", list: "a list", str: "a text", type(None): "null"}
        found = names.get(type(self.value), f"{self.value!r}")
        return self.error(f"{wanted} is expected, found {found}")


def read_json(file: Path) -> Node:
    """Reads a UTF-8 JSON document; a byte-order mark is skipped.

    Raises:
        DataError: It cannot be read or parsed, or an object holds a key twice (all but the last
            would be lost).
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
        return Node(json.loads(text, object_pairs_hook=_unique_keys), file)
    except OSError as error:
        why = error.strerror or str(error)
        raise DataError(f"'{file.name}' cannot be read", where=str(file), why=why) from error
    except UnicodeDecodeError as error:
        raise DataError(
            f"'{file.name}' is not UTF-8 text",
            where=f"{file}, byte {error.start}",
            why=error.reason,
            mend="save it as UTF-8, or fetch it again",
        ) from error
    except json.JSONDecodeError as error:
        raise DataError(
            f"'{file.name}' is not valid JSON",
            where=f"{file}, line {error.lineno} column {error.colno}",
            why=error.msg,
            mend="mend it there, or fetch it again if it was cut short",
        ) from error
    except (_RepeatedKeyError, RecursionError) as error:
        raise DataError(
            f"'{file.name}' cannot be used",
            where=str(file),
            why=str(error),
            mend="keep one entry per key",
        ) from error


class _RepeatedKeyError(ValueError):
    pass


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _RepeatedKeyError(f"the key '{twice}' occurs twice in one object")
    return found
