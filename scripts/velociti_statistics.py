"""Table 1 and Figures 15-17 of VELOCITI's Appendix D, for a set, beside the printed values.

    python scripts/velociti_statistics.py SET [--labels vidsitu_data] [--out statistics]
        [--nouns en_core_web_sm]

SET is a folder in the layout of v1: the release, the toy world, or what `vbench build
dataset=velociti/from_vidsitu` wrote. Labels come from the set's own provenance.json or, for the
release, from `--labels`: VidSitu's validation split, of which the set's videos are taken. Nouns
need spaCy and one of its English models; without `--nouns` their figure is left out.

Writes one CSV and one picture a figure, table1.csv and summary.csv. The last line is one JSON
object: each figure's value here and as printed.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from matplotlib.figure import Figure

import vbench
from vbench.datasets.velociti.layout import TEST_FILES, Layout
from vbench.datasets.velociti.vidsitu.reader import read_labels
from vbench.datasets.velociti.vidsitu.statistics import Distribution, Videos, distributions
from vbench.errors import ConfigError, VbenchError

PRINTED = Path(vbench.__file__).parent / "paper_tables/velociti/table1.csv"


def labelled(root: Path, names: Sequence[str], labels: Path | None) -> Videos:
    if labels is None:
        document = json.loads((root / "provenance.json").read_text(encoding="utf-8"))
        return {v: [event["roles"] for event in of] for v, of in document["clips"].items()}
    known = {video.video_id: video for video in read_labels(labels, "valid").videos}
    return {
        name: [dict(event.claim().roles) for event in known[name].events]
        for name in names
        if name in known
    }


def nouns_of(captions: Iterable[str], model: str) -> set[str]:
    try:
        import spacy
    except ImportError as error:
        raise ConfigError(
            "nouns need spaCy", where="--nouns", mend="pip install spacy, and one of its models"
        ) from error
    tagger = spacy.load(model, disable=["ner", "lemmatizer", "parser"])
    return {
        token.lower_ for text in tagger.pipe(captions) for token in text if token.pos_ == "NOUN"
    }


def table1(data: Path) -> list[list[object]]:
    with PRINTED.open(encoding="utf-8", newline="") as lines:
        printed = {row["key"]: row for row in csv.DictReader(lines)}
    rows = []
    for test, name in TEST_FILES.items():
        file = data / name
        of = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        tests = len(of) if test == "ivat" else sum(map(len, of.values()))
        paper = printed.get(test, {})
        videos = sum(map(bool, of.values()))
        rows.append([test, videos, tests, paper.get("videos", ""), paper.get("tests", "")])
    return rows


def draw(of: Distribution, file: Path) -> None:
    rows = of.rows()
    figure = Figure(figsize=(6.0, 3.5), layout="constrained")
    axes = figure.subplots()
    heights = [row[2 if of.cumulative else 1] for row in rows]
    colours = ["#4477aa" if row[0] >= of.mark else "#bbbbbb" for row in rows]
    axes.bar([row[0] for row in rows], heights, color=colours)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel(f"{'at least ' if of.cumulative else ''}n {of.by}")
    axes.set_ylabel(of.of)
    unit = "" if of.cumulative else " %"
    axes.set_title(f"n >= {of.mark}: {of.value():.4g}{unit} here, {of.printed:g}{unit} printed")
    figure.savefig(file)


def write_csv(file: Path, rows: Sequence[Sequence[object]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows(rows)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("set", type=Path)
    parser.add_argument("--labels", type=Path)
    parser.add_argument("--out", type=Path, default=Path("statistics"))
    parser.add_argument("--nouns", metavar="SPACY_MODEL")
    given = parser.parse_args(words)
    try:
        data = Layout.find(given.set).annotations
        positives = json.loads((data / "pos_caps.json").read_text(encoding="utf-8"))
        videos = labelled(given.set, list(positives), given.labels)
        captions = [text for of in positives.values() for text in of.values()]
        nouns = nouns_of(captions, given.nouns) if given.nouns else None
    except VbenchError as error:
        sys.stderr.write(f"{error.render()}\n")
        return 1
    given.out.mkdir(parents=True, exist_ok=True)
    found = distributions(videos, nouns)
    for of in found:
        head = ("n", f"{of.of}_with_n_{of.by.replace(' ', '_')}", "at_least_n")
        write_csv(given.out / f"{of.name}.csv", [head, *of.rows()])
        draw(of, given.out / f"{of.name}.png")
    columns = ["test", "videos", "tests", "videos_printed", "tests_printed"]
    write_csv(given.out / "table1.csv", [columns, *table1(data)])
    summary = [[of.name, of.mark, round(of.value(), 1), of.printed] for of in found]
    write_csv(given.out / "summary.csv", [["figure", "n", "here", "printed"], *summary])
    print(json.dumps({
        "videos": len(videos), "labelled": given.labels is None or len(videos) == len(positives),
        **{of.name: [round(of.value(), 1), of.printed] for of in found},
    }))  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
