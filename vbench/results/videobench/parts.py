"""Video-Bench's Table 1, and Figures 7 and 8, which hold scores against it.

The paper prints no number of these figures; what is here follows from Tables 1 and 2 and is
labelled derived. Eight models differ in many things at once: the tests say how often such a
difference comes about by dealing the eight scores anew, not what causes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from vbench.results.paper import Row, read
from vbench.results.permutation import mean_difference, rank_correlation
from vbench.results.tables import Cell, Column, Line, Table
from vbench.results.videobench.ours import Ours
from vbench.results.videobench.printed import CHANCE, SOURCE, TITLES, facts, rows, title_of

_TABLE_1 = {
    "visual_encoder": "VE", "temporal_module": "TM", "audio_encoder": "AE", "language_model": "LLM",
    "adapter": "Adapt", "training_source": "Source", "pretraining_size": "Pre-training",
    "instruction_size": "Instruction", "instruction_data": "tuned on (derived)",
}  # fmt: skip

_SIZES = ("pretraining_size", "instruction_size")

_KINDS = "tuned on: video where Table 1 names Instruct-video or MIMIC-IT, else image"

_TESTS_NOTE = (
    "p: two-sided, over all ways to deal or order the scores of these n models; derived from Table "
    "2's levels, the paper prints no value"
)


@dataclass(frozen=True)
class Model:
    """A model with what is known of its parts, and its scores."""

    label: str
    about: Row
    """A row of Table 1."""
    scores: Mapping[str, float]
    """In percent, by level and `final`."""

    def size(self, name: str) -> float | None:
        """Returns a number of training samples; None where there was no such training."""
        return float(self.about[name]) if self.about.get(name) else None

    def has(self, part: str) -> bool:
        """Says whether it has such a part."""
        return bool(self.about.get(part))


def printed_models() -> list[Model]:
    """Returns the paper's eight models with their scores of Table 2."""
    known = facts()
    return [
        Model(row.label, known[row.key], row.values) for row in rows("table2") if row.key != CHANCE
    ]


def our_models(runs: Sequence[Ours], about: Mapping[str, Row]) -> list[Model]:
    """Returns the runs whose models' parts are known, with whole scores.

    Args:
        runs: Our runs.
        about: Rows in the columns of Table 1 by the model's word or the run's name (`--models`).
    """
    known = [
        (run, about.get(run.label) or about.get(str(run.choices.get("model")))) for run in runs
    ]
    found = [Model(run.label, row, run.percent(TITLES)) for run, row in known if row is not None]
    return [model for model in found if set(model.scores) == set(TITLES)]


def table_1(about: Mapping[str, Row]) -> Table:
    """Returns Table 1, and below it the models of `--models`."""
    known = read("videobench/table1")
    lines = [_about(row, row["label"]) for row in known]
    lines += [_about(row, f"{key} (ours)") for key, row in about.items()]
    columns = tuple(Column(key, title) for key, title in _TABLE_1.items())
    title = f"Video-Bench, Table 1: models, printed ({SOURCE})"
    return Table(title, "Method", columns, tuple(lines), ("sizes: training samples", _KINDS))


def _about(row: Row, label: str) -> Line:
    return Line(label, tuple(Cell(_size(row.get(k, "")) if k in _SIZES else row.get(k, ""))
                             for k in _TABLE_1))  # fmt: skip


def _size(text: str) -> str:
    return size_text(float(text)) if text else ""


def size_text(value: float) -> str:
    """Writes a number of samples as Table 1 does.

    >>> size_text(1.1e9), size_text(153_500)
    ('1100M', '153.5K')
    """
    return f"{value / 1e6:g}M" if value >= 1e6 else f"{value / 1e3:g}K"


GROUPS: Mapping[str, Callable[[Model], bool]] = {
    "neither": lambda m: not m.has("temporal_module") and not m.has("audio_encoder"),
    "w/ TM": lambda m: m.has("temporal_module") and not m.has("audio_encoder"),
    "w/ AE": lambda m: m.has("audio_encoder") and not m.has("temporal_module"),
    "w/ TM and AE": lambda m: m.has("temporal_module") and m.has("audio_encoder"),
}
"""Figure 7's groups of models."""


def by_modules(models: Sequence[Model], whose: str) -> list[Line]:
    """Returns Figure 7's means by group, and what models with a module differ from those without.

    Args:
        models: The models.
        whose: Named in the labels: `paper`, `ours`.
    """
    lines = []
    for name, belongs in GROUPS.items():
        own = [model for model in models if belongs(model)]
        means = [fmean(model.scores[key] for model in own) if own else None for key in TITLES]
        names = Cell(", ".join(model.label for model in own))
        cells = [Cell("" if v is None else f"{v:.2f}", _share(v)) for v in means]
        size = Cell(str(len(own)), {"value": len(own)})
        lines.append(Line(f"{name} ({whose}, derived)", (names, size, *cells)))
    for part, name in (("temporal_module", "TM"), ("audio_encoder", "AE")):
        cells = [
            _difference(
                [m.scores[key] for m in models if m.has(part)],
                [m.scores[key] for m in models if not m.has(part)],
            )
            for key in TITLES
        ]
        label = f"w/ {name} - w/o {name} ({whose}, derived)"
        lines.append(Line(label, (Cell("points"), Cell(), *cells)))
    return lines


