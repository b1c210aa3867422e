"""Asks many questions at once, each at most once, and knows when to give up."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Protocol

from vbench.datasets.velociti.vidsitu.journal import Journal, Reply, question_key
from vbench.datasets.velociti.vidsitu.prompting import Messages
from vbench.errors import ModelError

IN_A_ROW = 5
"""Questions without an answer, one after another, after which the endpoint counts as dead."""


class NoAnswerError(Exception):
    """A question got no answer, after all retries.

    Args:
        reason: Why, in one line.
        lasting: Asking again will not help: the endpoint takes offence at this very question.
    """

    def __init__(self, reason: str, *, lasting: bool = False) -> None:
        self.reason = reason
        self.lasting = lasting
        super().__init__(reason)


class LanguageModel(Protocol):
    """Something that answers."""

    @property
    def identity(self) -> Mapping[str, object]:
        """Model and settings: everything but the question that decides the answer."""
        ...

    def answer(self, messages: Messages) -> Reply:
        """Answers, greedily.

        Raises:
            NoAnswerError: It did not answer.
            ModelError: It never will: no such model, a wrong key.
        """
        ...

    def close(self) -> None:
        """Lets go of connections and memory."""
        ...


@dataclass(frozen=True, slots=True)
class Asked:
    """A question's outcome."""

    key: str
    reply: Reply | None
    failure: str = ""
    """Why there is no reply."""


@dataclass(slots=True)
class Spent:
    """What the questions of one process cost."""

    asked: int = 0
    recalled: int = 0
    """Answers that the journal had."""
    unanswered: int = 0
    """Questions to ask again when the endpoint is well."""
    tokens_in: int = 0
    tokens_out: int = 0


class Asker:
    """Asks a model, by way of the journal.

    Args:
        model: Who is asked.
        journal: Open; holds what has been answered.
        parallel: Questions under way at once.
    """

    def __init__(self, model: LanguageModel, journal: Journal, parallel: int) -> None:
        self._model = model
        self._journal = journal
        self._parallel = parallel
        self._lock = threading.Lock()
        self._failed_in_a_row = 0
        self.spent = Spent()

    def ask(self, questions: Sequence[Messages]) -> list[Asked]:
        """Asks what the journal does not know; the same question is asked once.

        Raises:
            ModelError: Nothing answers any more, or questions were left over that may be answered
                later. What was answered is in the journal.
        """
        keys = [question_key(self._model.identity, messages) for messages in questions]
        new = {
            key: messages
            for key, messages in zip(keys, questions, strict=True)
            if self._journal.get(key) is None
        }
        self.spent.recalled += len(set(keys)) - len(new)
        failures: dict[str, str] = {}
        with ThreadPoolExecutor(self._parallel) as pool:
            futures = {pool.submit(self._one, key, asked): key for key, asked in new.items()}
            try:
                for future in as_completed(futures):
                    failure = future.result()
                    if failure is not None:
                        failures[futures[future]] = failure
            except BaseException:
                # Questions under way are paid for: they end and are stored, no new one begins.
                pool.shutdown(cancel_futures=True)
                raise
        self._check_all_answered(failures)
        return [Asked(key, self._journal.get(key), failures.get(key, "")) for key in keys]

    def _check_all_answered(self, failures: Mapping[str, str]) -> None:
        # What is asked next depends on these answers: to go on without would ask, and pay for,
        # questions that nobody asks once they are there.
        if self.spent.unanswered:
            raise ModelError(
                f"{self.spent.unanswered} questions got no answer, {self.spent.asked} did",
                where=f"dataset.llm_model={self._model.identity.get('model')}",
                why=next(iter(failures.values()), ""),
                mend="type the command again: only these are asked, the others are in the journal",
            )

    def _one(self, key: str, messages: Messages) -> str | None:
        try:
            reply = self._model.answer(messages)
        except NoAnswerError as error:
            self._count_failure(error)
            return error.reason
        self._journal.add(key, self._model.identity, messages, reply)
        with self._lock:
            self._failed_in_a_row = 0
            self.spent.asked += 1
            self.spent.tokens_in += reply.tokens_in
            self.spent.tokens_out += reply.tokens_out
        return None

    def _count_failure(self, error: NoAnswerError) -> None:
        with self._lock:
            self._failed_in_a_row += 1
            self.spent.unanswered += not error.lasting
            dead = self._failed_in_a_row >= IN_A_ROW
        if dead:
            raise ModelError(
                f"the language model gave no answer {IN_A_ROW} times in a row",
                where=f"dataset.llm_model={self._model.identity.get('model')}",
                why=error.reason,
                mend="type the command again once it answers: the journal keeps every answer, "
                "and nothing is asked twice",
            )
