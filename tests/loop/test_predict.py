"""The arithmetic that a run's precision promises."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from vbench.errors import ModelError
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

    class Batch:
        work = ()

    trainer = make_trainer(TrainerSettings(accelerator="cpu", precision=precision))
    loader = torch.utils.data.DataLoader([Batch()], batch_size=None)  # type: ignore[arg-type]
    predict(trainer, Predictor(ask, torch.nn.Linear(1, 1), precision), loader, [])
    assert seen == [inside]
    assert tf32() == (True, True)


def test_a_run_that_breaks_leaves_the_process_as_it_was() -> None:
    with pytest.raises(ModelError), exact_float32("32-true"):
        assert tf32() == (False, False)
        raise ModelError("broken")
    assert tf32() == (True, True)
