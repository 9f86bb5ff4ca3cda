"""Figures for a page of given width: text of 8 points, panels below each other where they would be
narrow, names as the reader is to see them; and what every figure says of its axes."""

import contextlib
import textwrap
from contextvars import ContextVar
from dataclasses import dataclass, field

import matplotlib
from matplotlib.figure import Figure

POINTS = 8  # of all text on a page
LETTER = 0.6 * POINTS / 72  # inches that a letter of that size takes, on average
NARROW = 2.6  # inches below which panels stand below each other
SIZES = dict.fromkeys(("font.size", "axes.titlesize", "axes.labelsize", "legend.fontsize",
                       "xtick.labelsize", "ytick.labelsize", "figure.titlesize"), POINTS)


@dataclass(frozen=True)
class Page:
    """width: of a figure, in inches (None: as each figure likes); called: other names for entries
    of the legends."""

    width: float | None = None
    called: dict[str, str] = field(default_factory=dict)


ANYWHERE = Page()
_page: ContextVar[Page] = ContextVar("page", default=ANYWHERE)


@contextlib.contextmanager
def on(page: Page, settings: dict):
    """Figures are drawn for this page, under these settings of Matplotlib."""
    before = _page.set(page)
    try:
        with matplotlib.rc_context(settings | (SIZES if page.width else {})):
            yield
    finally:
        _page.reset(before)


def small(points: float) -> float:
    """A size of text below the usual one, which a page does not have."""
    return POINTS if _page.get().width else points


def wide(usual: float) -> float:
    """The width of a figure in inches."""
    return _page.get().width or usual


def bound() -> bool:
    """Whether figures are for a page of given width."""
    return _page.get().width is not None


def folded(text: str, letters: int) -> str:
    """A label in lines of so many letters, on a page."""
    return textwrap.fill(text, letters) if _page.get().width else text


def panels(rows: int, columns: int, width: float, height: float, least: float = 0.0, **how):
    """A figure and its axes [rows][columns], a panel of `least` inches of height or more; room for
    legends is made by the layout engine."""
    page = _page.get().width
    if page is None:
        figure = Figure(figsize=(width, height), layout="constrained")
        return figure, figure.subplots(rows, columns, squeeze=False, **how)
    stacked = columns > 1 and page / columns < NARROW
    down, across = (rows * columns, 1) if stacked else (rows, columns)
    shrunk = max(0.5, (page / across) / (width / columns)) * (0.85 if stacked else 1)
    figure = Figure(figsize=(page, down * max(least, height / rows * shrunk)),
                    layout="constrained")
    if stacked:
        how.pop("width_ratios", None)
    return figure, figure.subplots(down, across, squeeze=False, **how).reshape(rows, columns)


def legend(figure: Figure, handles: dict[str, object]):
    """One legend below the figure, in as many columns as its words leave room for."""
    texts, page = list(handles), _page.get().width
    longest = max(map(len, texts))
    if page:
        room = int((page - 0.6) / LETTER)
        texts = [textwrap.fill(text, room) for text in texts]
        columns = max(1, min(4, int(page / (min(longest, room) * LETTER + 0.6))))
    else:
        columns = 1 if longest > 45 else 2 if longest > 30 else min(4, len(texts))
    lines = sum(1 + text.count("\n") for text in texts) / columns
    spare = 0 if page else 6
    if lines > spare:  # a long legend must not eat the panels
        figure.set_figheight(figure.get_figheight() + 0.17 * (lines - spare))
    figure.legend(handles.values(), texts, loc="outside lower center", ncols=columns)


def finish(figure: Figure):
    """Logarithmic axes say that they are; on a page, words stay in their panels."""
    page = _page.get().width
    for axis in figure.axes:
        for which in "xy":
            label = getattr(axis, f"get_{which}label")()
            scale = getattr(axis, f"get_{which}scale")()
            if label and "log" not in label and scale in ("log", "symlog"):
                getattr(axis, f"set_{which}label")(f"{label}, log scale")
        if axis.get_subplotspec() is None:
            continue
        grid = axis.get_subplotspec().get_gridspec()
        wide = int((figure.get_figwidth() / grid.ncols - (0.3 if page else 1.0)) / LETTER)
        axis.set_xlabel(textwrap.fill(axis.get_xlabel(), wide))
        if page:
            high = int((figure.get_figheight() / grid.nrows - 0.3) / LETTER)
            axis.set_ylabel(textwrap.fill(axis.get_ylabel(), max(20, high)))
            axis.set_title("\n".join(textwrap.fill(line, wide)
                                     for line in axis.get_title("left").split("\n")))
    if page and figure.get_suptitle():
        lines = figure.get_suptitle().split("\n")
        figure.suptitle("\n".join(textwrap.fill(line, int(page / LETTER)) for line in lines),
                        x=0.01, ha="left", fontsize=POINTS)


def called(text: str) -> str:
    """An entry of a legend under the name that was asked for, of all of it or of its beginning."""
    names = _page.get().called
    for name in sorted(names, key=len, reverse=True):
        if text == name or text.startswith((f"{name}, ", f"{name} (")):
            return names[name] + text[len(name):]
    return text
