"""What conf/generation and conf/visual set of a model behind an API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vbench.errors import ConfigError, did_you_mean
from vbench.protocols import ClipPreprocess, ClipTiming

if TYPE_CHECKING:
    import numpy as np

_GENERATION = ("max_new_tokens", "temperature", "top_p", "top_k", "seed")
_LOCAL = {"num_beams": 1, "repetition_penalty": 1.0, "top_k": 0, "thinking": False}
"""Settings that an API does not offer, with the value that asks for nothing."""


def read_generation(given: Mapping[str, Any], offered: Sequence[str]) -> dict[str, Any]:
    """Returns the generation settings that are to be sent: those that are not null.

    Args:
        given: `model.generation`.
        offered: The names that the API has.

    Raises:
        ConfigError: An unknown setting, or one that the API does not offer.

    >>> read_generation({"max_new_tokens": 9, "seed": None, "num_beams": 1}, ["max_new_tokens"])
    {'max_new_tokens': 9}
    """
    for name, value in given.items():
        if name in offered or value is None or value == _LOCAL.get(name, ...):
            continue
        known = name in _GENERATION or name in _LOCAL
        raise ConfigError(
            f"the API has no setting '{name}'" if known else f"unknown setting '{name}'",
            where=f"model.generation.{name}={value}",
            mend="leave it null" if known else did_you_mean(name, offered),
        )
    sent = {name: given[name] for name in offered if given.get(name) is not None}
    if not isinstance(sent.get("max_new_tokens"), int) or sent["max_new_tokens"] < 1:
        raise ConfigError(
            "max_new_tokens is a whole number from 1",
            where=f"model.generation.max_new_tokens={given.get('max_new_tokens')}",
            mend="300 is enough for a letter and an explanation",
        )
    return sent


def read_blind(visual: Mapping[str, Any] | None) -> str | None:
    """Returns the way in which the model is blinded: None, `none` or `black`.

    Args:
        visual: `model.visual`.

    Raises:
        ConfigError: There is no such way, or another setting is given.
    """
    given = dict(visual or {})
    blind = given.pop("blind", None)
    if given or blind not in (None, "none", "black"):
        raise ConfigError(
            "an API has no such visual setting",
            where=f"model.visual={dict(visual or {})}",
            mend="visual.blind is null, none or black; sizes are set under model.images",
        )
    return str(blind) if blind else None


@dataclass(frozen=True)
class Blackened:
    """Sends as many frames as ever, all of them black."""

    inner: ClipPreprocess

    def view(self, frames: Sequence[np.ndarray], timing: ClipTiming) -> Mapping[str, Any]:
        """Returns what `inner` makes of black frames."""
        return self.inner.view([frame * 0 for frame in frames], timing)

    def digest(self) -> str:
        """Returns that of `inner`, and that frames are black."""
        return f"black {self.inner.digest()}"