def figure_7(runs: Sequence[Ours], about: Mapping[str, Row]) -> Table:
    """Returns Figure 7: mean scores of models with and without temporal module, audio encoder."""
    own = our_models(runs, about)
    lines = by_modules(printed_models(), "paper") + (by_modules(own, "ours") if own else [])
    columns = (Column("models", "models"), Column("n", "n"), *_score_columns())
    title = f"Video-Bench, Figure 7, from its Tables 1 and 2 ({SOURCE}): mean accuracy in %"
    return Table(title, "Modules", columns, tuple(lines), (_TESTS_NOTE, *_unknown(runs, own)))


def figure_8(runs: Sequence[Ours], about: Mapping[str, Row]) -> Table:
    """Returns Figure 8: scores against training sizes, and of video- against image-tuned models."""
    printed, own = printed_models(), our_models(runs, about)
    lines = [_model_line(model, "paper") for model in printed]
    lines += _size_tests(printed, "paper")
    lines += [_model_line(model, "ours") for model in own]
    lines += _size_tests(own, "ours") if len(own) > 2 else []
    columns = (
        Column("pretraining_size", "Pre-training"), Column("instruction_size", "Instruction"),
        Column("instruction_data", "tuned on"), *_score_columns(),
    )  # fmt: skip
    title = f"Video-Bench, Figure 8, from its Tables 1 and 2 ({SOURCE}): accuracy in %"
    told = (
        "rho: Spearman's correlation of score and number of training samples",
        _KINDS, _TESTS_NOTE, *_unknown(runs, own),
    )  # fmt: skip
    return Table(title, "Model", columns, tuple(lines), told)


def _model_line(model: Model, whose: str) -> Line:
    sizes = [
        Cell(
            _size(model.about.get(name, "")),
            {} if (v := model.size(name)) is None else {"value": v},
        )
        for name in _SIZES
    ]
    kind = Cell(model.about.get("instruction_data", ""))
    scores = [Cell(f"{model.scores[key]:.2f}", _share(model.scores[key])) for key in TITLES]
    return Line(f"{model.label} ({whose})", (*sizes, kind, *scores))


def _size_tests(models: Sequence[Model], whose: str) -> list[Line]:
    video = [model for model in models if model.about.get("instruction_data") == "video"]
    image = [model for model in models if model.about.get("instruction_data") == "image"]
    none = (Cell(), Cell(), Cell())
    tests = {
        "rho with pre-training": [_correlation(models, "pretraining_size", k) for k in TITLES],
        "rho with instruction": [_correlation(models, "instruction_size", k) for k in TITLES],
        "rho with instruction, video": [_correlation(video, "instruction_size", k) for k in TITLES],
        "video - image": [
            _difference([m.scores[k] for m in video], [m.scores[k] for m in image]) for k in TITLES
        ],
    }
    return [
        Line(f"{name} ({whose}, derived)", (*none, *cells))
        for name, cells in tests.items()
    ]  # fmt: skip


def _correlation(models: Sequence[Model], size: str, key: str) -> Cell:
    pairs = [(v, m.scores[key]) for m in models if (v := m.size(size)) is not None]
    if len(pairs) < 3 or min(len(set(of)) for of in zip(*pairs, strict=True)) < 2:
        return Cell(f"n = {len(pairs)}")
    found = rank_correlation(*zip(*pairs, strict=True))
    return Cell(found.text, {"value": found.statistic, "p": found.p, "n": found.n})


def _difference(a: Sequence[float], b: Sequence[float]) -> Cell:
    if not a or not b:
        return Cell(f"n = {len(a)}, {len(b)}")
    found = mean_difference(a, b)
    text = f"{found.statistic:+.2f} (p {'=' if found.exact else '≈'} {found.p:.3f}, "
    numbers = {"value": found.statistic / 100, "p": found.p, "n": found.n}
    return Cell(f"{text}n = {len(a)}, {len(b)})", numbers)


def _score_columns() -> tuple[Column, ...]:
    return tuple(Column(key, title_of(key)) for key in TITLES)


def _share(value: float | None) -> dict[str, float]:
    return {} if value is None else {"value": value / 100}


def _unknown(runs: Sequence[Ours], own: Sequence[Model]) -> tuple[str, ...]:
    known = {model.label for model in own}
    lost = [run.label for run in runs if run.label not in known]
    why = "their parts are not known (--models=FILE, in the columns of Table 1) or scores partial"
    return (f"not shown: {', '.join(lost)}: {why}",) if lost else ()
