"""What happens in each clip and what each caption says, kept beside a built set.

Captions of all tests lie in one list, true and false alike: nothing tells which is which.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from vbench.datasets.toy.statements import Statement, events_of
from vbench.datasets.toy.world import ToyClip
from vbench.errors import DataError
from vbench.records import Claim, Clip, Event

FILE = "provenance.json"


def write_provenance(root: Path, clips: Sequence[ToyClip], statements: Iterable[Statement]) -> None:
    """Writes the facts of clips and captions.

    Args:
        root: The set's folder.
        clips: The clips.
        statements: Every caption of every test; repeated ones are kept once.
    """
    claims = {statement.text: statement.claim for statement in statements}
    document = {
        "clips": {
            clip.video_id: [
                {"roles": dict(e.roles), "start_s": e.start_s, "end_s": e.end_s}
                for e in events_of(clip)
            ]
            for clip in clips
        },
        "captions": {
            text: {"relation": claim.relation, "events": [dict(e.roles) for e in claim.events]}
            # Sorted, for the order of writing would tell true captions from false ones.
            for text, claim in sorted(claims.items(), key=lambda item: item[0])
        },
    }
    (root / FILE).write_text(json.dumps(document) + "\n", encoding="utf-8")


class ToyFacts:
    """The facts of a built set (`records.Facts`), read when first asked for.

    Args:
        root: The set's folder.
    """

    def __init__(self, root: Path) -> None:
        self._file = root / FILE

    def events_in(self, clip: Clip) -> tuple[Event, ...]:
        """Returns the events that lie wholly inside the clip's span, in time order.

        Raises:
            DataError: The video is not in the set.
        """
        events = self._document["clips"].get(clip.video_id)
        if events is None:
            raise DataError(
                f"nothing is known about the video '{clip.video_id}'", where=str(self._file)
            )
        return tuple(
            Event(_roles(event["roles"]), event["start_s"], event["end_s"])
            for event in events
            if clip.start_s <= event["start_s"]
            and (clip.end_s is None or event["end_s"] <= clip.end_s)
        )

    def claim_of(self, text: str) -> Claim:
        """Returns what a caption claims.

        Raises:
            DataError: The caption is not in the set.
        """
        claim = self._document["captions"].get(text)
        if claim is None:
            raise DataError(
                "nothing is known about a caption",
                where=str(self._file),
                why=f"'{text}' is in none of the set's tests as it stands",
                mend="leave captions as they are where an oracle answers (prompt=option_only)",
            )
        return Claim(tuple(Event(_roles(roles)) for roles in claim["events"]), claim["relation"])

    @cached_property
    def _document(self) -> dict[str, Any]:
        try:
            document: dict[str, Any] = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise DataError(
                "the facts of the toy set cannot be read",
                where=str(self._file),
                why=str(error),
                mend="delete the set's folder; it is built again on first use",
            ) from error
        return document


def _roles(roles: dict[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(roles.items()))
