from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from vbench.results.process import lives, this_process


def test_a_process_lives_until_it_ends() -> None:
    code = "import json; from vbench.results.process import this_process as p;" \
           "print(json.dumps(p()), flush=True); input()"  # fmt: skip
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        process = json.loads(child.stdout.readline())
        assert process["pid"] == child.pid != os.getpid()
        assert lives(process) is True
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        if sys.platform == "linux":
            assert lives(process) is False  # dead, though its parent has not looked yet
        child.wait()
        assert lives(process) is False


@pytest.mark.skipif(sys.platform != "linux", reason="only /proc tells when a process started")
def test_a_number_given_to_another_process_is_no_life() -> None:
    assert lives(this_process() | {"started": 1}) is False


def test_another_host_cannot_be_asked() -> None:
    assert lives(this_process() | {"host": "elsewhere"}) is None
    assert lives({}) is None
