"""What calls cost, and the budget that ends a run before it is overdrawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vbench.errors import ConfigError, RunError

_PER = 1_000_000


@dataclass(frozen=True, eq=False)
class Expected:
    """What a call may use."""

    guess: float
    """Tokens of the prompt, guessed rather too high."""
    reply_tokens: int
    """The most that may be generated."""


class Budget:
    """Keeps account of what a command has spent and of what the calls under way may cost.

    A call's tokens are not known before it is answered. They are expected as a guess times the
    highest ratio of real to guessed tokens so far; the guess alone is meant to be too high.

    Args:
        usd_per_million: `input` and `output`: US dollars per million tokens; None: not known.
        max_usd: What this command may spend; None: anything.
    """

    def __init__(self, usd_per_million: Mapping[str, float] | None, max_usd: float | None) -> None:
        if usd_per_million is not None and set(usd_per_million) != {"input", "output"}:
            raise ConfigError(
                "usd_per_million names two prices",
                where=f"model.calling.usd_per_million={dict(usd_per_million)}",
                mend="give {input: …, output: …}, US dollars per million tokens",
            )
        if max_usd is not None and usd_per_million is None:
            raise ConfigError(
                "a budget needs prices",
                where=f"model.calling.max_usd={max_usd}",
                why="what a call costs is not known",
                mend="add 'model.calling.usd_per_million={input: 0.25, output: 2.0}', as your "
                "provider's price list says",
            )
        self.prices = usd_per_million
        self.max_usd = max_usd
        self.spent = 0.0
        self.under_way: list[Expected] = []
        self._ratio: float | None = None

    def usd(self, prompt_tokens: int, reply_tokens: int) -> float:
        """Returns what so many tokens cost; 0 where prices are not known.

        >>> Budget({"input": 2.0, "output": 10.0}, None).usd(1_000, 100)
        0.003
        """
        if self.prices is None:
            return 0.0
        cost = prompt_tokens * self.prices["input"] + reply_tokens * self.prices["output"]
        return cost / _PER

    def cost(self, call: Expected) -> float:
        """Returns what a call may cost, as far as is known by now."""
        ratio = 1.0 if self._ratio is None else self._ratio
        return self.usd(round(call.guess * ratio), call.reply_tokens)

    def fits(self, call: Expected) -> bool:
        """Says whether a call may be made now, beside those under way.

        Before a first reply has shown how good guesses are, one call at a time.
        """
        if self.max_usd is None:
            return True
        if self._ratio is None and self.under_way:
            return False
        return self.spent + sum(map(self.cost, [*self.under_way, call])) <= self.max_usd

    def learn(self, guessed: float, prompt_tokens: int) -> None:
        """Compares a guess with what the server counted."""
        if guessed > 0 and prompt_tokens > 0:
            self._ratio = max(self._ratio or 0.0, prompt_tokens / guessed)

    def overdrawn(self, call: Expected) -> RunError:
        """Returns the error that ends the run."""
        return RunError(
            "the budget is spent",
            where=f"model.calling.max_usd={self.max_usd}",
            why=f"{self.spent:.4f} USD are spent and the next call may cost {self.cost(call):.4f}",
            mend="what is answered is kept; type the command again, for the next "
            f"{self.max_usd} USD, or raise model.calling.max_usd",
        )
