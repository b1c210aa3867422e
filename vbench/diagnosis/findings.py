"""A finding: one thing that is wrong, at one place, with a remedy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]
"""`error`: a sample cannot be scored, or its score means nothing. `warning`: scores may not mean
what they seem to. `note`: good to know, and no problem."""

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")

KINDS: Mapping[str, tuple[Severity, str]] = {
    "unreadable_dataset": ("error", "the dataset itself cannot be read"),
    "no_samples": ("error", "there is nothing to evaluate"),
    "duplicate_id": ("error", "samples share a name"),
    "empty_text": ("error", "a text or question is empty"),
    "same_choices": ("error", "the right and a wrong choice are the same"),
    "bad_target": ("error", "the right answer is none of the choices"),
    "contradiction": ("error", "the same sample with another right answer"),
    "missing": ("error", "no such file"),
    "undecodable": ("error", "the file cannot be opened"),
    "decoder_lost": ("error", "the decoder crashed or hung"),
    "damaged": ("error", "a frame cannot be decoded"),
    "empty_span": ("error", "no frame within a clip's span"),
    "short": ("warning", "the file ends before a clip's span"),
    "single_frame": ("warning", "the video is one frame"),
    "frozen": ("warning", "the picture never changes"),
    "mislabelled": ("warning", "the name says one format, the file is another"),
    "duplicate_content": ("warning", "the same bytes under several names"),
    "duplicate_sample": ("warning", "a sample is there twice"),
    "other_count": ("warning", "a test has another number of samples than was released"),
    "contradictory_group": ("warning", "a question asked more than once has different answers"),
    "shortcut": ("warning", "an answer that needs no video is right more often than chance"),
    "long_text": ("warning", "a text is longer than the model reads"),
    "video_mark": ("warning", "a text says <video>, which language models take for the video"),
    "variable_rate": ("note", "frames are not evenly spaced"),
    "irregular": ("note", "the release has it so, and it is asked all the same"),
    "repeated_frames": ("note", "many frames repeat the one before"),
    "limit_unknown": ("note", "the model does not tell how long texts may be"),
}
"""Severity and meaning, in the order in which findings are listed."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong."""

    kind: str
    """A key of `KINDS`."""
    where: str
    """The file, or test and sample."""
    what: str
    mend: str = ""
    samples: int = 0
    """How many samples it touches; 0 where that cannot be said."""

    @property
    def severity(self) -> Severity:
        """How bad it is."""
        return KINDS[self.kind][0]


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """Sorts by severity, then by kind; within a kind the order stays."""
    rank = {kind: place for place, kind in enumerate(KINDS)}
    return sorted(findings, key=lambda f: (SEVERITIES.index(f.severity), rank[f.kind]))


def counts(findings: Iterable[Finding]) -> dict[str, int]:
    """Counts findings by kind, in the order of `KINDS`; kinds without any are left out.

    >>> counts([Finding("missing", "a.mp4", "no such file"), Finding("missing", "b.mp4", "")])
    {'missing': 2}
    """
    found = Counter(finding.kind for finding in findings)
    return {kind: found[kind] for kind in KINDS if kind in found}
