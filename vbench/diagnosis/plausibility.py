"""A model that reads texts only, as one more shortcut of an audit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from vbench.diagnosis.shortcuts import Values
from vbench.errors import ConfigError
from vbench.prompts import Prompt
from vbench.records import Sample

_CAST = {"bf16": "bfloat16", "16": "float16"}
_AT_ONCE = 256


class Plausibility:
    """Scores the texts of samples as a prompt renders them; each different text once.

    Args:
        model: A TextScorer, or a PairScorer that needs nothing but texts.
        prompt: Renders texts.
        trainer: Says where and in what arithmetic (conf/trainer).

    Raises:
        ConfigError: The model looks at clips.
    """

    def __init__(self, model: Any, prompt: Prompt, trainer: Any) -> None:
        if not callable(getattr(type(model), "score_texts", None)):
            raise ConfigError(
                f"{type(model).__name__} cannot audit a dataset",
                where="model, audit=true",
                why="an audit asks what texts give away, and this model does not score texts alone",
                mend="use model=vera, vera_base or hf/causal_lm, or leave the model out",
            )
        self._model = model
        self._prompt = prompt
        self._trainer = trainer

    def __call__(self, samples: Sequence[Sample]) -> list[Values]:
        """Returns one number per text of each sample."""
        rendered = [[self._prompt.render(s, text) for text in s.texts] for s in samples]
        unique = list(dict.fromkeys(text for texts in rendered for text in texts))
        score = _placed(self._model, self._trainer)
        known: dict[str, float] = {}
        for start in range(0, len(unique), _AT_ONCE):
            some = unique[start : start + _AT_ONCE]
            known.update(zip(some, score(some), strict=True))
        return [tuple(known[text] for text in texts) for texts in rendered]


def _placed(model: Any, trainer: Any) -> Callable[[list[str]], list[float]]:
    """Moves the weights to where the trainer would have them, and casts as it would."""
    import torch

    cuda = trainer.accelerator != "cpu" and torch.cuda.is_available()
    device = torch.device("cuda" if cuda else "cpu")
    word, _, mode = trainer.precision.partition("-")
    dtype = getattr(torch, _CAST.get(word, "float32"))
    model.module.to(device=device, dtype=dtype if mode == "true" else None)

    def score(texts: list[str]) -> list[float]:
        mixed = torch.autocast(device.type, dtype) if mode == "mixed" else nullcontext()
        with torch.no_grad(), mixed:
            values: list[float] = model.score_texts(texts)[0]
        return values

    return score
