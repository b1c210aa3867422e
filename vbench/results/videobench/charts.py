"""How Video-Bench's figures are drawn. Each function draws into an empty matplotlib figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from vbench.metrics.videobench import FINAL
from vbench.results.drawing import OURS, PLAIN, PRINTED
from vbench.results.videobench.parts import GROUPS, Model, size_text
from vbench.results.videobench.printed import DATASETS, TITLES, datasets, title_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from vbench.results.tables import Line, Table

Draw = Callable[["Figure"], None]

_COLOURS = ("#4477aa", "#66ccee", "#228833", "#ccbb44", "#ee6677", "#aa3377", "#bbbbbb")


def ranking(table: Table) -> Draw:
    """Bars of final scores with their gain over chance, the best on top; ours in another colour."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        place = [column.key for column in table.columns].index(FINAL)
        lines = [line for line in table.lines if line.cells[place].text]
        for y, line in enumerate(reversed(lines)):
            numbers, gain = line.cells[place].numbers, line.cells[place + 1].text
            value = 100 * numbers["value"]
            axes.barh(y, value, color=OURS if "(ours" in line.label else PRINTED)
            axes.plot([100 * numbers["chance"]] * 2, [y - 0.4, y + 0.4], color="black", lw=1)
            axes.text(value + 0.5, y, f"{value:.2f} ({gain})", va="center", fontsize=8)
        axes.set_yticks(range(len(lines)), [line.label for line in reversed(lines)])
        axes.set_xlim(0, 100)
        axes.set_xlabel("final score in % (points over chance); line: chance")

    return draw


def counts(table: Table) -> Draw:
    """A ring of Figure 4's numbers, and bars of released ones beside them."""

    def draw(figure: Figure) -> None:
        ring, bars = figure.subplots(1, 2, width_ratios=(1, 1.2))
        about = datasets()
        sizes = [int(about[key]["figure4"]) for key in DATASETS]
        shades = [_COLOURS[list(TITLES).index(about[key]["level"]) * 2] for key in DATASETS]
        names = [title_of(key) for key in DATASETS]
        ring.pie(sizes, colors=shades, wedgeprops={"width": 0.4, "edgecolor": "white"})
        ring.set_title(f"Figure 4: {sum(sizes)}", fontsize=9)
        released = [int(about[key]["questions"]) for key in DATASETS]
        ys = list(range(len(names)))[::-1]
        bars.barh(ys, released, color=shades)
        bars.plot(sizes, ys, "k|", markersize=10, label="Figure 4")
        bars.set_yticks(ys, names)
        bars.set_xlabel(f"questions released: {sum(released)}")
        bars.legend(frameon=False, loc="center right")

    return draw


def metrics(table: Table) -> Draw:
    """A line per way to read answers, over the datasets; ours dashed."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        titles = [title_of(key) for key in DATASETS]
        lines = [line for line in table.lines if line.label in titles]
        for number, column in enumerate(table.columns):
            cells = [line.cells[number].numbers for line in lines]
            values = [100 * cell.get("value", float("nan")) for cell in cells]
            style = "--o" if column.group == "ours" else "-o"
            colour = _COLOURS[number % len(_COLOURS)]
            axes.plot(values, style, color=colour, markersize=3, label=column.title)
        axes.set_xticks(range(len(titles)), titles, rotation=45, ha="right")
        axes.set_ylabel("accuracy in %")
        axes.legend(frameon=False, fontsize=7)

    return draw


def modules(table: Table) -> Draw:
    """Mean scores by level, a bar per group of models."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        groups = [line for line in table.lines if line.label.split(" (")[0] in GROUPS]
        width = 0.8 / len(groups)
        for number, line in enumerate(groups):
            values = [100 * cell.numbers.get("value", 0) for cell in line.cells[2:]]
            xs = [x + (number - (len(groups) - 1) / 2) * width for x in range(len(values))]
            size = line.cells[1].text
            label, hatch = f"{line.label}, n = {size}", "//" if "(ours" in line.label else None
            colour = _COLOURS[number % len(GROUPS)]
            axes.bar(xs, values, width * 0.95, label=label, color=colour, hatch=hatch)
        axes.set_xticks(range(len(TITLES)), list(TITLES.values()), fontsize=7)
        axes.set_ylabel("mean accuracy in %")
        axes.legend(frameon=False, fontsize=7, ncols=2)
        axes.set_ylim(0, 60)

    return draw


def sizes(models: Sequence[Model], ours: Sequence[Model], tests: Sequence[Line]) -> Draw:
    """Final scores against both training sizes, by what the model was tuned on.

    Args:
        models: The paper's.
        ours: Drawn hollow.
        tests: The table's lines with correlations; those of the paper's models are titles.
    """

    def draw(figure: Figure) -> None:
        both = figure.subplots(1, 2, sharey=True)
        names = (("pretraining_size", "pre-training"), ("instruction_size", "instruction tuning"))
        for axes, (size, title) in zip(both, names, strict=True):
            for model in (*models, *ours):
                _point(axes, model, size, hollow=model in ours)
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(lambda value, _: size_text(value))
            axes.set_xlabel(f"samples of {title}")
            told = next(
                (t for t in tests if f"rho with {title.split()[0]} (paper" in t.label), None
            )
            axes.set_title(f"rho {told.cells[-1].text}" if told else "", fontsize=8)
        both[0].set_ylabel("final score in %")
        for kind, mark in (("video", "o"), ("image", "s")):
            both[1].scatter([], [], marker=mark, color=PLAIN, label=f"tuned on {kind}")
        both[1].legend(frameon=False, fontsize=7)

    return draw


def _point(axes: Any, model: Model, size: str, *, hollow: bool) -> None:
    at, value = model.size(size), model.scores[FINAL]
    if at is None:
        return
    video = model.about.get("instruction_data") == "video"
    colour = PRINTED if video else "#ccbb44"
    face = "none" if hollow else colour
    axes.scatter([at], [value], marker="o" if video else "s", facecolors=face, edgecolors=colour)
    axes.annotate(model.label, (at, value), fontsize=6, xytext=(3, 3), textcoords="offset points")
