"""Reads VELOCITI's v1 annotation files into samples.

Structures as in katha-ai/VELOCITI, branch velociti_v1 (dataloaders/*.py): a pair test is
`{video: {event: {"pos", "neg"}}}`; control.json `{video: {event: {"pos_cap", "neg_cap",
"neg_vid"}}}` serves both control tests; vidsitu_dict.json `{video: {"Ev1": {"pos"}, ...}}` serves
IVAT. Samples keep the order of the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from vbench.datasets.velociti.json_files import Node, read_json
from vbench.datasets.velociti.layout import TEST_FILES, Ivat, Layout, Source, is_safe, source_of
from vbench.errors import ConfigError, DataError, did_you_mean
from vbench.records import Clip, Kind, Sample

IVAT_SPANS_S = ((0.0, 4.0), (6.0, 10.0))
"""The first and the last four seconds. The official contrastive protocol takes them from the 10-s
video, frames 0-7 and 12-19 of 20 (dataloaders/ivat_dataset.py); that of Video-LLMs has 4-s ones."""

IVAT_EVENTS = ("Ev1", "Ev5")


def read_samples(
    root: Path, tests: Sequence[str] | None, source: Source, ivat: Ivat = "frames"
) -> list[Sample]:
    """Reads the samples of the named tests.

    Args:
        root: The unpacked release, or a toy set.
        tests: Names from `TEST_FILES`, in the order wanted; None: all of them.
        source: Whether clips are read from videos or from folders of frames.
        ivat: Whether IVAT's clips are spans of those, or the 4-second files.

    Raises:
        ConfigError: A test does not exist.
        DataError: A file is missing, malformed, or names a video that is no file name.
    """
    check_tests(tests)
    names = TEST_FILES if tests is None else dict.fromkeys(tests)
    layout = Layout.find(root)
    files: dict[str, Node] = {}
    samples: list[Sample] = []
    for name in names:
        file = layout.annotations / TEST_FILES[name]
        if not file.is_file():
            raise _missing(file, name)
        if file.name not in files:
            files[file.name] = read_json(file)
        read = _READERS.get(name, _pair_samples)
        if name == "ivat" and ivat == "segments":
            samples.extend(_ivat_segments(files[file.name], layout))
            continue
        samples.extend(read(name, files[file.name], lambda video: _clip(video, layout, source)))
    return samples


def check_tests(tests: Sequence[str] | None) -> None:
    """Checks names of tests.

    Raises:
        ConfigError: A test does not exist.
    """
    for name in tests or ():
        if name not in TEST_FILES:
            raise ConfigError(
                f"VELOCITI has no test '{name}'",
                where=f"dataset.tests=[{','.join(tests or ())}]",
                mend=did_you_mean(name, TEST_FILES),
            )


def _missing(file: Path, test: str) -> DataError:
    here = [name for name, of in TEST_FILES.items() if (file.parent / of).is_file()]
    return DataError(
        f"'{file.name}' is missing",
        where=str(file),
        why=f"the test '{test}' is read from it",
        mend=f"add the file, or run the tests that are there: dataset.tests=[{','.join(here)}]",
    )


def _clip(video: Node, layout: Layout, source: Source) -> Clip:
    name = video.text()
    if not is_safe(name):
        raise video.error(
            f"'{name}' cannot be the name of a video",
            mend="a video's name is one part of a path, without separators, blanks or leading dots",
        )
    return Clip(name, layout.path(name, source))


def _ivat_segments(file: Node, layout: Layout) -> Iterator[Sample]:
    for sample in _ivat("ivat", file, lambda video: _clip(video, layout, "video")):
        video = sample.clips[0].video_id
        # Named as the files are: two clips of one name would be one clip to whoever looks them up.
        clips = tuple(Clip(f"{video}_p{i}", layout.segment(video, i)) for i in (1, 2))
        yield replace(sample, clips=clips)


ToClip = Callable[[Node], Clip]


def _events(file: Node) -> Iterator[tuple[Node, str, Node]]:
    for video, events in file.items():
        for event, entry in events.items():
            yield video, event.text(), entry


def _pair_samples(test: str, file: Node, to_clip: ToClip) -> Iterator[Sample]:
    for video, event, entry in _events(file):
        clip = to_clip(video)
        texts = (entry["pos"].text(), entry["neg"].text())
        yield _sample(test, event, "v2t", (clip,), texts)


def _control_v2t(test: str, file: Node, to_clip: ToClip) -> Iterator[Sample]:
    for video, event, entry in _events(file):
        texts = (entry["pos_cap"].text(), entry["neg_cap"].text())
        yield _sample(test, event, "v2t", (to_clip(video),), texts)


def _control_t2v(test: str, file: Node, to_clip: ToClip) -> Iterator[Sample]:
    for video, event, entry in _events(file):
        clips = (to_clip(video), to_clip(entry["neg_vid"]))
        yield _sample(test, event, "t2v", clips, (entry["pos_cap"].text(),))


def _ivat(test: str, file: Node, to_clip: ToClip) -> Iterator[Sample]:
    for video, events in file.items():
        whole = to_clip(video)
        clips = tuple(Clip(whole.video_id, whole.path, *span) for span in IVAT_SPANS_S)
        texts = tuple(events[event]["pos"].text() for event in IVAT_EVENTS)
        yield _sample(test, "", "match", clips, texts)


_READERS: Mapping[str, Callable[[str, Node, ToClip], Iterator[Sample]]] = {
    "control_v2t": _control_v2t,
    "control_t2v": _control_t2v,
    "ivat": _ivat,
}


def _sample(
    test: str, event: str, kind: Kind, clips: tuple[Clip, ...], texts: tuple[str, ...]
) -> Sample:
    video = clips[0].video_id
    return Sample(
        test=test,
        sample_id=f"{video}/{event}" if event else video,
        kind=kind,
        cluster=source_of(video),
        clips=clips,
        texts=texts,
        # The right one always comes first here; no scorer sees which that is.
        target=None if kind == "match" else 0,
    )
