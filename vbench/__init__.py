"""vbench measures what video-language models understand.

From Python: `run = vbench.evaluate("dataset=velociti/toy", "model=toy/clip")`, and later
`run = vbench.load_run("outputs/runs/…")`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vbench.evaluation import evaluate as evaluate
    from vbench.results.run import load_run as load_run

__version__ = "0.1.0"

_LAZY = {"evaluate": "vbench.evaluation", "load_run": "vbench.results.run"}
"""Looked up on first use: `vbench --help` must not import them."""


def __getattr__(name: str) -> object:
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'vbench' has no attribute '{name}'")
