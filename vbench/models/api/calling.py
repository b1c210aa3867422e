"""How an API is called: so many calls at once, with patience, and each paid for once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from vbench.errors import ConfigError, RunError
from vbench.models.api.journal import Journal, Said
from vbench.models.api.prices import Budget, Expected

T = TypeVar("T")

_TEMPLATE = 100
"""Tokens that a chat template may add."""
_PIXELS_PER_TOKEN = 196
"""No API known to us spends more tokens on a picture than one per 14 x 14 pixels."""


@dataclass(frozen=True)
class Call:
    """One question as it will be put."""

    key: str
    """Hash of everything that is sent."""
    ask: Callable[[Any], Awaitable[Said]]
    """Puts it to a client, once; raises CallError."""
    expected: Expected
    """What it may use."""


@dataclass(frozen=True)
class Endpoint:
    """Where calls go."""

    where: str
    """For messages."""
    secret: str
    """The key; appears in nothing that is written."""
    connect: Callable[[], AbstractAsyncContextManager[Any]]
    """Opens a client."""

    def scrub(self, text: str) -> str:
        """Returns a text without the key, should a server repeat it."""
        return text.replace(self.secret, "***") if self.secret else text


class Calling:
    """The patience, the purse and the memory of a model behind an API; none changes an answer.

    Args:
        max_concurrency: Calls under way at once.
        timeout_s: A call that takes longer is given up, and tried again.
        max_retries: Further tries after a 429, a 5xx, a timeout or a broken connection.
        backoff_s: The first wait between tries; it doubles, up to a minute. Where the server asks
            for another (Retry-After), that is kept to.
        max_usd: What one command may spend; needs `usd_per_million`.
        usd_per_million: `input` and `output`: US dollars per million tokens.
        journal: SQLite file of all paid replies; None: those not yet flushed are lost with a kill.

    Raises:
        ConfigError: A number is out of range, or a budget has no prices.
    """

    def __init__(
        self,
        max_concurrency: int = 8,
        timeout_s: float = 120.0,
        max_retries: int = 5,
        backoff_s: float = 1.0,
        max_usd: float | None = None,
        usd_per_million: Mapping[str, float] | None = None,
        journal: str | None = None,
    ) -> None:
        least = {"max_concurrency": 1, "max_retries": 0, "timeout_s": 1e-3, "backoff_s": 0}
        for name, low in least.items():
            if locals()[name] < low:
                raise ConfigError(
                    f"model.calling.{name} is too small",
                    where=f"model.calling.{name}={locals()[name]}",
                    mend=f"give {low} or more",
                )
        self.max_concurrency = max_concurrency
        self.timeout_s = timeout_s
        self.max_retries = max_retries
        self.backoff_s = backoff_s
        self.budget = Budget(usd_per_million, max_usd)
        self.journal = Journal(Path(journal).expanduser() if journal else None)
        self.failed_in_a_row = 0
        """Requests that failed in spite of all retries since the last one that was answered."""

    def known(self, keys: Collection[str]) -> dict[str, Said]:
        """Returns what was said already, in whatever run."""
        return self.journal.get(keys)

    def run(self, calls: Sequence[Call], endpoint: Callable[[], Endpoint]) -> dict[str, Said]:
        """Makes all calls whose reply is not known; each key once.

        Args:
            calls: In the order they are begun.
            endpoint: Where; not asked for when every reply is known.

        Returns:
            What was said, by key; what failed has a reply that says why.

        Raises:
            RunError: Nobody listens, the key is refused, the budget is spent.
        """
        found = self.known([call.key for call in calls])
        left = {call.key: call for call in calls if call.key not in found}
        if not left:
            return found
        return found | wait_for(self._run(list(left.values()), endpoint()))

    async def _run(self, calls: Sequence[Call], endpoint: Endpoint) -> dict[str, Said]:
        from vbench.models.api.round import Round

        async with endpoint.connect() as client:
            this = Round(self, client, endpoint)
            said = await asyncio.gather(*(this.one(call) for call in calls))
        if this.stop is not None:
            raise this.stop
        return {call.key: one for call, one in zip(calls, said, strict=True)}


def wait_for(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine to its end, in a notebook, too, where a loop is running already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1) as aside:
        return aside.submit(asyncio.run, coroutine).result()


def guess_tokens(text: str, shape: Sequence[int] = ()) -> float:
    """Returns a guess, rather too high, of the tokens that a text and pictures cost.

    Args:
        text: No token is shorter than a byte.
        shape: (n, h, w) of the pictures.
    """
    count, height, width = shape or (0, 0, 0)
    return _TEMPLATE + len(text.encode()) + count * (100 + height * width / _PIXELS_PER_TOKEN)


def api_key(names: Sequence[str], environment: Mapping[str, str], where: str) -> str:
    """Returns the key that the first of some environment variables holds.

    Args:
        names: Of the variables; none: the server wants no key.
        environment: `os.environ`.
        where: The model, for the message.

    Raises:
        RunError: None of them is set.
    """
    for name in names:
        if value := environment.get(name, "").strip():
            return value
    if not names:
        return ""
    raise RunError(
        f"no API key: {' and '.join(names)} {'is' if len(names) == 1 else 'are'} not set",
        where=where,
        why="keys are read from the environment only, and written nowhere",
        mend=f"export {names[0]}=…, or model.api_key_env=… for another variable; then type the "
        "same command again",
    )
