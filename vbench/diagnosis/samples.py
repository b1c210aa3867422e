"""What is wrong with samples, as far as it shows without opening a file."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence

from vbench.diagnosis.findings import Finding
from vbench.prompts import Prompt
from vbench.protocols import TextLimit
from vbench.records import VIDEO, Sample

Key = tuple[Hashable, ...]


def sample_findings(samples: Sequence[Sample]) -> Iterator[Finding]:
    """Yields what is wrong with samples by themselves and with one another.

    Args:
        samples: All samples of a dataset.
    """
    if not samples:
        yield Finding("no_samples", "dataset", "it has no samples", "check its files and filters")
    for sample in samples:
        yield from _texts(sample)
        yield from _choices(sample)
    yield from _names(samples)
    yield from _repetitions(samples)


def count_findings(samples: Sequence[Sample], released: Mapping[str, int]) -> Iterator[Finding]:
    """Yields tests whose number of samples is not that of the release.

    Args:
        samples: All samples of a dataset.
        released: Samples by test; other tests are not looked at.
    """
    counts = Counter(sample.test for sample in samples)
    for test, count in counts.items():
        if count != released.get(test, count):
            what = f"it has {count} samples, the release has {released[test]}"
            mend = "fetch the file again, or mind that numbers are not about the same samples"
            yield Finding("other_count", test, what, mend, count)


def limit_findings(samples: Sequence[Sample], prompt: Prompt, model: object) -> Iterator[Finding]:
    """Yields texts that a model would cut, as the prompt renders them.

    Args:
        samples: All samples of a dataset.
        prompt: Renders texts.
        model: Its weights are not touched.
    """
    if not isinstance(model, TextLimit):
        yield Finding("limit_unknown", "model", f"{type(model).__name__} reads texts of any length")
        return
    rendered = [[prompt.render(sample, text) for text in sample.texts] for sample in samples]
    unique = list(dict.fromkeys(text for texts in rendered for text in texts))
    cut = {text for text, long in zip(unique, model.overlong(unique), strict=True) if long}
    for sample, texts in zip(samples, rendered, strict=True):
        long = [str(i) for i, text in enumerate(texts, start=1) if text in cut]
        if long:
            yield Finding(
                "long_text",
                name(sample),
                f"text {' and '.join(long)} of {len(texts)} is longer than the "
                f"{model.max_text_tokens} tokens the model reads; the end is cut off",
                "shorten it, or use a model that reads more",
                1,
            )


def name(sample: Sample) -> str:
    """Names a sample."""
    return f"{sample.test} {sample.sample_id}"


def _texts(sample: Sample) -> Iterator[Finding]:
    empty = [f"text {i}" for i, text in enumerate(sample.texts, start=1) if not text.strip()]
    if sample.question is not None and not sample.question.strip():
        empty.append("its question")
    if not sample.texts and sample.kind != "open":
        empty.append("its list of texts")
    if empty:
        what = f"{' and '.join(empty)} {'is' if len(empty) == 1 else 'are'} empty"
        yield Finding("empty_text", name(sample), what, "fill it in, or remove the sample", 1)
    if any(VIDEO in text for text in (*sample.texts, sample.question or "")):
        what = (
            f"a text holds {VIDEO}, the mark for where the video goes; no language model is asked"
        )
        yield Finding("video_mark", name(sample), what, "write it otherwise", 1)


def _choices(sample: Sample) -> Iterator[Finding]:
    """A sample is decided between its clips (t2v) or its texts; IVAT between both."""
    choices: list[Sequence[Hashable]] = []
    if sample.kind in ("t2v", "match"):
        choices.append([(clip.path, clip.start_s, clip.end_s) for clip in sample.clips])
    if sample.kind not in ("t2v", "open"):
        choices.append(sample.texts)
    for options in choices:
        if len(set(options)) < len(options):
            kind = "texts" if options is sample.texts else "clips"
            what = f"two of its {kind} are the same, so that no answer is better than the other"
            yield Finding("same_choices", name(sample), what, "correct or remove it", 1)
    if sample.kind in ("match", "open") or sample.target is None or not choices:
        return
    if not isinstance(sample.target, int) or not 0 <= sample.target < len(choices[0]):
        what = f"the target is {sample.target!r}, and there are {len(choices[0])} choices"
        mend = f"give an index from 0 to {len(choices[0]) - 1}"
        yield Finding("bad_target", name(sample), what, mend, 1)


def _names(samples: Sequence[Sample]) -> Iterator[Finding]:
    seen: dict[tuple[str, str], int] = defaultdict(int)
    for sample in samples:
        seen[sample.test, sample.sample_id] += 1
    for (test, sample_id), count in seen.items():
        if count > 1:
            what = f"{count} samples have this name; answers could not be told apart"
            mend = "make names unique within a test"
            yield Finding("duplicate_id", f"{test} {sample_id}", what, mend, count)


def _repetitions(samples: Sequence[Sample]) -> Iterator[Finding]:
    """Compares what samples ask, whatever order their choices stand in."""
    asked: dict[Key, list[tuple[Sample, Hashable]]] = defaultdict(list)
    for sample in samples:
        key, right = _question(sample)
        if right is not None:
            asked[key].append((sample, right))
    for same in asked.values():
        first, right = same[0]
        for sample, other in same[1:]:
            if other != right:
                what = f"asks what {name(first)} asks, with another right answer"
                yield Finding("contradiction", name(sample), what, "remove the wrong one", 2)
            elif sample.test == first.test:
                what = f"asks the same as {name(first)}"
                yield Finding("duplicate_sample", name(sample), what, "remove one of them", 2)


def _question(sample: Sample) -> tuple[Key, Hashable]:
    """Returns what a sample asks, and what the right answer is (None: unknown)."""
    clips = [(clip.path, clip.start_s, clip.end_s or -1.0) for clip in sample.clips]
    texts, target = list(sample.texts), sample.target
    key: Key = (sample.question, tuple(sorted(clips)), tuple(sorted(texts)))
    if sample.kind == "match":
        return ("match", *key), frozenset(zip(clips, texts, strict=False))
    if sample.kind == "open":
        return ("open", *key), target
    choices: Sequence[Hashable] = clips if sample.kind == "t2v" else texts
    valid = isinstance(target, int) and 0 <= target < len(choices)
    return ("choice", *key), choices[target] if valid and isinstance(target, int) else None
