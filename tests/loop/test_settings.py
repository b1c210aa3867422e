"""What the trainer's settings refuse."""

from __future__ import annotations

import pytest

from vbench.errors import ConfigError
from vbench.loop.settings import TrainerSettings, check_precision


@pytest.mark.parametrize(
    ("precision", "why"), [("16-mixed", "in bfloat16 instead"), ("16-true", "emulates it")]
)
def test_float16_is_refused_on_a_cpu_each_with_its_own_reason(precision: str, why: str) -> None:
    with pytest.raises(ConfigError, match="not for a CPU") as caught:
        TrainerSettings(accelerator="cpu", precision=precision)  # type: ignore[arg-type]
    assert why in str(caught.value.why)
    TrainerSettings(precision=precision)  # type: ignore[arg-type]  # who knows what auto finds
    check_precision(precision, "cuda")


@pytest.mark.parametrize("precision", ["32-true", "bf16-true", "bf16-mixed"])
def test_the_others_run_anywhere(precision: str) -> None:
    check_precision(precision, "cpu")
