"""Which option a language model says a free answer chooses: Video-Bench's GPT-based metric.

arXiv 2311.16103, section 3.3, and Step2_chatgpt_judge.py of PKU-YuanGroup/Video-Bench. The judge of
the paper no longer exists; any model of vbench can be one. Verdicts are right, wrong or not judged:
the official script drops what it could not judge, here it is counted and asked again next time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from vbench.errors import ConfigError
from vbench.prompts import MessagePrompt, letters_of
from vbench.records import Answer, Kind, Message, Reply, Request, Sample, Score, Task
from vbench.scorers.judge_messages import Wording, judge_message, read_verdict
from vbench.scorers.replies import cut_off, replies, unanswered
from vbench.scorers.verdicts import VerdictCache, verdict_key

AT_ONCE = 64
"""Answers put to the judge before their verdicts are stored."""


@dataclass
class LLMJudge:
    """One request per sample, answered in words; the option that the judge reads in it scores 1."""

    judge: Any
    """A language model that reads text: any `VideoLanguageModel`."""
    wording: Wording = "paper"
    cache: str | None = None
    """A file of verdicts, shared by runs; None keeps none. Only what is a verdict is kept: what was
    no option, or no answer at all, is asked again next time."""
    task: ClassVar[Task] = "generate"
    kinds: ClassVar[tuple[Kind, ...]] = ("mcq", "yes_no", "v2t")
    probabilities: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if "generate" not in getattr(self.judge, "tasks", ()):
            raise ConfigError(
                f"{type(self.judge).__name__} cannot judge",
                where="scorer.judge",
                why="it writes no text",
                mend="use a model of conf/model that generates: openai_api, hf/causal_lm",
            )
        self._told: dict[tuple[str, str], str] = {}
        self._verdicts: dict[Message, Reply] = {}
        self._kept = VerdictCache(self.cache)

    def requests(self, sample: Sample, prompt: MessagePrompt) -> list[Request]:
        """Returns the sample's one request, which is to the model that is measured."""
        message = prompt.message(sample, sample.texts)
        self._told[sample.test, sample.sample_id] = message.text
        return [Request(sample.clips, message=message)]

    def prepare(self, asked: Sequence[tuple[Sample, Sequence[Answer]]]) -> None:
        """Has answers judged that `score` will look up; some at a time, and stored as they come.

        Args:
            asked: Samples with their answers.

        Raises:
            RunError: The judge gives up: no key, no server, no budget.
        """
        letters: dict[Message, list[str]] = {}
        for sample, answers in asked:
            response = _response(sample, answers)
            if response:
                letters.setdefault(self._message(sample, response), []).extend(letters_of(sample))
        judge = self.judge.identity()
        keys = {message: verdict_key(judge, message) for message in letters}
        known = self._kept.get(keys.values())
        for message, key in keys.items():
            if key in known:
                self._verdicts[message] = Reply(text=known[key])
        fresh = [message for message in letters if message not in self._verdicts]
        for start in range(0, len(fresh), AT_ONCE):
            some = fresh[start : start + AT_ONCE]
            (given,) = self.judge.answer([(None, [Request((), message=one) for one in some])])
            self._verdicts |= dict(zip(some, given, strict=True))
            self._kept.put(
                {
                    keys[message]: reply.text or ""
                    for message, reply in zip(some, given, strict=True)
                    if reply.status == "ok"
                    and read_verdict(reply.text or "", letters[message]).is_final
                }
            )

    def score(self, sample: Sample, answers: Sequence[Answer]) -> Score:
        """Scores the option that the judge chose.

        Args:
            sample: The sample.
            answers: The one answer, judged by `prepare`.
        """
        failed = unanswered(sample, answers)
        if failed is not None:
            return failed
        response, cut = _response(sample, answers), cut_off(replies(answers))
        if not response:
            return Score(sample, "unparsed", (), "the answer is empty", cut, response, "empty")
        said = self._verdicts.get(self._message(sample, response))
        if said is None or said.status != "ok":
            why = said.reason or said.status if said else "the judge was not asked"
            return Score(sample, "not_judged", (), f"judge: {why}", cut, response)
        letters = letters_of(sample)
        verdict = read_verdict(said.text or "", letters)
        rule = f"judge_{verdict.rule}"
        if verdict.letter is None:
            if verdict.is_final:
                reason = "the judge finds no option in the answer"
                return Score(sample, "unparsed", (), reason, cut, response, rule)
            reason = f"the judge's words are no verdict: {(said.text or '')[:80]!r}"
            return Score(sample, "not_judged", (), reason, cut, response, rule)
        values = tuple(float(letter == verdict.letter) for letter in letters)
        return Score(sample, "ok", values, truncated=cut, response=response, rule=rule)

    def _message(self, sample: Sample, response: str) -> Message:
        options = dict(zip(letters_of(sample), sample.texts, strict=True))
        told = self._told.get((sample.test, sample.sample_id), sample.question or "")
        return judge_message(self.wording, told, options, response)


def _response(sample: Sample, answers: Sequence[Answer]) -> str:
    """Returns what the model wrote; empty where it wrote nothing, or failed."""
    if unanswered(sample, answers) is not None:
        return ""
    (reply,) = replies(answers)
    return (reply.text or "").strip() and (reply.text or "")
