"""Checks values from YAML and the command line against a Python signature, before any building.

A config node is a call: `_target_` names what is called and the other keys are its arguments. The
callable's own type hints are the schema, so there is no second list of keys to keep in step.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal

from vbench.errors import ConfigError, did_you_mean

NODE_KEYS = frozenset({"_target_", "_partial_", "_convert_", "_recursive_", "_args_"})
"""Keys that steer how a node is built and are no arguments of its target."""

_SHOWN = 8
"""Choices that a message names."""

_PLAIN = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
    type(None): "null",
}


@dataclass(frozen=True, slots=True)
class Signature:
    """What a callable accepts by name."""

    hints: Mapping[str, Any]
    """Type hint per argument; `Any` where there is none or it cannot be resolved."""
    required: tuple[str, ...]
    """Arguments without a default, in order."""
    open_ended: bool
    """It takes `**kwargs`, so an unknown key is none of our business."""


def signature_of(target: Callable[..., Any]) -> Signature:
    """Reads a callable's signature.

    >>> def crop(size: int, mode: Literal["centre", "squash"] = "centre") -> None: ...
    >>> signature_of(crop).required
    ('size',)
    """
    named = {}
    open_ended = False
    for name, parameter in inspect.signature(target).parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            open_ended = True
        elif parameter.kind in (
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            inspect.Parameter.KEYWORD_ONLY,
        ):
            named[name] = parameter
    function = target.__init__ if inspect.isclass(target) else target
    required = tuple(n for n, p in named.items() if p.default is inspect.Parameter.empty)
    return Signature({n: _hint(function, n) for n in named}, required, open_ended)


def _hint(function: Callable[..., Any], name: str) -> Any:
    # One at a time: a hint that exists for type checkers only must not hide the others.
    annotation = getattr(function, "__annotations__", {}).get(name, Any)
    stand_in = types.SimpleNamespace(__annotations__={name: annotation})
    try:
        return typing.get_type_hints(stand_in, getattr(function, "__globals__", {}))[name]
    except (NameError, TypeError, AttributeError):
        return Any


def check_arguments(
    given: Mapping[str, Any],
    target: Callable[..., Any],
    key: str,
    other: Callable[[str], Sequence[str]] = lambda name: (),
) -> None:
    """Checks a node's keys and values against its target.

    Args:
        given: The node, resolved to plain Python; nested nodes are mappings with `_target_`.
        target: What will be called.
        key: The node's place in the config (`model`), for messages; "" at the top.
        other: Returns what else could stand in that place and has a key of this name.

    Raises:
        ConfigError: An unknown or missing key, or a value of the wrong type.
    """
    signature = signature_of(target)
    prefix = f"{key}." if key else ""
    where = f"{key} ({_name(target)})" if key else "the command or an experiment file"
    for name, value in given.items():
        if name in NODE_KEYS:
            continue
        if name not in signature.hints:
            if signature.open_ended:
                continue
            hint = did_you_mean(str(name), signature.hints)
            if having := other(str(name)):
                more = ", …" if len(having) > _SHOWN else ""
                hint += f"; {key}={', '.join(having[:_SHOWN])}{more} would have it"
            raise ConfigError(
                f"unknown key '{prefix}{name}'",
                where=where,
                why=f"nothing there is called '{name}'",
                mend=hint,
            )
        if value != "???":
            check_value(value, signature.hints[name], prefix + name)
    wanted = {name for name, value in given.items() if value == "???"}
    if "_args_" not in given:
        wanted |= {name for name in signature.required if name not in given}
    for name in (name for name in signature.hints if name in wanted):
        raise ConfigError(
            f"'{prefix}{name}' is missing",
            where=where,
            why="it has no default",
            mend=f"add {prefix}{name}=… to the command ({describe_hint(signature.hints[name])})",
        )


def check_parts(chosen: Mapping[str, str | None], target: Callable[..., Any]) -> None:
    """Refuses `generation=greedy` for a model that generates nothing.

    Args:
        chosen: Folders of conf/ that set a part of the model, with the file chosen, if any.
        target: What will be called.

    Raises:
        ConfigError: The target has no argument of that name.
    """
    for part, word in chosen.items():
        if word and part not in signature_of(target).hints:
            raise ConfigError(
                f"{part}={word} does not go with this model",
                where=f"model ({_name(target)})",
                why=f"it has no settings '{part}'",
                mend=f"leave {part} out, or choose a video-language model: model=hf/vlm, …",
            )


def check_value(value: object, hint: Any, key: str) -> None:
    """Checks one value against a type hint.

    Raises:
        ConfigError: The value does not fit.
    """
    if fits(value, hint):
        return
    mend = f"give {describe_hint(hint)}"
    choices = _choices(hint)
    if choices and isinstance(value, str):
        mend = did_you_mean(value, [str(c) for c in choices]) or mend
    elif isinstance(value, int | float | bool) and fits("", hint):
        mend = f"quote it to make it a text: \"{key}='{value}'\""
    raise ConfigError(
        f"'{key}' cannot be {describe_value(value)}",
        where=key,
        why=f"it must be {describe_hint(hint)}",
        mend=mend,
    )


def fits(value: object, hint: Any) -> bool:
    """Says whether a plain YAML value can be passed where a type hint asks for it.

    Hints that YAML cannot express (arrays, callables, classes) accept everything.

    >>> fits(3, float), fits(True, int), fits("x", Literal["x", "y"]), fits([1, "a"], list[int])
    (True, False, True, False)
    """
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return fits(value, inner[0])
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, h) for h in inner)
    if origin is Literal:
        return any(value == c and type(value) is type(c) for c in inner)
    if isinstance(value, Mapping) and "_target_" in value:
        return True
    container = origin or hint
    if inspect.isclass(container) and issubclass(container, Mapping):
        return _mapping_fits(value, inner)
    if inspect.isclass(container) and _is_list_like(container):
        return _list_fits(value, inner)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint in _PLAIN:
        return type(value) is hint or (hint is type(None) and value is None)
    if inspect.isclass(hint) and issubclass(hint, PurePath):
        return isinstance(value, str)
    return True


def _is_list_like(container: type) -> bool:
    return issubclass(container, Sequence | set | frozenset) and not issubclass(
        container, str | bytes
    )


def _mapping_fits(value: object, inner: tuple[Any, ...]) -> bool:
    if not isinstance(value, Mapping):
        return False
    return len(inner) != 2 or all(fits(v, inner[1]) for v in value.values())


def _list_fits(value: object, inner: tuple[Any, ...]) -> bool:
    if not isinstance(value, list | tuple):
        return False
    if len(inner) > 1 and inner[1] is not Ellipsis:
        return len(value) == len(inner) and all(map(fits, value, inner))
    return not inner or all(fits(v, inner[0]) for v in value)


def _choices(hint: Any) -> list[object]:
    if typing.get_origin(hint) is Literal:
        return list(typing.get_args(hint))
    return [c for h in typing.get_args(hint) for c in _choices(h)] if _is_union(hint) else []


def _is_union(hint: Any) -> bool:
    return typing.get_origin(hint) in (typing.Union, types.UnionType)


def describe_hint(hint: Any) -> str:
    """Names a type hint in plain words.

    >>> describe_hint(int | None), describe_hint(Literal["in_order", "reverse"])
    ('a whole number or null', "'in_order' or 'reverse'")
    """
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return describe_hint(inner[0])
    if origin is Literal:
        return _either([repr(c) for c in inner])
    if _is_union(hint):
        return _either([describe_hint(h) for h in inner])
    if hint in _PLAIN:
        return _PLAIN[hint]
    container = origin or hint
    if inspect.isclass(container):
        if issubclass(container, Mapping):
            return "a mapping {key: value}"
        if _is_list_like(container):
            return "a list [a, b, …]" + (f", each {describe_hint(inner[0])}" if inner else "")
        if issubclass(container, PurePath):
            return "a path"
    return "a value" if hint is Any else _name(hint)


def describe_value(value: object) -> str:
    """Names a value in plain words.

    >>> describe_value("many"), describe_value(True), describe_value(None), describe_value([1])
    ("the text 'many'", 'true', 'null', 'the list [1]')
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return f"the text {value!r}"
    if isinstance(value, int | float):
        return f"the number {value}"
    return f"the {'mapping' if isinstance(value, Mapping) else 'list'} {value!r}"


def _either(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _name(thing: Any) -> str:
    return f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', thing)}".strip(".")
