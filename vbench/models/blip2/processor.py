"""What these models share about frames and words: a prompt tells when the frames were taken."""

from __future__ import annotations

from typing import Any, ClassVar

from transformers import LlamaTokenizer

from vbench.models.vlm.spliced_processor import (
    CroppedFrames,
    SplicedProcessor,
    SquashedFrames,
    spaced_by_segment,
)


class TimedProcessor(SplicedProcessor):
    """Puts a video's placeholders into a prompt, and when its frames were taken after them."""

    stop_texts: ClassVar[tuple[str, ...]] = ("###",)
    """Vicuna of 2023 has no token for the end of a turn."""

    after: str
    """What the original writes between the sentence and a question."""
    config: Any
    """The class of the model's config, which says `features`."""
    frames: type[SquashedFrames | CroppedFrames]
    conversation: str
    """How messages are written."""

    @classmethod
    def from_pretrained(cls, source: str, **options: Any) -> TimedProcessor:
        """Reads LLaMA's tokenizer, and the sizes.

        Args:
            source: The folder.
            options: Of a hub id; code of a checkpoint is never run.

        Raises:
            ValueError: The tokenizer does not belong to the model.
        """
        options.pop("trust_remote_code", None)
        config = cls.config.from_pretrained(source, **options)
        frames = cls.frames.of_side(config.vision_config.image_size, return_metadata=True)
        tokenizer = LlamaTokenizer.from_pretrained(source, add_bos_token=True, **options)
        marked(tokenizer, cls.video_token, config.video_token_id)
        return cls(frames, spaced_by_segment(tokenizer), cls.conversation, config.features)

    def replace_video_token(self, video_inputs: dict[str, Any], video_idx: int, **_: Any) -> str:
        """Returns the placeholders of one video between marks, and when its frames were taken."""
        taken = video_inputs["video_metadata"][video_idx]
        told = sentence([place / taken.fps for place in taken.frames_indices])
        return f"<Video>{self.video_token * self.features}</Video> {told}{self.after}"


def sentence(times_s: list[float]) -> str:
    """Tells the times, in seconds to one decimal, as the demos of both models do.

    >>> sentence([0.0, 1.25])
    'The video contains 2 frames sampled at 0.0, 1.2 seconds.'
    """
    told = ", ".join(str(round(time, 1)) for time in times_s)
    return f"The video contains {len(times_s)} frames sampled at {told} seconds."


def marked(tokenizer: Any, mark: str, place: int) -> Any:
    """Gives a mark the first id after the model's words.

    Args:
        tokenizer: LLaMA's, which may know fewer words than the model has rows.
        mark: What stands for a visual feature.
        place: Its id.

    Raises:
        ValueError: The tokenizer knows more words than the model.
    """
    words = len(tokenizer)
    if words > place:
        raise ValueError(f"{words} words in the tokenizer, {place} in the model")
    spare = [f"<spare_{number}>" for number in range(words, place)]
    tokenizer.add_special_tokens({"additional_special_tokens": [*spare, mark]})
    return tokenizer
