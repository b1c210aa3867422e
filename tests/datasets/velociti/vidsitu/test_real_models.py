"""Tiny real language models: they prove the transport, and their garbage is rejected by reason."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from vbench.datasets.velociti.vidsitu.dataset import FromVidsitu
from vbench.errors import DataError, ModelError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama of one layer and six words, with random weights."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("checkpoint") / "tiny"
    words = {word: n for n, word in enumerate(["<unk>", "<eos>", "the", "star", "is", "blue"])}
    tokenizer = Tokenizer(models.WordLevel(words, "<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    special = {"unk_token": "<unk>", "eos_token": "<eos>", "pad_token": "<eos>"}
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)
    fast.chat_template = "{% for m in messages %}{{ m['content'] }}\n{% endfor %}"
    fast.save_pretrained(folder)
    config = LlamaConfig(
        vocab_size=6,
        hidden_size=8,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
        max_position_embeddings=2048,
        eos_token_id=1,
        bos_token_id=1,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.fixture
def served(checkpoint: Path, tmp_path: Path) -> Iterator[str]:
    """`transformers serve`, an OpenAI-compatible server."""
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        port = int(some.getsockname()[1])
    program, log = Path(sys.executable).with_name("transformers"), tmp_path / "serve.log"
    command = [program, "serve", "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    quiet = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    with log.open("wb") as out:
        process = subprocess.Popen([*command, str(checkpoint)], stdout=out, stderr=out, env=quiet)
    deadline = time.monotonic() + 180
    while True:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
            break
        except OSError:
            assert process.poll() is None, log.read_text()[-3000:]
            assert time.monotonic() < deadline, log.read_text()[-3000:]
            time.sleep(0.3)
    yield f"http://127.0.0.1:{port}/v1"
    process.kill()
    process.wait()


def assert_garbage_is_rejected(dataset: FromVidsitu, journal: Path) -> None:
    with pytest.raises(DataError, match="no event could be captioned") as caught:
        dataset.build()
    assert "10 rejected, positive: " in str(caught.value)
    assert "no answer" not in str(caught.value)
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    assert len(lines) == 20  # ten positives, each sent back once
    assert all(line["reply"]["tokens_out"] <= 8 for line in lines)
    assert all(line["reply"]["tokens_in"] > 50 for line in lines)
    assert not Path(dataset.root).exists()


def test_a_local_model(checkpoint: Path, few_labels: Path, tmp_path: Path) -> None:
    dataset = FromVidsitu(
        str(tmp_path / "set"),
        str(few_labels),
        num_videos=2,
        captions="llm",
        llm_backend="local",
        llm_model=str(checkpoint),
        llm_max_tokens=8,
    )
    assert_garbage_is_rejected(dataset, tmp_path / "set.journal.jsonl")
    dataset.llm_model = str(tmp_path / "nowhere")
    with pytest.raises(ModelError, match="cannot be loaded"):
        dataset.build()


def test_a_real_server(served: str, checkpoint: Path, few_labels: Path, tmp_path: Path) -> None:
    dataset = FromVidsitu(
        str(tmp_path / "set"),
        str(few_labels),
        num_videos=2,
        captions="llm",
        llm_model=str(checkpoint),
        llm_url=served,
        llm_parallel=2,
        llm_attempts=2,
        llm_max_tokens=8,
    )
    assert_garbage_is_rejected(dataset, tmp_path / "set.journal.jsonl")
