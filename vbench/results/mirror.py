"""What a logger must do, and the one that does nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol


class Mirror(Protocol):
    """Shows a run elsewhere. The run folder is the truth; a mirror may fail but never raise."""

    wants_frames: bool
    """Whether strips of the frames the model saw are to be left in the run folder."""

    def start(self, folder: Path, run_id: str, name: str, config: Mapping[str, object]) -> None:
        """Opens the mirror of a run folder."""
        ...

    def add(self, records: Sequence[Mapping[str, object]]) -> None:
        """Shows samples that have just been completed."""
        ...

    def finish(
        self,
        records: Sequence[Mapping[str, object]],
        estimates: Mapping[str, Mapping[str, object]],
        strips: Path,
    ) -> None:
        """Shows all samples and the estimates, and closes."""
        ...

    def fail(self) -> None:
        """Closes a run that broke."""
        ...


class NoMirror:
    """Keeps everything local (`logger=none`)."""

    wants_frames = False

    def start(self, folder: Path, run_id: str, name: str, config: Mapping[str, object]) -> None:
        """Does nothing."""

    def add(self, records: Sequence[Mapping[str, object]]) -> None:
        """Does nothing."""

    def finish(
        self,
        records: Sequence[Mapping[str, object]],
        estimates: Mapping[str, Mapping[str, object]],
        strips: Path,
    ) -> None:
        """Does nothing."""

    def fail(self) -> None:
        """Does nothing."""
