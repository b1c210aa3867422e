import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from vbench.results.tables import (
    Cell,
    Column,
    Line,
    Table,
    save,
    to_csv,
    to_latex,
    to_markdown,
    to_terminal,
)

TABLE = Table(
    title="Accuracy in %, 95 %, 30 sources",
    corner="Model",
    columns=(
        Column("agent_bind", "Bind", "Agent"),
        Column("agent_coref", "Coref", "Agent"),
        Column("average", "Avg"),
        Column("n", "n", detail=True),
    ),
    lines=(
        Line(
            "toy/clip",
            (
                Cell("71.2 [69.0, 73.3]", {"value": 0.712, "n": 1000}),
                Cell(),
                Cell("50.0", {"value": 0.5, "stderr": None}),
                Cell("1000"),
            ),
        ),
        Line("n (sources)", (Cell("1000 (30)"), Cell(), Cell(), Cell()), detail=True),
    ),
    notes=("ties: 3",),
)

ODD = "a|b *c* _d_ e_f $g$ 50% #h & <i> [j](k) `l` {m} ~n^o \\p \x1b[31mq\u202er\ns --t"


def terminal(table, width):
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(to_terminal(table))
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def one_cell(text):
    return Table(text, text, (Column(text, text, text),), (Line(text, (Cell(text),)),), (text,))


def test_markdown():
    assert to_markdown(TABLE) == (
        "**Accuracy in %, 95 %, 30 sources**\n"
        "\n"
        "| Model | Agent Bind | Agent Coref | Avg | n |\n"
        "| :--- | ---: | ---: | ---: | ---: |\n"
        "| toy/clip | 71.2 [69.0, 73.3] | - | 50.0 | 1000 |\n"
        "| &emsp;n (sources) | 1000 (30) | - | - | - |\n"
        "\n"
        "- ties: 3\n"
    )


def test_latex():
    assert to_latex(TABLE) == (
        "\\begin{table}\n"
        "\\centering\n"
        "\\caption{Accuracy in \\%, 95 \\%, 30 sources}\n"
        "\\begin{tabular}{lrrrr}\n"
        "\\toprule\n"
        " & \\multicolumn{2}{c}{Agent} & \\multicolumn{2}{c}{} \\\\\n"
        "\\cmidrule(lr){2-3}\n"
        "Model & Bind & Coref & Avg & n \\\\\n"
        "\\midrule\n"
        "toy/clip & 71.2 [69.0, 73.3] & - & 50.0 & 1000 \\\\\n"
        "\\quad n (sources) & 1000 (30) & - & - & - \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
        "\\par{\\footnotesize ties: 3}\n"
        "\\end{table}\n"
    )


def test_csv_has_the_raw_numbers_and_nothing_twice():
    assert to_csv(TABLE) == (
        "row,column,text,value,n,stderr\n"
        'toy/clip,agent_bind,"71.2 [69.0, 73.3]",0.712,1000,\n'
        "toy/clip,average,50.0,0.5,,\n"
    )


def test_terminal():
    assert terminal(TABLE, 100) == [
        "Accuracy in %, 95 %, 30 sources",
        "              ╷                 ╷           ╷    ╷",
        " Model        │       Agent Bind│Agent Coref│ Avg│   n",
        "╶─────────────┼─────────────────┼───────────┼────┼────╴",
        " toy/clip     │71.2 [69.0, 73.3]│          -│50.0│1000",
        "   n (sources)│        1000 (30)│          -│   -│   -",
        "              ╵                 ╵           ╵    ╵",
        "ties: 3",
    ]


def test_a_narrow_terminal_loses_nothing():
    lines = terminal(TABLE, 44)
    assert max(map(len, lines)) <= 44
    shown = " ".join(" ".join(lines).split())
    for piece in ("toy/clip", "71.2", "[69.0,", "73.3]", "1000", "n (sources)"):
        assert piece in shown


