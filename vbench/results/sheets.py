"""Response sheets: samples with the answers of several runs, as one HTML page by itself.

This is what Video-Bench's Figures 3, 6 and 9 to 21 show of a sample: frames, question, options, and
what each model wrote. Here also how that was read, and by which rule. Everything that comes from a
dataset or a model is escaped; the page loads nothing and runs nothing.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vbench.errors import RunError
from vbench.results.lookup import sample
from vbench.results.run import Run

Found = Mapping[str, Any]
"""A sample of a run; see `lookup.sample`."""

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 64em; color: #222; }
section { border-top: 1px solid #bbb; padding: 1em 0; }
h2 { font-size: 1.1em; } .id { color: #666; font-weight: normal; }
.q { white-space: pre-wrap; font-weight: 600; } ol { list-style: none; padding-left: 1em; }
.right { color: #1a6b30; font-weight: 600; } .wrong { color: #a32020; } .tie { color: #8a6d00; }
.unscored { color: #666; } img { max-width: 100%; display: block; margin: .5em 0; }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; vertical-align: top;
padding: .3em .6em; border-bottom: 1px solid #ddd; } .answer { white-space: pre-wrap; }
.rule { color: #666; font-size: .85em; }
"""

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def page(runs: Sequence[tuple[str, Run]], names: Sequence[str]) -> str:
    """Returns the page.

    Args:
        runs: Runs with what each is called.
        names: Samples; see `lookup.find_sample`. Empty: of each test the first on which the runs
            differ, or the first.

    Raises:
        RunError: No run has such a sample.
    """
    wanted = list(names) or _typical([run for _, run in runs])
    sections = [_section(runs, name) for name in wanted]
    called = ", ".join(label for label, _ in runs)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f"<title>{_escape(f'Responses of {called}')}</title>\n<style>{_STYLE}</style></head>\n"
        f"<body>\n<h1>Responses</h1>\n<p>{_escape(called)}</p>\n{''.join(sections)}</body></html>\n"
    )


def _typical(runs: Sequence[Run]) -> list[str]:
    outcomes: dict[str, dict[str, set[str]]] = {}
    for run in runs:
        of = run.records
        for test, own, outcome in zip(of["test"], of["sample_id"], of["outcome"], strict=True):
            outcomes.setdefault(test, {}).setdefault(own, set()).add(outcome)
    chosen = []
    for test, samples in outcomes.items():
        first = next((own for own, seen in samples.items() if len(seen) > 1), next(iter(samples)))
        chosen.append(f"{test}/{first}")
    return chosen


def _section(runs: Sequence[tuple[str, Run]], name: str) -> str:
    found: list[tuple[str, Found]] = []
    missing: RunError | None = None
    for label, run in runs:
        try:
            found.append((label, sample(run.path, name)))
        except RunError as error:
            missing = error
    if not found and missing is not None:
        raise missing
    one = found[0][1]
    letters = one["letters"] or list(_LETTERS[: len(one["texts"])])
    options = "".join(
        f"<li{_right(one, n)}>{_escape(letter)}. {_escape(text)}</li>"
        for n, (letter, text) in enumerate(zip(letters, one["texts"], strict=False))
    )
    rows = "".join(_row(label, of, letters) for label, of in found)
    lost = [label for label, _ in runs if label not in dict(found)]
    note = f"<p class='rule'>not asked by {_escape(', '.join(lost))}</p>" if lost else ""
    return (
        f'<section>\n<h2>{_escape(one["test"])} <span class="id">{_escape(one["sample_id"])}</span>'
        f'</h2>\n{_strips(found)}<p class="q">{_escape(one["question"] or "")}</p>\n'
        f"<ol>{options}</ol>\n<table><tr><th>model</th><th>answer</th><th>read as</th></tr>\n{rows}"
        f"</table>\n{note}</section>\n"
    )


def _right(found: Found, number: int) -> str:
    return ' class="right"' if found["target"] == str(number) else ""


def _row(label: str, found: Found, letters: Sequence[str]) -> str:
    replies = [asked["reply"] for asked in found["requests"] if asked["reply"] is not None]
    written = found["response"] or "\n".join(one["text"] for one in replies if one["text"])
    outcome = found["outcome"] or "unscored"
    read = [_chosen(found, letters), outcome]
    read += [f"{found['status']}: {found['reason']}"] if found["status"] != "ok" else []
    rule = f"<br><span class='rule'>{_escape(found['rule'])}</span>" if found["rule"] else ""
    told, shown = _escape(", ".join(filter(None, read))), _escape(written or _numbers(found))
    return (
        f"<tr><th>{_escape(label)}</th><td class='answer'>{shown}</td>"
        f"<td class='{_escape(outcome)}'>{told}{rule}</td></tr>\n"
    )


def _chosen(found: Found, letters: Sequence[str]) -> str:
    """Returns the letter that scores above all others; empty where there is none."""
    rows = found["scores"]
    values = rows[0] if rows is not None and len(rows) == 1 else []
    if not values or any(value is None for value in values) or values.count(max(values)) > 1:
        return ""
    return letters[values.index(max(values))]


def _numbers(found: Found) -> str:
    """Returns the scores of a run that wrote nothing."""
    rows = found["scores"] or []
    return "; ".join(" ".join("-" if v is None else f"{v:.4g}" for v in row) for row in rows)


def _strips(found: Sequence[tuple[str, Found]]) -> str:
    """Returns the frames that were shown, each strip once, with the runs that saw it."""
    seen: dict[tuple[str, ...], list[str]] = {}
    for label, of in found:
        paths = tuple(clip["strip"] for clip in of["clips"] if clip["strip"])
        if paths:
            content = tuple(base64.b64encode(Path(p).read_bytes()).decode() for p in paths)
            seen.setdefault(content, []).append(label)
    pictures = []
    for content, labels in seen.items():
        whose = _escape(f"frames shown to {', '.join(labels)}")
        pictures += [f'<img alt="{whose}" src="data:image/jpeg;base64,{one}">\n' for one in content]
        pictures.append(f"<p class='rule'>{whose}</p>\n")
    return "".join(pictures)


def _escape(text: str) -> str:
    """Escapes for HTML; characters that cannot be seen are written out, line breaks are kept."""
    shown = "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text
    )
    return html.escape(shown)
