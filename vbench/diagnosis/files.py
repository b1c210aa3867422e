"""What is wrong with files, given what the samples want of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from vbench.diagnosis.findings import Finding
from vbench.errors import VbenchError
from vbench.frames.facts import FileFacts, Seconds
from vbench.records import Sample

SHORT_S = 0.1
"""A file may end this much before a clip's span, and by one frame more: cutting is that exact."""
REPEATED = 0.25
"""From this share of repeated frames on a video stutters. Still scenes repeat some frames too, and
film brought to 30 frames a second one in five."""


@dataclass
class Use:
    """What samples want of a file."""

    video_ids: dict[str, None] = field(default_factory=dict)
    """In the order of first use."""
    spans: dict[Seconds, int] = field(default_factory=dict)
    """(start, end) in seconds → samples."""
    samples: int = 0


@dataclass(frozen=True, slots=True)
class Examined:
    """A file with its content's hash, or why there is nothing to tell."""

    facts: FileFacts
    content: str = ""
    """SHA-256 of the bytes; of a folder, a hash of its files' hashes. "" if it cannot be opened."""
    lost: str = ""
    """How the decoder died of it."""


def uses(samples: Sequence[Sample]) -> dict[str, Use]:
    """Collects the files of samples, in the order of first use."""
    found: dict[str, Use] = defaultdict(Use)
    for sample in samples:
        for path in dict.fromkeys(clip.path for clip in sample.clips):
            found[path].samples += 1
        for clip in dict.fromkeys(sample.clips):
            use, span = found[clip.path], (clip.start_s, clip.end_s)
            use.video_ids[clip.video_id] = None
            use.spans[span] = use.spans.get(span, 0) + 1
    return dict(found)


def file_findings(used: Mapping[str, Use], files: Sequence[Examined]) -> Iterator[Finding]:
    """Yields what is wrong with each file and between files.

    Args:
        used: What samples want, by path.
        files: What was found at each path.
    """
    for file in files:
        use = used[file.facts.path]
        if file.lost:
            mend = "fetch the file again, or leave it out"
            yield Finding("decoder_lost", file.facts.path, file.lost, mend, use.samples)
        else:
            yield from _decoding(file.facts, use)
            yield from _nature(file.facts, use)
            yield from _spans(file.facts, use)
    yield from _copies(used, files)


def _decoding(facts: FileFacts, use: Use) -> Iterator[Finding]:
    if facts.fault is None:
        return
    kind = "damaged" if facts.readable else "missing" if facts.missing else "undecodable"
    yield Finding(kind, facts.path, _reason(facts.fault), facts.fault.mend, use.samples)


def _nature(facts: FileFacts, use: Use) -> Iterator[Finding]:
    if facts.disguise:
        mend = "rename it, or fetch what should be there"
        yield Finding("mislabelled", facts.path, f"it is {facts.disguise}", mend, use.samples)
    if facts.frames == 1:
        mend = "fetch the video again unless a still is meant"
        yield Finding("single_frame", facts.path, "it has one frame", mend, use.samples)
    if facts.variable_rate:
        what = f"its {facts.frames} frames in {facts.duration_s:.3f} s are not evenly spaced"
        yield Finding("variable_rate", facts.path, what, samples=use.samples)
    if facts.repeats and facts.repeats == facts.decoded - 1 and not facts.fault:
        what = f"all of {facts.decoded} decoded frames show the same picture"
        yield Finding("frozen", facts.path, what, "play it; fetch it again", use.samples)
    elif 0 < REPEATED * facts.frames <= facts.repeats and facts.decoded == facts.frames:
        what = f"{facts.repeats} of {facts.frames} frames show the picture of the frame before"
        yield Finding("repeated_frames", facts.path, what, "play it", use.samples)


def _spans(facts: FileFacts, use: Use) -> Iterator[Finding]:
    if not facts.readable:
        return
    empty = dict(facts.empty_spans)
    slack_s = SHORT_S + 1 / facts.fps
    for span, samples in use.spans.items():
        start_s, end_s = span
        if span in empty:
            error = empty[span]
            yield Finding("empty_span", facts.path, _reason(error), error.mend, samples)
        elif end_s is not None and end_s > facts.duration_s + slack_s:
            what = (
                f"a clip asks for {start_s:g} s to {end_s:g} s, it ends at {facts.duration_s:g} s"
            )
            mend = "fetch the whole video, or correct the span"
            yield Finding("short", facts.path, what, mend, samples)


def _copies(used: Mapping[str, Use], files: Sequence[Examined]) -> Iterator[Finding]:
    """The same bytes under several names, whether as several files or as one."""
    by_content: dict[str, list[str]] = defaultdict(list)
    for file in files:
        if file.content:
            by_content[file.content].append(file.facts.path)
    for paths in by_content.values():
        ids = dict.fromkeys(video for path in paths for video in used[path].video_ids)
        if len(ids) > 1:
            first, *others = ids
            what = f"the same content is called {first} and {' and '.join(others)}"
            mend = "remove the copies, or give their samples one cluster"
            touched = sum(used[path].samples for path in paths)
            yield Finding("duplicate_content", paths[0], what, mend, touched)


def _reason(error: VbenchError) -> str:
    return " ".join(f"{error.what}: {error.why}".split()) if error.why else error.what
