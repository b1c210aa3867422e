"""A study goes into a real Label Studio server and its answers come back, through its API.

Label Studio wants an environment of its own (it pins what vbench does not): install it anywhere and
name its command in VBENCH_LABEL_STUDIO; without it this is skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vbench.annotation.interfaces import STUDIES
from vbench.annotation.tasks import read_plan
from vbench.cli import main
from vbench.datasets.toy.benchmark import ToyVelociti

pytestmark = pytest.mark.slow

TOKEN = "0123456789abcdef0123456789abcdef01234567"  # noqa: S105 - of a server that lives for a minute
PATIENCE_S = 300


class Server:
    """The API of a server on this machine."""

    def __init__(self, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"

    def ask(self, method: str, path: str, body: object = None) -> Any:
        headers = {"Authorization": f"Token {TOKEN}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, headers, method=method)  # noqa: S310
        with urllib.request.urlopen(request, timeout=60) as reply:  # noqa: S310
            return json.loads(reply.read() or b"null")

    def is_up(self) -> bool:
        try:
            self.ask("GET", "/api/projects/")
        except (urllib.error.URLError, OSError):
            return False
        return True


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    command = os.environ.get("VBENCH_LABEL_STUDIO") or shutil.which("label-studio")
    if not command:
        pytest.skip("no label-studio; name its command in VBENCH_LABEL_STUDIO")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("label-studio")
    quiet = {"COLLECT_ANALYTICS": "false", "SENTRY_DSN": "", "FRONTEND_SENTRY_DSN": ""}
    environment = {**os.environ, **quiet, "LABEL_STUDIO_BASE_DATA_DIR": str(folder)}
    words = ["start", "--no-browser", "--port", str(port), "--username", "a@example.org"]
    words += ["--password", "not-secret-1", "--user-token", TOKEN, "--enable-legacy-api-token"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([command, *words], env=environment, stdout=log, stderr=log)
    try:
        found = Server(port)
        until = time.monotonic() + PATIENCE_S
        while not found.is_up():
            assert process.poll() is None, (folder / "log").read_text()[-2000:]
            assert time.monotonic() < until, (folder / "log").read_text()[-2000:]
            time.sleep(1)
        yield found
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    root = tmp_path_factory.mktemp("toy") / "set"
    ToyVelociti(str(root), num_videos=6, render=False).build()
    return [f"dataset.root={root}", "dataset.tests=[agent_bind,chrono,control_t2v]"]


@pytest.mark.parametrize("study", ["human", "captions", "positive"])
def test_a_study_goes_in_and_comes_out(
    server: Server, toy: list[str], study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "study"
    words = [*toy, f"study={study}", f"out={folder}", "annotators=1", "per_annotator=4"]
    assert main(["annotate", *words]) == 0
    plan = read_plan(folder / "plan.jsonl")
    exports = []
    for interface in STUDIES[study]:
        config = (folder / f"{interface}.xml").read_text()
        project = server.ask("POST", "/api/projects/", {"title": interface, "label_config": config})
        tasks = json.loads((folder / f"{interface}-1.json").read_text())
        server.ask("POST", f"/api/projects/{project['id']}/import", tasks)
        listed = server.ask("GET", f"/api/projects/{project['id']}/tasks/?page_size=1000")
        assert len(listed) == len(tasks)
        for task in listed:
            server.ask("POST", f"/api/tasks/{task['id']}/annotations/", answer(plan, task, config))
        out = server.ask("GET", f"/api/projects/{project['id']}/export?exportType=JSON")
        exports.append(folder / f"{interface}-export.json")
        exports[-1].write_text(json.dumps(out))
    capsys.readouterr()
    assert main(["annotate", str(folder), *map(str, exports)]) == 0
    said = capsys.readouterr().out
    assert f"{len(plan)} answers of 1 people to {len(plan)} of {len(plan)} tasks" in said
    assert said.count("100.0 %") == len({task.test for task in plan.values()})


def answer(plan: dict[str, Any], task: dict[str, Any], config: str) -> dict[str, object]:
    """Answers rightly, or keeps the sample: each question's first choice, unless it is swapped."""
    from xml.etree import ElementTree

    result = []
    swapped = plan[task["data"]["key"]].swapped
    for node in ElementTree.fromstring(config).iter("Choices"):  # noqa: S314 - our own text
        choices = [choice.get("value") for choice in node]
        place = {"from_name": node.get("name"), "to_name": node.get("toName"), "type": "choices"}
        result.append({**place, "value": {"choices": [choices[1 if swapped else 0]]}})
    return {"result": result}
