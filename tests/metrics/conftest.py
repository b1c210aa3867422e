from collections.abc import Callable
from typing import Any

import pytest

from vbench.records import Clip, Sample, Score

SHAPES = {"v2t": (1, 2), "t2v": (2, 1), "match": (2, 2), "mcq": (1, 4), "yes_no": (1, 2)}


@pytest.fixture(scope="session")
def score() -> Callable[..., Score]:
    """Makes one scored sample: `score("mcq", [1, 2, 3], target=2, test="chrono")`."""

    def make(kind: str, values: Any = (), target: Any = 0, **more: Any) -> Score:
        status, reason = more.pop("status", "ok"), more.pop("reason", "")
        truncated = more.pop("truncated", False)
        clips, texts = SHAPES.get(kind, (1, 0))
        if kind in ("mcq", "yes_no"):
            texts = len(values) or texts
        more = {"test": "test", "sample_id": "s", "cluster": "c"} | more
        return Score(
            Sample(
                kind=kind,
                clips=tuple(Clip(f"v{i}", f"v{i}.mp4") for i in range(clips)),
                texts=tuple(f"text {i}" for i in range(texts)),
                target=None if kind == "match" else target,
                **more,
            ),
            status,
            tuple(map(float, values)),
            reason,
            truncated,
        )

    return make
