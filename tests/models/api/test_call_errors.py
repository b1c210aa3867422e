from __future__ import annotations

import time
from email.utils import formatdate

import pytest

from vbench.models.api.call_errors import http_error, retry_after


@pytest.mark.parametrize(
    ("status", "reason", "concern"),
    [
        (429, "slow down", "again"), (503, "busy", "again"), (408, "late", "again"),
        (429, "insufficient_quota: pay", "run"), (401, "who", "run"), (403, "no", "run"),
        (404, "no such model", "run"), (400, "odd", "request"), (413, "too big", "request"),
    ],
)  # fmt: skip
def test_whom_an_http_error_concerns(status: int, reason: str, concern: str) -> None:
    assert http_error(status, reason, {}, "KEY").concern == concern


def test_retry_after_as_seconds_and_as_a_date() -> None:
    assert http_error(429, "", {"retry-after": "1.5"}, "").wait_s == 1.5
    later = formatdate(time.time() + 30, usegmt=True)
    assert 27 < (retry_after({"Retry-After": later}) or 0) <= 30
    assert retry_after({"Retry-After": formatdate(time.time() - 30, usegmt=True)}) == 0
