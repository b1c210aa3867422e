"""The story of building a set: read labels, caption, pair, write."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from vbench.datasets.velociti.vidsitu.builder import Built, build_tests, draw
from vbench.datasets.velociti.vidsitu.by_template import TemplateCaptioner
from vbench.datasets.velociti.vidsitu.files import REPORT, Account, write_set
from vbench.datasets.velociti.vidsitu.labels import LabelledVideo
from vbench.datasets.velociti.vidsitu.language import LlmSettings, asking
from vbench.datasets.velociti.vidsitu.reader import label_files, read_labels
from vbench.datasets.velociti.vidsitu.settings import SetSettings, file_digest
from vbench.datasets.velociti.vidsitu.uncollected import uncollected
from vbench.datasets.whole import write_whole
from vbench.errors import DataError


def construct(
    root: Path,
    vidsitu: Path,
    settings: SetSettings,
    llm: tuple[LlmSettings, Path] | None,
    videos: Path | None,
) -> None:
    """Builds a set and prints to stderr what became of it.

    Args:
        root: The set's folder; missing or empty.
        vidsitu: The unpacked labels.
        settings: What is built.
        llm: The language model and the file of its answers; None: templates.
        videos: The folder of the videos, linked into the set; None: no link.

    Raises:
        ConfigError: There is no such split.
        DataError: Labels cannot be read, or the set cannot be written.
        ModelError: The language model does not answer. What it has answered is kept.
    """
    labels = read_labels(vidsitu, settings.split, settings.annotation)
    hashes = {f.name: file_digest(f) for f in label_files(vidsitu, settings.split)}
    chosen = draw(labels.videos, settings.num_videos, settings.seed)
    sys.stderr.write(f"vbench: captioning {sum(len(v.events) for v in chosen):,} events\n")
    built, spent = _built(chosen, settings, llm)
    if not built.captions:
        raise DataError(
            "no event could be captioned; no set is written",
            where=f"dataset.vidsitu_root={vidsitu}",
            why="; ".join(line.strip() for line in built.tally.lines()),
            mend="another dataset.llm_model may do better" if llm else "check the label files",
        )
    account = Account(settings.document(), hashes, labels.tally, spent)
    with uncollected():
        written = write_whole(root, lambda to: write_set(to, built, account, videos), "the set")
    if not written:
        raise DataError(
            f"'{root}' was filled by somebody else in the meantime",
            where=f"dataset.root={root}",
            mend="choose another dataset.root; a journal of answers is kept",
        )
    sys.stderr.write(_summary(root, built, account))


def _built(
    videos: Sequence[LabelledVideo], settings: SetSettings, llm: tuple[LlmSettings, Path] | None
) -> tuple[Built, Mapping[str, int] | None]:
    """Returns the tests, and what a language model cost."""
    seed, match_arguments = settings.seed, settings.match_arguments
    if llm is None:
        captioner = TemplateCaptioner(seed)
        with uncollected():
            return build_tests(videos, captioner, seed, match_arguments), None
    from vbench.datasets.velociti.vidsitu.by_llm import LlmCaptioner

    with asking(*llm) as (asker, cost):
        built = build_tests(videos, LlmCaptioner(asker), seed, match_arguments)
    return built, cost.spent


def _summary(root: Path, built: Built, account: Account) -> str:
    tests = {name: len(pairs) for name, pairs in built.pairs.items()} | {"ivat": len(built.ivat)}
    lines = [f"vbench: {len(built.videos):,} videos in {root}"]
    lines += [f"{count:>7,} {name}" for name, count in tests.items()]
    left_out = [*account.reading.lines(), *built.tally.lines()]
    if left_out:
        lines += [f"left out, and mended (in full in {REPORT}):", *left_out]
    if account.spent:
        lines.append(", ".join(f"{key} {value:,}" for key, value in account.spent.items()))
    return "\n".join(lines) + "\n"
