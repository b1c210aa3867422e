"""The sizes of VideoChat, which its authors' code and configs fix."""

from __future__ import annotations

from typing import ClassVar

from vbench.models.blip2.config import Blip2PartsConfig


class VideoChatConfig(Blip2PartsConfig):
    """OpenGVLab/Ask-Anything, video_chat/configs/config_7b.json."""

    model_type = "video_chat"
    own: ClassVar[tuple[str, ...]] = (*Blip2PartsConfig.own, "num_extra_tokens", "global_blocks")

    num_extra_tokens: int = 64
    """Queries that were added to BLIP-2's for videos."""
    global_blocks: int = 8
    """Of the vision tower's last layers, each has a block that looks at all frames (GMHRA)."""

    @property
    def features(self) -> int:
        """How many tokens a video takes, whatever its number of frames."""
        return self.num_query_tokens + self.num_extra_tokens
