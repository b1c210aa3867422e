"""One round of calls: begun together, ended together, whatever becomes of each."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import tenacity

from vbench.errors import RunError
from vbench.models.api.call_errors import CallError
from vbench.models.api.journal import Said
from vbench.records import Reply

if TYPE_CHECKING:
    from vbench.models.api.calling import Call, Calling, Endpoint
    from vbench.models.api.prices import Expected

GIVE_UP_AFTER = 20
"""So many requests in a row without an answer, each tried again and again, are no bad luck."""
LONGEST_WAIT_S = 900.0
"""A server that asks for more is not waited for that long: it is asked again before."""
_LONGEST_BACKOFF_S = 60.0


class Round:
    """Calls over one client.

    Args:
        calling: The settings, and what outlives a round: budget, journal, failures in a row.
        client: Of the API's SDK.
        endpoint: Where it leads.
    """

    def __init__(self, calling: Calling, client: Any, endpoint: Endpoint) -> None:
        self.calling = calling
        self.client = client
        self.endpoint = endpoint
        self.stop: RunError | None = None
        """Why no further call is made. Calls under way are waited for: they are paid."""
        self._stopping = asyncio.Event()
        self._free = asyncio.Semaphore(calling.max_concurrency)
        self._settled = asyncio.Condition()

    async def one(self, call: Call) -> Said:
        """Makes a call and writes down what it gave; failures are replies, never exceptions."""
        async with self._free:
            if not await self._reserve(call.expected):
                return Said(Reply("model_error", "not asked: the run was ended"))
            said = None
            try:
                said = await self._answer(call)
            finally:
                await self._settle(call.expected, said)
            return said

    async def _answer(self, call: Call) -> Said:
        retrying = tenacity.AsyncRetrying(
            stop=tenacity.stop_after_attempt(self.calling.max_retries + 1),
            wait=self._wait,
            retry=tenacity.retry_if_exception(self._may_work_later),
            sleep=self._pause,
            reraise=True,
        )
        try:
            said = self._without_key(await retrying(self._once, call))
        except CallError as failed:
            return Said(self._failed(failed))
        except Exception as error:  # one odd reply must not cost the others
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            return Said(Reply("model_error", self.endpoint.scrub(reason)))
        self.calling.failed_in_a_row = 0
        self.calling.journal.put(call.key, said)
        return said

    def _without_key(self, said: Said) -> Said:
        """Takes the key out of a reply, should a server echo it: replies are written down."""
        reply = said.reply
        text = None if reply.text is None else self.endpoint.scrub(reply.text)
        return replace(
            said, reply=replace(reply, text=text, reason=self.endpoint.scrub(reply.reason))
        )

    async def _once(self, call: Call) -> Said:
        if self.stop is not None:
            raise CallError("request", "not asked again: the run was ended")
        try:
            async with asyncio.timeout(self.calling.timeout_s):
                return await call.ask(self.client)
        except TimeoutError:
            told = f"no answer within {self.calling.timeout_s:g} s"
            raise CallError("again", f"{told} (model.calling.timeout_s)") from None

    def _failed(self, error: CallError) -> Reply:
        reason = self.endpoint.scrub(error.reason)
        if error.concern in ("run", "unreachable"):
            told = CallError(error.concern, reason, mend=error.mend)
            self._end(told.ends_run(self.endpoint.where))
        elif error.concern == "again":
            self.calling.failed_in_a_row += 1
            tries = self.calling.max_retries + 1
            reason += f"; tried {tries} times, and again when the command is typed again"
            if self.calling.failed_in_a_row >= GIVE_UP_AFTER:
                self._end(_answers_nothing(self.endpoint.where, reason))
        return Reply("model_error", reason)

    def _end(self, error: RunError) -> None:
        self.stop = self.stop or error
        self._stopping.set()

    def _may_work_later(self, error: BaseException) -> bool:
        worth = isinstance(error, CallError) and error.concern in ("again", "unreachable")
        return worth and self.stop is None

    def _wait(self, state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, CallError) and error.wait_s is not None:
            return min(error.wait_s, LONGEST_WAIT_S)
        first = self.calling.backoff_s
        backoff = tenacity.wait_exponential_jitter(first, _LONGEST_BACKOFF_S, jitter=first / 4)
        return backoff(state)

    async def _pause(self, seconds: float) -> None:
        """Sleeps, unless the run is ended meanwhile."""
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            pass

    async def _reserve(self, call: Expected) -> bool:
        """Waits until the budget has room for a call; False: the run is ended."""
        budget = self.calling.budget
        async with self._settled:
            while self.stop is None:
                if budget.fits(call):
                    budget.under_way.append(call)
                    return True
                if not budget.under_way:
                    self._end(budget.overdrawn(call))
                    break
                await self._settled.wait()
        return False

    async def _settle(self, call: Expected, said: Said | None) -> None:
        budget = self.calling.budget
        budget.under_way.remove(call)
        if said is not None:
            # A server that counts no tokens is taken to have used what was expected.
            counted = said.reply.prompt_tokens or said.reply.status == "model_error"
            budget.spent += said.reply.usd if counted else budget.cost(call)
            budget.learn(call.guess, said.reply.prompt_tokens)
        async with self._settled:
            self._settled.notify_all()


def _answers_nothing(where: str, reason: str) -> RunError:
    return RunError(
        "the server answers nothing",
        where=where,
        why=f"{GIVE_UP_AFTER} requests in a row have failed, the last one with: {reason}",
        mend="look at the server, or give it more time (model.calling.timeout_s); then type the "
        "same command again: it resumes",
    )
