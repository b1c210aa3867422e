"""A drawing as inline SVG: it follows the page's colours, light or dark, through its classes."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

from vbench.results.text import visible

LABEL_WIDTH = 6.3
"""Of a character at 12 px, about, in pixels."""


class Canvas:
    """An SVG to draw in.

    Args:
        width: In pixels of its own.
        height: Likewise.
        title: What a screen reader says.
    """

    def __init__(self, width: float, height: float, title: str) -> None:
        self.width, self.height = width, height
        box = f"0 0 {width:g} {height:g}"
        self._root = Element("svg", {"viewBox": box, "role": "img", "width": f"{width:g}"})
        self._root.set("aria-label", visible(title))

    def line(self, x1: float, y1: float, x2: float, y2: float, style: str) -> Element:
        """Draws a line; `style` names classes of the page's style sheet."""
        ends = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
        return self._add("line", style, ends)

    def rect(self, x: float, y: float, width: float, height: float, style: str) -> Element:
        """Draws a filled rectangle."""
        return self._add("rect", style, {"x": x, "y": y, "width": width, "height": height})

    def dot(self, x: float, y: float, radius: float, style: str) -> Element:
        """Draws a filled circle."""
        return self._add("circle", style, {"cx": x, "cy": y, "r": radius})

    def path(self, points: Sequence[tuple[float, float]], style: str) -> Element:
        """Draws a line through points."""
        element = self._add("polyline", style, {})
        element.set("points", " ".join(f"{x:.1f},{y:.1f}" for x, y in points))
        return element

    def text(self, x: float, y: float, text: str, style: str = "") -> None:
        """Writes text with its baseline at y; `end` and `middle` among the styles align it."""
        self._add("text", style, {"x": x, "y": y}).text = visible(text)

    def markup(self) -> str:
        """Returns the SVG, with every text escaped."""
        return tostring(self._root, encoding="unicode")

    def _add(self, tag: str, style: str, numbers: dict[str, float]) -> Element:
        element = SubElement(self._root, tag, {k: f"{v:.1f}" for k, v in numbers.items()})
        if style:
            element.set("class", style)
        return element


def tip(element: Element, text: str) -> None:
    """Says more about an element when the mouse rests on it."""
    SubElement(element, "title").text = visible(text)


def fitted(text: str, width: float) -> str:
    """Cuts a label to a width in pixels.

    >>> fitted("a_very_long_name_of_a_test", 80)
    'a_very_long…'
    """
    most = max(4, int(width / LABEL_WIDTH))
    return text if len(text) <= most else text[: most - 1] + "…"


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Returns round numbers within a range, about so many.

    >>> ticks(0, 0.93)
    [0.0, 0.2, 0.4, 0.6, 0.8]
    """
    if not high > low:
        return [low]
    raw = (high - low) / about
    power = 10.0 ** len(f"{int(raw)}") / 10 if raw >= 1 else 1.0
    while power > raw:
        power /= 10
    step = min((power * f for f in (1, 2, 5, 10)), key=lambda s: abs(s - raw))
    first = int(low / step) - 1
    places = range(first, first + 4 * about + 4)
    return [round(k * step, 10) for k in places if low - 1e-9 <= k * step <= high + 1e-9]
