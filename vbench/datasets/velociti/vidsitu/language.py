"""Opens the language model that a set's settings name, and the journal of its answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from vbench.datasets.velociti.vidsitu.asking import Asker, LanguageModel
from vbench.datasets.velociti.vidsitu.endpoint import Endpoint, EndpointSettings
from vbench.datasets.velociti.vidsitu.journal import Journal
from vbench.datasets.velociti.vidsitu.local_model import LocalModel
from vbench.errors import ConfigError


@dataclass(frozen=True)
class LlmSettings:
    """Which language model, and how it is asked."""

    model: str | None
    backend: Literal["endpoint", "local"] = "endpoint"
    parallel: int = 8
    endpoint: EndpointSettings = field(default_factory=EndpointSettings)

    def open(self) -> LanguageModel:
        """Returns the model; nothing is loaded or asked yet.

        Raises:
            ConfigError: No model is named, or a number is out of range.
        """
        if not self.model:
            raise ConfigError(
                "no language model is named",
                where="dataset.captions=llm",
                mend="add dataset.llm_model=… (and dataset.llm_url=… for an endpoint of your own, "
                "or dataset.llm_backend=local for a checkpoint)",
            )
        for key, value in (("parallel", self.parallel), ("attempts", self.endpoint.attempts)):
            if value < 1:
                raise ConfigError(f"dataset.llm_{key} counts from 1", where=f"llm_{key}={value}")
        if self.backend == "local":
            return LocalModel(self.model, self.endpoint.max_tokens)
        lacking = [name for name in ("openai", "tenacity") if not find_spec(name)]
        if lacking:
            raise ConfigError(
                f"{' and '.join(lacking)} must be installed to ask an endpoint",
                where="dataset.captions=llm",
                mend="pip install 'vbench-eval[api]'",
            )
        return Endpoint(self.model, self.endpoint)


@dataclass
class Cost:
    """What a session cost, once it is over."""

    spent: Mapping[str, int] = field(default_factory=dict)


@contextmanager
def asking(settings: LlmSettings, journal: Path) -> Iterator[tuple[Asker, Cost]]:
    """Gives an asker whose answers are kept.

    Args:
        settings: The model.
        journal: The file of answers.

    Raises:
        ConfigError: The settings cannot be used.
        DataError: The journal cannot be used.
    """
    cost = Cost()
    with Journal(journal) as answers:
        model = settings.open()
        asker = Asker(model, answers, settings.parallel)
        try:
            yield asker, cost
        finally:
            model.close()
        cost.spent = {**asdict(asker.spent), "journal_lines_broken": answers.broken}
