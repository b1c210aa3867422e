"""The arithmetic that a run's precision promises."""

from __future__ import annotations

import multiprocessing
import os
import socket
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
import torch

from vbench.errors import ModelError, OtherRankError
from vbench.loop.predict import Predictor, exact_float32, make_trainer, predict
from vbench.loop.settings import Precision, TrainerSettings
from vbench.records import Prediction


def tf32() -> tuple[bool, bool]:
    """Returns whether TF32 may be used in convolutions, and in matrix products."""
    return torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32


@pytest.fixture(autouse=True)
def allowed() -> Iterator[None]:
    """Lets the process use TF32 everywhere, as a user's own code may."""
    before = torch.backends.cudnn.allow_tf32, torch.get_float32_matmul_precision()
    torch.backends.cudnn.allow_tf32 = True
    torch.set_float32_matmul_precision("high")
    assert tf32() == (True, True)
    yield
    torch.backends.cudnn.allow_tf32 = before[0]
    torch.set_float32_matmul_precision(before[1])


class Batch:
    work = ()


def one_batch() -> Any:
    return torch.utils.data.DataLoader([Batch()], batch_size=None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("precision", "inside"), [("32-true", (False, False)), ("bf16-mixed", (True, True))]
)
def test_only_full_precision_forbids_tf32_and_only_while_the_model_is_asked(
    precision: Precision, inside: tuple[bool, bool]
) -> None:
    seen = []

    def ask(*unused: object) -> list[Prediction]:
        seen.append(tf32())
        torch.get_float32_matmul_precision()  # Lightning asks it on a GPU
        return []

    trainer = make_trainer(TrainerSettings(accelerator="cpu", precision=precision))
    predict(trainer, Predictor(ask, torch.nn.Linear(1, 1), precision), one_batch(), [])
    assert seen == [inside]
    assert tf32() == (True, True)


def test_a_run_that_breaks_leaves_the_process_as_it_was() -> None:
    with pytest.raises(ModelError), exact_float32("32-true"):
        assert tf32() == (False, False)
        raise ModelError("broken")
    assert tf32() == (True, True)


def a_rank(number: int, port: int, ask: Callable[..., list[Prediction]], said: Any) -> None:
    """One of two, as torchrun starts them; Lightning's own group gives up after five seconds."""
    names = {"RANK": number, "LOCAL_RANK": number, "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2}
    names |= {"GROUP_RANK": 0, "MASTER_PORT": port}
    os.environ |= {name: str(value) for name, value in names.items()}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "TORCHELASTIC_RUN_ID": "none"}
    trainer = make_trainer(TrainerSettings(accelerator="cpu", devices=2))
    trainer.strategy._timeout = timedelta(seconds=5)
    asked = ask if number else lambda *unused: []
    try:
        predict(trainer, Predictor(asked, torch.nn.Linear(1, 1), "32-true"), one_batch(), [])
        said.put((number, None))
    except OtherRankError as error:
        said.put((number, error.why))


def late(*unused: object) -> list[Prediction]:
    time.sleep(8)
    return []


def dead(*unused: object) -> list[Prediction]:
    os._exit(9)


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (dead, [(0, "it left before its share was done")]),
        pytest.param(late, [(0, None), (1, None)], marks=pytest.mark.slow),
    ],
)
def test_a_rank_waits_for_a_slow_one_and_not_for_a_dead_one(
    ask: Callable[..., list[Prediction]], told: list[tuple[int, str | None]]
) -> None:
    context = multiprocessing.get_context("fork")
    said = context.Queue()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ranks = [context.Process(target=a_rank, args=(k, port, ask, said)) for k in range(2)]
    for rank in ranks:
        rank.start()
    assert sorted(said.get(timeout=60) for _ in told) == told
    for rank in ranks:
        rank.join(60)
    assert [rank.exitcode for rank in ranks] == [0, 9 if ask is dead else 0]
