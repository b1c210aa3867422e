"""Puts a page together: templates, style, scripts and data in one file.

Nothing of a dataset is ever read as HTML. Templates escape what they show; what scripts show is
JSON without a single `<`, put into the page as text; and the page's own policy (CSP) lets only the
scripts run that vbench wrote, named by their hashes, and loads nothing but pictures.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vbench import __version__
from vbench.results.store import cannot_write_out, write_atomically
from vbench.results.text import visible

if TYPE_CHECKING:
    from markupsafe import Markup

_HERE = Path(__file__).parent / "templates"
_SCRIPTS = ("texts", "data", "filters", "list", "detail", "answers", "app")
"""In the order in which they follow one another in the page; one scope holds them all."""


def page_file(out: str | None, default: Path) -> Path:
    """Returns where a page is written to.

    Args:
        out: A folder, or the .html file itself; None: the default.
        default: A folder.

    >>> page_file("mine.html", Path("run")).name, page_file(None, Path("run")).name
    ('mine.html', 'report.html')
    """
    place = default if out is None else Path(out)
    return place if place.suffix in (".html", ".htm") else place / "report.html"


def write_page(
    path: Path, context: Mapping[str, Any], blocks: Iterable[tuple[str, object]]
) -> None:
    """Writes a report, atomically.

    Args:
        path: The file.
        context: What the template shows.
        blocks: Names and JSON values for the scripts; each is parsed when it is first needed.

    Raises:
        RunError: The disk is full or the folder cannot be written.
    """
    text = render(context, blocks)
    fill = partial(Path.write_text, data=text, encoding="utf-8")
    write_atomically(path, fill, cannot_write_out)


def render(context: Mapping[str, Any], blocks: Iterable[tuple[str, object]]) -> str:
    """Returns the page as text (see `write_page`)."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(visible=visible, percent=_percent)
    style, script = _style(), _script()
    return environment.get_template("report.html.j2").render(
        **context,
        version=__version__,
        style=Markup(style),  # noqa: S704 - our own files
        script=Markup(script),  # noqa: S704
        policy=_policy(style, script),
        blocks=[(name, as_json(value)) for name, value in blocks],
    )


def as_json(value: object) -> Markup:
    r"""Writes JSON that is safe inside a script element: ASCII, and free of `<`, `>` and `&`.

    >>> str(as_json({"text": "</script>"}))
    '{"text":"\\u003c/script\\u003e"}'
    """
    from markupsafe import Markup

    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for mark in "<>&":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return Markup(text)  # noqa: S704 - nothing in it can end the element


def _style() -> str:
    return "\n".join((_HERE / f"{name}.css").read_text("utf-8") for name in ("page", "browser"))


def _script() -> str:
    parts = [(_HERE / f"{name}.js").read_text("utf-8") for name in _SCRIPTS]
    return '(() => {\n"use strict";\n' + "\n".join(parts) + "})();\n"


def _policy(style: str, script: str) -> str:
    allowed = {
        "default-src": "'none'",
        "img-src": "'self' file:",
        "style-src": _hash(style),
        "script-src": _hash(script),
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{what} {source}" for what, source in allowed.items())


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.1f}"
