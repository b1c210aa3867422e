"""What `vbench --help` and `vbench evaluate --help` say."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

from vbench import __version__

if TYPE_CHECKING:
    from vbench.composition import Command

OVERVIEW = f"""\
vbench {__version__}: what do video-language models understand?

  vbench dataset=velociti/toy model=toy/clip          evaluate one model
  vbench -m model=toy/clip,oracle/perfect             one evaluation per value

Commands; `vbench COMMAND --help` says more
  evaluate       compose a config, ask the model, score it (may be left out)
  build          write the files of a dataset that vbench can generate
  doctor, plan   what is wrong with a dataset; what an evaluation would do
  annotate       quality control and human evaluation with Label Studio
  score          read a run's stored answers with another scorer or metric
  table, sheet   runs as tables, or in a paper's table; answers side by side
  report         runs, a sweep or a dataset as a page to browse
  show, status   one sample; how far runs and sweeps are, and how to go on
  diff, compare  why two runs differ; which model is better, paired
  export, import  runs in other tools' formats, and theirs as runs

Settings are key=value; --cfg prints the composed config and nothing runs.
Typing a command again resumes it. VBENCH_DEBUG=1 shows tracebacks.
Exit codes: 0 done, 1 failed, 3 done with failures recorded.
"""

PLAN = """\
vbench plan [--json] KEY=VALUE…

  vbench plan dataset=velociti/toy model=toy/clip
  --json           one JSON object on stdout

Takes the words of `vbench evaluate`. Says how many clips, frames and texts there are to ask, how
many of them are answered already, and how long the rest may take. Loads no weights.
"""

SCORE = """\
vbench score RUN KEY=VALUE…

  vbench score outputs/runs/… scorer=text_similarity text_similarity=minilm
  vbench score outputs/runs/… metric.tie=half

Reads the answers that a run has stored with another scorer, prompt or metric, and writes a run
of its own. Asks no model.
"""

_HEADS = {
    "evaluate": """\
vbench [evaluate] [-m] [--cfg] KEY=VALUE…

  -m, --multirun   one evaluation per combination of comma-separated values
  --cfg            print the composed config and stop
""",
    "build": """\
vbench build KEY=VALUE…

  vbench build dataset=velociti/toy num_videos=300 seed=1 dataset.root=PATH
""",
    "annotate": """\
vbench annotate KEY=VALUE…
vbench annotate FOLDER EXPORT…

  vbench annotate dataset=velociti/human_subset study=human out=study media_root=PATH
  vbench annotate study export.json

First writes tasks and a labelling config for Label Studio; then reads the answers that it
exports as JSON: accuracy or retention, agreement, and choices.jsonl for model=human or
kept.jsonl. Exit codes: 0 done, 3 something was left out, 1 failed.
""",
    "doctor": """\
vbench doctor [--json] [--audit] KEY=VALUE…

  vbench doctor dataset=table dataset.file=qa.csv model=clip_b32
  vbench doctor --audit dataset=velociti/human_subset model=vera_base
  --audit          what do the texts give away without any video? Opens no file; asks the
                   model, if one is named: vera, vera_base, hf/causal_lm
  --json           one JSON object on stdout: findings, and a line per file or shortcut

Looks at every file and sample; changes nothing and, but for --audit, asks no model.
Exit codes: 0 nothing is wrong, 3 problems found, 1 the doctor itself failed.
""",
}

INSPECTING = {
    "table": """\
vbench table [PAPER] RUN|SWEEP… [--format terminal|markdown|latex|csv|html] [--out FOLDER]

RUN is the folder of a finished run, or a pattern in quotes: 'outputs/runs/*/*/*'. SWEEP
holds runs; those that are not finished are named and left out.
PAPER: print the paper's values, beside those of the runs if there are any:
  velociti/table1 to table3
  videobench/table1, table2, table3, table3e, figure2, figure4, figure5, figure7, figure8
--out: also write files: Markdown, LaTeX, CSV, HTML, and of a figure PNG and SVG.
--figures: write accuracy by number of frames, sampler and order of frames, as far as the
runs vary them, into the sweep's figures/ (or --out): PNG, SVG, CSV.
--models FILE: parts and training sizes of your models for videobench/figure7 and 8, a
CSV file in the columns of videobench/table1.
""",
    "show": """\
vbench show RUN SAMPLE [--json]

SAMPLE is test/sample_id, a sample_id, or the beginning of either if only one
sample begins so. The run may still go on. A name that begins with a dash goes
after --.
""",
    "sheet": """\
vbench sheet RUN… [--sample ID,ID…] [--out sheet.html]

