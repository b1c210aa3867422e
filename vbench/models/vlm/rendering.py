"""How a message becomes the text that a checkpoint reads: its chat template, or as it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vbench.errors import ConfigError, ModelError
from vbench.models.loading import quietly
from vbench.models.vlm.processors import video_token
from vbench.records import VIDEO, Message

_BEFORE, _AFTER = "vbench-before", "vbench-after"
"""Words around a video, to see what a template writes for it."""


@dataclass(frozen=True)
class Rendered:
    """A prompt."""

    text: str
    """With the checkpoint's placeholder for the video once, or not at all."""
    add_special_tokens: bool
    """Whether the tokenizer puts its own special tokens (a BOS) around it."""


class Renderer:
    """Renders messages for one checkpoint.

    Args:
        name: The checkpoint, for messages.
        processor: Its processor.
        chat_template: A template (Jinja) or a file with one; None: the checkpoint's own.
        system: A system prompt for messages without one; None: the template's own.
        thinking: Whether a reply that is generated may begin with a thought.

    Raises:
        ConfigError: The chat template is neither a template nor a file, or cannot switch thinking.
    """

    def __init__(
        self,
        name: str,
        processor: Any,
        chat_template: str | None,
        system: str | None,
        *,
        thinking: bool = False,
    ) -> None:
        self.name = name
        self.template = _read(chat_template) or _own_template(processor)
        self._given = _read(chat_template)
        self._processor = processor
        self._system = system
        self._switched = "enable_thinking" in (self.template or "")
        self._thinking = thinking
        if thinking and not self._switched:
            raise ConfigError(
                "the chat template has no switch for thinking",
                where=f"checkpoint {name}, model.generation.thinking=true",
                why="it does not ask for enable_thinking",
                mend="leave thinking at false: a model that always thinks does so, given room in "
                "model.generation.max_new_tokens",
            )

    def render(self, message: Message, *, shows_video: bool, scored: bool) -> Rendered:
        """Renders a message.

        Args:
            message: What the model is told.
            shows_video: Whether a video is shown beside it; else the mark for it is left out.
            scored: Whether given replies are scored: those follow without a thought.

        Raises:
            ModelError: There is no chat template, or it has no place for a video.
        """
        text = message.text if shows_video else _without_video(message.text)
        if message.render == "raw":
            rendered = text.replace(VIDEO, self.placeholder())
        else:
            system = self._system if message.system is None else message.system
            content = _contents(text, shows_video=shows_video)
            thinking = self._thinking and not scored
            rendered = self._chat(content, system, message.turns, thinking=thinking)
        token = video_token(self._processor)
        if rendered.count(token) != int(shows_video):
            raise ModelError(
                f"the rendered prompt holds {rendered.count(token)} videos, not {int(shows_video)}",
                where=f"checkpoint {self.name}, prompt.render={message.render}",
                why=f"{token} stands for a video",
                mend="use prompt.render=raw, or give model.chat_template=… that renders a video",
            )
        bos = self._processor.tokenizer.bos_token
        return Rendered(rendered, not (bos and rendered.startswith(bos)))

    def placeholder(self) -> str:
        """Returns what stands for a video: as the chat template writes it, marks around it too."""
        token = video_token(self._processor)
        if self.template is None:
            return token
        parts = [_text(_BEFORE), {"type": "video"}, _text(_AFTER)]
        _, _, rest = self._chat(parts, None).partition(_BEFORE)
        between = rest.partition(_AFTER)[0].strip()
        # Marks touch the token; what stands apart from it is the conversation's.
        return between if between.count(token) == 1 and len(between.split()) == 1 else token

    def check(self) -> None:
        """Refuses to chat without a template.

        Raises:
            ModelError: There is none.
        """
        if self.template is None:
            raise ModelError(
                "the checkpoint has no chat template",
                where=f"checkpoint {self.name}",
                why="neither its processor nor its tokenizer brings one, and prompts are rendered "
                "as a chat",
                mend="use prompt.render=raw with a prompt that says all the model reads, or "
                "model.chat_template=FILE.jinja",
            )

    def _chat(
        self,
        content: list[dict[str, str]],
        system: str | None,
        said: Sequence[tuple[str, str]] = (),
        *,
        thinking: bool = False,
    ) -> str:
        self.check()
        turns: list[dict[str, Any]] = [
            *({"role": role, "content": [_text(text)]} for role, text in said),
            {"role": "user", "content": content},
        ]
        if system is not None:
            turns.insert(0, {"role": "system", "content": [_text(system)]})
        options: dict[str, Any] = {"add_generation_prompt": True, "tokenize": False}
        if self._switched:
            options["enable_thinking"] = thinking
        # A processor may have a template of its own for videos, which one that is handed over
        # would replace.
        own = self._given if self._given or self._processor.chat_template else self.template
        with quietly():
            return str(self._processor.apply_chat_template(turns, chat_template=own, **options))


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _contents(text: str, *, shows_video: bool) -> list[dict[str, str]]:
    """Splits a message at the mark for the video, which comes first where there is no mark."""
    if not shows_video:
        return [_text(text)]
    before, mark, after = text.partition(VIDEO)
    if not mark:
        before, after = "", text
    elif not before:
        after = after.removeprefix("\n")  # what lies between is the template's to say
    parts = [_text(before)] if before else []
    return [*parts, {"type": "video"}, *([_text(after)] if after else [])]


def _without_video(text: str) -> str:
    r"""Leaves the mark out, and the line it had to itself.

    >>> _without_video("USER: <video>\nWhat?"), _without_video("What?")
    ('USER: What?', 'What?')
    """
    return text.replace(f"{VIDEO}\n", "").replace(VIDEO, "")


def _own_template(processor: Any) -> str | None:
    for owner in (processor, processor.tokenizer):
        found = getattr(owner, "chat_template", None)
        if isinstance(found, dict):
            found = found.get("default")
        if found:
            return str(found)
    return None


def _read(chat_template: str | None) -> str | None:
    if chat_template is None or "{" in chat_template:
        return chat_template
    try:
        return Path(chat_template).expanduser().read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            "the chat template is neither a template nor a file",
            where=f"model.chat_template={chat_template}",
            why=str(error),
            mend="give a file that holds a Jinja template, or the template itself",
        ) from error