def test_markdown_escapes():
    assert to_markdown(one_cell(ODD)).splitlines()[-1] == (
        "- a\\|b \\*c\\* \\_d\\_ e_f \\$g\\$ 50% #h \\& \\<i\\> [j\\](k) \\`l\\` {m} \\~n^o "
        "\\\\p [31mq r s --t"
    )


@pytest.mark.parametrize(
    ("text", "escaped"),
    [("# a", "\\# a"), ("- a", "\\- a"), ("+ a", "\\+ a"), ("1. a", "1\\. a"), ("1.5 a", "1.5 a"),
     ("[a]: b", "[a\\]: b"), ("_a", "\\_a"), ("a__b", "a\\_\\_b")],
)  # fmt: skip
def test_markdown_that_would_start_a_block_or_a_link(text, escaped):
    assert to_markdown(one_cell(text)).endswith(f"- {escaped}\n")


def test_latex_escapes():
    line = to_latex(one_cell(ODD)).splitlines()[-2]
    assert line == (
        "\\par{\\footnotesize a\\textbar{}b *c* \\_d\\_ e\\_f \\$g\\$ 50\\% \\#h \\& "
        "\\textless{}i\\textgreater{} [j](k) `l` \\{m\\} \\textasciitilde{}n\\textasciicircum{}o "
        "\\textbackslash{}p [31mq r s -{}-{}t}"
    )


@pytest.mark.parametrize("label", ["[a]", "*a"])
def test_latex_labels_are_no_argument_of_the_line_before(label):
    body = to_latex(one_cell(label))
    assert not re.search(r"\\\\\n\s*[\[*]", body)
    assert "{}" + label in body


@given(st.text(max_size=20))
def test_latex_braces_balance_whatever_the_text(text):
    bare = re.sub(r"\\[{}\\]", "", to_latex(one_cell(text)))
    assert bare.count("{") == bare.count("}")


@given(st.text(max_size=20))
def test_no_text_adds_a_row_or_a_column(text):
    table = one_cell(text)
    rows = [line for line in to_markdown(table).splitlines() if line.startswith("|")]
    assert [len(re.findall(r"(?<!\\)\|", row.replace("\\\\", ""))) for row in rows] == [3, 3, 3]
    assert all(len(row) == 3 for row in csv.reader(io.StringIO(to_csv(table))))


@given(st.text(max_size=30))
def test_no_control_character_reaches_a_terminal(text):
    shown = "\n".join(terminal(one_cell(text), 60))
    assert all(c.isprintable() or c == "\n" for c in shown)


def test_markup_is_shown_not_followed():
    assert any("[bold]x[/bold]" in line for line in terminal(one_cell("[bold]x[/bold]"), 80))


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\t=1"])
def test_csv_text_is_never_a_formula(text):
    rows = list(csv.reader(io.StringIO(to_csv(one_cell(text)))))
    assert rows[1] == ["'" + text.strip()] * 3


def test_csv_numbers_survive_unrounded():
    cell = Cell("33.3", {"value": 1 / 3, "change": -0.25})
    table = Table("", "", (Column("a", "A"),), (Line("x", (cell,)),))
    (found,) = csv.DictReader(io.StringIO(to_csv(table)))
    assert (float(found["value"]), float(found["change"])) == (1 / 3, -0.25)


def test_a_long_label_is_folded_not_cut():
    label = "organisation/" + "very-long-checkpoint-name" * 2
    column = [line.split("│")[0].strip() for line in terminal(one_cell(label), 200)]
    assert label in "".join(column)


def test_save_writes_every_format(tmp_path):
    save(TABLE, tmp_path / "tables", "main")
    found = {file.name: file.read_text("utf-8") for file in (tmp_path / "tables").iterdir()}
    assert found == {
        "main.md": to_markdown(TABLE), "main.tex": to_latex(TABLE), "main.csv": to_csv(TABLE)
    }  # fmt: skip
