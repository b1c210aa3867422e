"""Which process writes a run folder, and whether it still lives."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any


def this_process() -> dict[str, object]:
    """Returns what tells this process from any other: host, pid and the moment it started."""
    return {"host": platform.node(), "pid": os.getpid(), "started": _started(os.getpid())}


def lives(process: Mapping[str, Any]) -> bool | None:
    """Says whether a process still runs; None if that cannot be known from here.

    Args:
        process: From `this_process`, on this or another host.

    >>> lives(this_process()), lives({"host": "another", "pid": 1})
    (True, None)
    """
    # On Windows signal 0 is no question but a Ctrl-C.
    if os.name != "posix" or process.get("host") != platform.node():
        return None
    pid: int = process["pid"]
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # somebody else's, so it exists
    return bool(_started(pid) == process["started"])  # else another process got the number


def _started(pid: int) -> int | None:
    """Returns clock ticks from boot to the process's start where Linux tells; None once it died."""
    with suppress(OSError, ValueError, IndexError):
        # The name in parentheses may hold anything. proc(5): field 3 is state, 22 the start time.
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        return None if fields[0] == "Z" else int(fields[19])
    return None
