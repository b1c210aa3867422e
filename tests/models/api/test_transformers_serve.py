"""`transformers serve` as the endpoint: a real server with a tiny checkpoint, killed and restarted.

The checkpoint has random weights and says A or B, whichever its head prefers: transport, counting
and resuming are what is tested, not judgement.
"""

from __future__ import annotations

import importlib
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import vbench
from vbench.errors import RunError

pytestmark = pytest.mark.slow
ANSWERED = '"POST /v1/chat/completions HTTP/1.1" 200'


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Qwen2-VL whose every reply is a letter."""
    from transformers import AutoModelForImageTextToText, AutoTokenizer

    name, folder = "tests_models_vlm", tmp_path_factory.mktemp("checkpoint") / "tiny"
    package = sys.modules.setdefault(name, ModuleType(name))
    package.__path__ = [str(Path(__file__).parents[1] / "vlm")]
    importlib.import_module(f"{name}.folders").save("qwen2_vl", folder)
    model: Any = AutoModelForImageTextToText.from_pretrained(folder)
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    rows = [tokenizer.encode(letter, add_special_tokens=False)[0] for letter in "AB"]
    head = model.get_output_embeddings().weight
    kept = head[rows[0]].detach().clone()
    head.data.zero_()
    head.data[rows[0]], head.data[rows[1]] = kept, -kept
    model.save_pretrained(folder)
    return folder


class Serving:
    """The server's process, started as often as it is killed."""

    def __init__(self, checkpoint: Path, log: Path) -> None:
        with socket.socket() as some:
            some.bind(("127.0.0.1", 0))
            self.port = int(some.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self.checkpoint, self.log = checkpoint, log
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        program = Path(sys.executable).with_name("transformers")
        command = [program, "serve", "--host", "127.0.0.1", "--port", str(self.port)]
        quiet = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--device", "cpu", str(self.checkpoint)],
                stdout=log, stderr=log, env=quiet,
            )  # fmt: skip
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5).close()
                return
            except OSError:
                assert self.process.poll() is None, self.log.read_text()[-3000:]
                time.sleep(0.3)
        raise AssertionError(self.log.read_text()[-3000:])

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    @property
    def answered(self) -> int:
        return self.log.read_text(errors="replace").count(ANSWERED)

    def kill_after(self, answers: int) -> threading.Thread:
        """Kills it as soon as it has given so many answers more."""
        wanted = self.answered + answers

        def wait() -> None:
            while self.process is not None and self.answered < wanted:
                time.sleep(0.005)
            self.kill()

        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        return thread


@pytest.fixture
def server(checkpoint: Path, tmp_path: Path) -> Iterator[Serving]:
    serving = Serving(checkpoint, tmp_path / "serve.log")
    serving.start()
    yield serving
    serving.kill()


def words(server: Serving, folder: Path, *more: str) -> list[str]:
    return [
        "dataset=velociti/toy", f"dataset.root={folder}/set", "dataset.num_videos=4",
        "dataset.tests=[agent_iden,chrono]", "model=openai_api", f"model.name={server.checkpoint}",
        f"model.base_url={server.url}", "model.api_key_env=null",
        "model.calling.max_concurrency=1", "model.calling.max_retries=1",
        "model.calling.backoff_s=0.1", "model.generation.max_new_tokens=1",
        f"paths.cache={folder}/cache", f"run_dir={folder}/run", "trainer=cpu", "logger=none",
        "loader.num_workers=0", "loader.cache=false", "sampler=uniform_midpoints",
        "sampler.num_frames=2", *more,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("scorer", "per_sample"),
    [
        (["scorer=pair_choice", "scorer.read=text"], 2),
        (["scorer=letters", "prompt=velociti_v2_mcq"], 1),
    ],
    ids=["pair_choice", "letters"],
)
def test_a_run_survives_its_server(
    scorer: list[str], per_sample: int, server: Serving, tmp_path: Path
) -> None:
    told = words(server, tmp_path, *scorer)
    killer = server.kill_after(4)
    with pytest.raises(RunError, match=r"cannot be reached(.|\n)*same command again"):
        vbench.evaluate(*told)
    killer.join()
    before = server.answered
    server.start()
    run = vbench.evaluate(*told)
    assert run is not None
    assert set(run.records.status) == {"ok"}
    assert run.exit_code == 0
    assert before >= 4
    # Each process of vbench asks once without pictures, to see that the server counts them. An
    # answer that the kill cut off on its way is the one that may be given again.
    asked = per_sample * len(run.records)
    assert asked + 2 <= server.answered <= asked + 3
    done = server.answered
    vbench.evaluate(*told)
    assert server.answered == done


def test_it_has_no_log_probabilities_and_that_is_said(server: Serving, tmp_path: Path) -> None:
    told = words(server, tmp_path, "scorer=pair_choice", "model.logprobs=true")
    with pytest.raises(RunError, match=r"no log-probabilities(.|\n)*scorer=letters"):
        vbench.evaluate(*told)
