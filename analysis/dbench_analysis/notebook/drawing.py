"""Figures and reports for notebooks: `da.plot`, `da.report`. This module loads Matplotlib."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from ..basics.errors import AnalysisError
from ..basics.formatting import counted
from ..figures.drawing import drawn, save
from ..figures.kinds import KINDS
from ..pages import html
from ..pages.report import document
from . import selection
from .selection import RunSource, unknown


def plot(source: RunSource, kind: str = "variance-accuracy", *, each: bool = False,
         where: str | Sequence[str] = (), **options: Any) -> Figure | list[Figure]:
    """Return a figure of `dbench-analyze plot`; show it, change it, or save it (`savefig`).

    each      draw single runs; without it, runs that differ in nothing but the seed are one line
    options   the options of the kind: measure, window, x

    Several runs give one figure, except for a kind that draws each setting separately ("tensors"):
    it gives a list of figures.
    """
    if kind not in KINDS:
        raise unknown("figure", kind, KINDS)
    row = KINDS[kind]
    for name in options.keys() - {*row.options}:
        raise AnalysisError(f"plot, {name}", f"the figure {kind} has no such option",
                            f"it takes {', '.join(sorted(row.options)) or 'none'}")
    figures = [figure for _, figure in drawn(row, list(selection.opened(source, where)), each,
                                             **options)]
    for figure in figures:  # a notebook shows them even if pyplot was never imported
        figure._repr_png_ = lambda figure=figure: picture(figure)
    return figures if row.per_setting and len(figures) > 1 else figures[0]


def picture(figure: Figure) -> bytes:
    """Return a figure as PNG."""
    stream = io.BytesIO()
    save(figure, stream, "png", 100)
    return stream.getvalue()


class Report:
    """A report as an HTML page. A notebook shows it in a frame; `save` writes it to a file."""

    def __init__(self, page: str, count: int):
        self.html, self.count = page, count

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page and return its path. The page needs no other file."""
        target = Path(path).expanduser()
        if target.suffix.lower() not in (".html", ".htm"):
            raise AnalysisError(target, "the page's name does not end in .html",
                                "such as report.html")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(self.html, encoding="utf-8")
        return target

    def __repr__(self) -> str:
        return (f"<Report of {counted(self.count, 'run')}, {len(self.html) / 1e6:.2g} MB: "
                "save(\"report.html\") writes it>")

    def _repr_html_(self) -> str:
        return (f'<iframe srcdoc="{html.text(self.html)}" style="width:100%;height:40em;'
                'border:1px solid #ccc"></iframe>')


def report(*sources: RunSource, title: str | None = None,
           where: str | Sequence[str] = ()) -> Report:
    """Return the page of `dbench-analyze report`: everything about one run, or several runs side
    by side."""
    opened = selection.opened(sources, where)
    return Report(document(list(opened), title), len(opened))
