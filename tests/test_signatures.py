"""Type hints as the schema of a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbench.errors import ConfigError
from vbench.signatures import check_arguments, describe_hint, fits, signature_of


def target(
    count: int, ratio: float = 1.0, mode: Literal["a", "b"] | None = None, **rest: object
) -> None:
    """Stands for what a node may build."""


def test_open_ended_targets_take_unknown_keys() -> None:
    check_arguments({"count": 1, "anything": 2}, target, "node")
    with pytest.raises(ConfigError, match=r"'node\.count' is missing"):
        check_arguments({"anything": 2}, target, "node")


def test_hints_for_type_checkers_only_hide_nothing() -> None:
    def later(size: int, module: NotImportable) -> None:  # type: ignore[name-defined]
        ...

    hints = signature_of(later).hints
    assert (hints["size"], hints["module"]) == (int, Any)


@pytest.mark.parametrize(
    ("value", "hint", "expected"),
    [
        (1, int, True), (1.0, int, False), (True, int, False), (1, float, True),
        (False, float, False), ([1], tuple[int, str], False), (object(), Any, True),
        ("a", str, True), (1, str, False), (None, str, False), (None, str | None, True),
        ([1, 2], tuple[int, ...], True), ([1, "a"], tuple[int, str], True),
        ("ab", Sequence[str], False), ({"a": 1}, Mapping[str, int], True),
        ({"a": "x"}, Mapping[str, int], False), ([1], dict[str, int], False), ("p", Path, True),
        (3, Path, False), ({"_target_": "x.Y"}, int, True), (1, Literal[True], False),
    ],
)  # fmt: skip
def test_fits(value: object, hint: Any, expected: bool) -> None:
    assert fits(value, hint) is expected


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists))
def test_a_value_fits_a_union_when_it_fits_a_member(value: object) -> None:
    members = (int, float, str, bool, None, list)
    assert fits(value, int | float | str | bool | list | None)
    for hint in members:
        if fits(value, hint or type(None)):
            assert fits(value, (hint or type(None)) | Path)


def test_descriptions_are_plain_words() -> None:
    assert describe_hint(list[str]) == "a list [a, b, …], each a text"
    assert describe_hint(Path) == "a path"
    assert describe_hint(dict[str, int]) == "a mapping {key: value}"
