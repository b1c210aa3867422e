"""Fills in the datasheet of a built set from its report."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from string import Template
from typing import Any

import vbench

TEMPLATE = Path(__file__).with_name("datasheet.md")

_TEMPLATES = {
    "captioner": "by templates (one sentence a set of role fillers), in wooden English",
    "caption_errors": "Templates glue phrases together as annotators wrote them, so captions may "
    "be clumsy, true and false ones alike; a verb or manner lent from elsewhere may be odd.",
    "means": "No language model took part.",
    "cleaning": "",
    "raw": "",
    "llm_licence": "",
}

_LLM = {
    "captioner": "by the language model `{model}`, asked greedily with vbench's own prompts (hash "
    "`{prompts}`)",
    "caption_errors": "Language models leave things out and make things up; only what a program "
    "can check was checked.",
    "means": "Questions of the last build: {asked} asked, {recalled} answered by the journal.",
    "cleaning": "Answers that failed a check were sent back once, then rejected.",
    "raw": "Every answer of the language model is in the journal.",
    "llm_licence": "The terms of the language model hold for what it wrote.",
}


def datasheet(report: Mapping[str, Any]) -> str:
    """Returns the datasheet's text.

    Args:
        report: As `files.build_report` returns it.
    """
    settings = report["settings"]
    llm = settings["captions"] == "llm"
    known = {
        "model": (settings["model"] or {}).get("model"),
        "prompts": settings["prompts"],
        **(report["language_model"] or {}),
    }
    wording = {key: text.format_map(known) if llm else text for key, text in _words(llm).items()}
    drawn = settings["num_videos"]
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        wording,
        videos=report["videos"],
        events=report["events"],
        captions=report["captions"],
        counts=_counts(report["tests"]),
        selection=f"{drawn} drawn at random" if drawn else "all labelled videos of the split",
        seed=settings["seed"],
        missing=_missing(report),
        annotation=settings["annotation"],
        split=settings["split"],
        labels="\n".join(f"- `{name}`, SHA-256 `{of}`" for name, of in report["labels"].items()),
        version=vbench.__version__,
        date=f"{datetime.now(UTC):%Y-%m-%d}",
    )


def _words(llm: bool) -> Mapping[str, str]:
    return _LLM if llm else _TEMPLATES


def _counts(tests: Mapping[str, Mapping[str, int]]) -> str:
    rows = [f"| `{name}` | {of['videos']:,} | {of['tests']:,} |" for name, of in tests.items()]
    return "\n".join(["| test | videos | samples |", "|---|--:|--:|", *rows])


def _missing(report: Mapping[str, Any]) -> str:
    reasons = {**report["reading"], **report["building"]}
    rows = [f"- {of['count']:,}: {reason}" for reason, of in reasons.items()]
    return "\n".join(rows) or "- nothing"
