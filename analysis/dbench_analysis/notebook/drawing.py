"""Figures and reports for notebooks: `da.plot`, `da.report`. This module loads Matplotlib."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from ..basics.errors import AnalysisError
from ..basics.formatting import counted
from ..figures import page_values, style
from ..figures.drawing import drawn, save
from ..figures.kinds import KINDS
from ..figures.page_layout import ANYWHERE, BANDS, Page
from ..pages import html
from ..pages.report import document
from . import selection
from .selection import RunSource, unknown

Limits = tuple[float | None, float | None] | None


def plot(source: RunSource, kind: str = "variance-accuracy", *, each: bool = False,
         where: str | Sequence[str] = (), width: float | str | None = None,
         height: float | str | None = None, label: Mapping[str, str] | None = None,
         band: str = "minmax", panel: str | None = None, xlim: Limits = None, ylim: Limits = None,
         from_iteration: int = 0, **options: Any) -> Figure | list[Figure]:
    """Return a figure of `dbench-analyze plot`; show it, change it, or save it (`savefig`).

    each            draw single runs; without it, runs that differ in nothing but the seed are one
                    line
    width, height   of the figure in inches, or texts such as "84mm"; with a width, text has 8
                    points
    label           {entry of the legend: another name}
    band            bands over seeds: "std", "ci" (95 % t interval), "minmax" or "none"
    panel           words of the title of the only panel that is drawn
    xlim, ylim      (low, high), of which one may be None
    from_iteration  the first iteration that curves show
    options         the options of the kind: measure, window, x

    Several runs give one figure, except for a kind that draws each setting separately ("tensors"):
    it gives a list of figures.
    """
    if kind not in KINDS:
        raise unknown("figure", kind, KINDS)
    row = KINDS[kind]
    for name in options.keys() - {*row.options}:
        raise AnalysisError(f"plot, {name}", f"the figure {kind} has no such option",
                            f"it takes {', '.join(sorted(row.options)) or 'none'}")
    if band not in BANDS:
        raise unknown("band", band, BANDS)
    for name, takes, given in (("band", row.bands, band != "minmax"),
                               ("from_iteration", row.curves, from_iteration != 0)):
        if given and not takes:
            raise AnalysisError(f"plot, {name}", f"the figure {kind} has no such option",
                                "leave it out")
    runs = list(selection.opened(source, where))
    names = page_values.labels_by_name([f"{name}={text}" for name, text in (label or {}).items()],
                                       style.entries(runs), "label")
    page = Page(None if width is None else page_values.inches(width), names,
                None if height is None else page_values.inches(height, "height"), panel,
                (None, None) if xlim is None else page_values.limits(xlim, "xlim"),
                (None, None) if ylim is None else page_values.limits(ylim, "ylim"),
                from_iteration, band)
    figures = [figure for _, figure in drawn(row, runs, each, page, **options)]
    lost = row.left_out(runs, each) if row.left_out else ""
    if lost:
        warnings.warn(lost, stacklevel=2)
    for figure in figures:  # a notebook shows them even if pyplot was never imported
        figure._repr_png_ = lambda figure=figure: picture(figure, page)
    return figures if row.per_setting and len(figures) > 1 else figures[0]


def picture(figure: Figure, page: Page = ANYWHERE) -> bytes:
    """Return a figure as PNG."""
    stream = io.BytesIO()
    save(figure, stream, "png", 100, page)
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
