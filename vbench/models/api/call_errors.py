"""What can go wrong with a call, and whom it concerns."""

from __future__ import annotations

import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from vbench.errors import RunError

Concern = Literal["again", "unreachable", "request", "run"]
"""`again`: the same call may work later. `unreachable`: so it may, but nobody listens there.
`request`: this request will never work. `run`: no request will."""


class CallError(Exception):
    """One try of a call has failed.

    Args:
        concern: Whom it concerns.
        reason: In one line.
        wait_s: How long the server asks to be left alone; None: it does not say.
        mend: What the user can do, where it concerns the run.
    """

    def __init__(
        self, concern: Concern, reason: str, wait_s: float | None = None, mend: str = ""
    ) -> None:
        self.concern: Concern = concern
        self.reason = " ".join(reason.split())
        self.wait_s = wait_s
        self.mend = mend
        super().__init__(self.reason)

    def ends_run(self, where: str) -> RunError:
        """Returns the error that ends the run.

        Args:
            where: The endpoint.
        """
        if self.concern == "unreachable":
            return RunError(
                "the server cannot be reached",
                where=where,
                why=self.reason,
                mend="start it, or check the address and your network; then type the same command "
                "again: it resumes, and nothing is asked twice",
            )
        mend = self.mend or "mend it and type the same command again: it resumes"
        return RunError("the API refuses every request", where=where, why=self.reason, mend=mend)


def http_error(status: int, reason: str, headers: Mapping[str, Any], key_name: str) -> CallError:
    """Says whom an HTTP error concerns.

    Args:
        status: The HTTP status.
        reason: What the server says.
        headers: Of its response.
        key_name: The variable that holds the key.
    """
    told = f"HTTP {status}: {reason}"
    if "insufficient_quota" in reason or "credit balance" in reason:
        return CallError("run", told, mend="pay the provider; then type the same command again")
    if status in (408, 409, 425, 429) or status >= 500:
        return CallError("again", told, wait_s=retry_after(headers))
    if status in (401, 403):
        mend = f"set {key_name} to a valid key" if key_name else "name the key: model.api_key_env"
        return CallError("run", told, mend=f"{mend}; then type the same command again: it resumes")
    if status in (404, 405):
        return CallError("run", told, mend="check model.name and model.base_url")
    return CallError("request", told)


def retry_after(headers: Mapping[str, Any]) -> float | None:
    """Returns the seconds a server asks to be left alone, RFC 9110 section 10.2.3.

    >>> retry_after({"retry-after": "2"}), retry_after({}), retry_after({"retry-after": "?"})
    (2.0, None, None)
    """
    value = str(headers.get("retry-after", headers.get("Retry-After", ""))).strip()
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None
