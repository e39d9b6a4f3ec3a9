"""Figures within a page: SVG as part of the document, or PNG if that is smaller."""

from __future__ import annotations

import base64
import html
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from fairport import figures
from fairport.figures.drawing import colours

if TYPE_CHECKING:
    from fairport.result import Result

_PAGE_COLOURS = {
    colours.INK: "ink",
    colours.MUTED: "muted",
    colours.GRID: "grid",
    colours.PAPER: "card",
    colours.BLUE: "blue",
}

_TITLE = re.compile(r"<title>(.*?)</title>\s*", re.DOTALL)

# Above this size a PNG is smaller, and easier for a browser.
SVG_LIMIT_BYTES = 300_000


def picture(result: Result, kind: str, folder: Path) -> str:
    """The figure of that kind as HTML, from the files in `folder`, or else drawn now."""
    svg = folder / f"{kind}.svg"
    # figures.saving may still be writing the PNG
    if svg.exists() and (svg.stat().st_size <= SVG_LIMIT_BYTES or svg.with_suffix(".png").exists()):
        return embed(svg, kind, _alternative(result, kind, svg))
    from fairport.figures.drawing import style

    with TemporaryDirectory() as drawn:
        svg = Path(drawn) / f"{kind}.svg"
        figure = figures.draw(result, kind)
        style.save(figure, svg)
        if svg.stat().st_size > SVG_LIMIT_BYTES:
            style.save(figure, svg.with_suffix(".png"))
        return embed(svg, kind, _alternative(result, kind, svg))


def _alternative(result: Result, kind: str, svg: Path) -> str:
    """The text for a reader who does not see the figure: what it shows, and of what it is."""
    title = _TITLE.search(svg.read_text(encoding="utf-8"))
    shown = f"{html.unescape(title.group(1))}. " if title else ""
    rates = ", ".join(
        f"{name} {one['goodput_bps_mean'] / 1e6:.3g}"
        for name, one in result.summary["classes"].items()
    )
    return f"{shown}{figures.kind(kind).SUBJECT}. Mean goodput by hop class in Mbit/s: {rates}."


def embed(svg: Path, kind: str, alternative: str) -> str:
    """The figure in these files as HTML; `alternative` is its description in words."""
    label = html.escape(alternative, quote=True)
    if svg.stat().st_size > SVG_LIMIT_BYTES:
        data = base64.b64encode(svg.with_suffix(".png").read_bytes()).decode("ascii")
        return f'<img src="data:image/png;base64,{data}" alt="{label}">'
    return _as_element(svg.read_text(encoding="utf-8"), kind, label)


def _as_element(document: str, kind: str, label: str) -> str:
    """An SVG document as an element: no prolog, ids of its own, the page's colours."""
    text = document[document.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    # browsers would show it beside the pointer, wherever in the figure that is
    text = _TITLE.sub("", text, count=1)
    # Coordinates are rounded to a hundredth of a point: half the size, and no visible difference.
    text = re.sub(r'\bd="[^"]*"', lambda path: re.sub(r"(?<=\.\d\d)\d+", "", path.group()), text)
    text = _without_styles(text)
    text = re.sub(r'\bid="', f'id="{kind}-', text)
    text = text.replace("url(#", f"url(#{kind}-").replace('href="#', f'href="#{kind}-')
    for colour, name in _PAGE_COLOURS.items():
        text = text.replace(colour, f"var(--{name})")
    view_box = re.search(r'viewBox="[^"]*"', text)
    assert view_box is not None, "matplotlib writes a viewBox"
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" {view_box.group()}'
    opening += ' xmlns:xlink="http://www.w3.org/1999/xlink"'
    return f'{opening} role="img" aria-label="{label}">{text[text.index(">") + 1 :]}'


def _without_styles(text: str) -> str:
    """With presentation attributes: the page's policy allows no style attributes."""
    text = re.sub(r"<style[^>]*>.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r'\sstyle="([^"]*)"', lambda found: _attributes(found.group(1)), text)
    return text.replace("<g ", '<g stroke-linejoin="round" stroke-linecap="butt" ', 1)


def _attributes(style: str) -> str:
    """Declarations of a style as attributes of the same names."""
    declarations = (part.partition(":") for part in style.split(";"))
    return "".join(f' {name.strip()}="{value.strip()}"' for name, _, value in declarations)