One HTML page: question, options, the frames the model saw where they are kept, and what
each run answered, how that was read and whether it is right. Without --sample: of each
test the first sample that the runs do not agree on.
""",
    "export": """\
vbench export RUN… [--format videobench] [--out FOLDER]

Video-Bench's files of a run: {dataset}_eval.json, Video-Bench-Input.json, result.csv.
Without --out: into the run's own folder, export/.
""",
    "import": """\
vbench import lmms-eval|vlmevalkit FILE|FOLDER [--out FOLDER] [--name MODEL] [--reader rules]

Makes run folders of another harness's results, so that table, show, diff and sheet work
on them. lmms-eval: *_samples_<task>.jsonl; vlmevalkit: <model>_<dataset>.xlsx|tsv|json.
Multiple-choice and yes/no questions only; answers are read again from what the model wrote.
""",
    "diff": """\
vbench diff RUN RUN [--limit=20] [--tolerance=1e-5] [--json]

Settings that differ, then samples whose texts, labels, frames, pixels, status,
answer or outcome differ. --limit: how many samples are listed; all are counted.
--tolerance: scores no further apart are the same.

Exit codes: 0 the results are the same, 3 they differ, 1 there was nothing to
compare.
""",
    "compare": """\
vbench compare RUN RUN… [--against RUN] [--tests NAME,NAME|--all-rows] [--detect 2]
               [--all] [--items] [--limit=20] [--format terminal|markdown|latex|csv|html] [--json]

Which run is better, test by test, on the samples that both have answered: difference with
its interval, wins and losses, p-values with Holm's correction, and a verdict. Of more than
two runs each is held against the best of its test, or the one named by --against.
--tests: compare these rows only; fewer comparisons show smaller differences.
--all-rows: also rows that only regroup the samples of others (groups, levels) or grade them
by another rule (legacy, classic); left out, they make no other comparison stricter.
--detect: how many sources would show a difference of so many points, 4 times in 5.
--all: McNemar's exact test, a cluster bootstrap and sign flips as well.
--items: how far runs agree, the hardest samples, and those they disagree on.
""",
    "report": """\
vbench report RUN|SWEEP… [--out PATH] [--samples=20000] [--no-strips]
vbench report dataset=WORD [dataset.KEY=VALUE…] [limit=N] [strips=N] [--out PATH]
vbench report --wandb RUN|SWEEP…

Writes report.html into the folder of the run, or that which holds all the runs:
tables, plots, settings, and a browser of samples with the frames that the models
saw. It opens in any browser, without a server or network. Frames that a run has
left no pictures of are decoded again, once per file (--no-strips: not at all).

The second form shows a dataset that no model was asked about, with frames chosen
by sampler=uniform_midpoints, in outputs/reports/.

The third logs finished runs to W&B from their folders, as logger=wandb does meanwhile.
""",
    "status": """\
vbench status RUN|SWEEP… [--json] [--explain-cache]

How far each run is, what failed, and the command that goes on with it. A folder
that holds runs (a sweep, outputs/runs) gives a table of them. Works at any time.
""",
}
"""Help of the commands that look at runs; the first line is the usage."""


def describe(command: Command) -> str:
    """Returns a command's help: its folders of conf/ with their choices, and its other keys."""
    from vbench.composition import conf_dir, vocabulary

    primary = (conf_dir() / f"{command}.yaml").read_text(encoding="utf-8")
    defaults = dict(re.findall(r"^  - ([\w/]+): (\S+)", primary, re.MULTILINE))
    choices_of = reversed(list(vocabulary(command).choices.items()))
    groups = {group: choices for group, choices in choices_of if choices}
    keys = re.findall(r"^(\w+): (\S+)(?: # (.*))?$", primary, re.MULTILINE)
    width = max(map(len, [*groups, *(key for key, *_ in keys)]))
    lines = [_HEADS[command], "Words and their choices (* is the default)"]
    for group, choices in groups.items():
        marked = (f"{c}*" if c == defaults.get(group) else c for c in choices)
        lines.append(_entry(group, "  ".join(marked), width))
    lines.append("\nKeys")
    lines += [_entry(key, f"{value:6} {comment}", width) for key, value, comment in keys]
    lines.append("\nA word's own keys follow a dot: sampler.num_frames=8, trainer.devices=2.")
    return "\n".join(lines) + "\n"


def _entry(name: str, text: str, width: int) -> str:
    return textwrap.fill(
        text,
        width=96,
        initial_indent=f"  {name:{width}} ",
        subsequent_indent=" " * (width + 3),
        break_on_hyphens=False,
        break_long_words=False,
    )
