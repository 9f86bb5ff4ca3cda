"""Layout of figures for a page of given width: text of 8 points, panels below each other if they
would be narrow, other names in the legends; and axis labels of every figure."""

import contextlib
import textwrap
from contextvars import ContextVar
from dataclasses import dataclass, field

import matplotlib
from matplotlib.figure import Figure

POINTS = 8  # size of all text on a page
LETTER = 0.6 * POINTS / 72  # average width in inches of a character of that size
NARROW = 2.6  # inches; narrower panels are placed below each other
SIZES = dict.fromkeys(("font.size", "axes.titlesize", "axes.labelsize", "legend.fontsize",
                       "xtick.labelsize", "ytick.labelsize", "figure.titlesize"), POINTS)


@dataclass(frozen=True)
class Page:
    """A page. width: of a figure in inches (None: each figure's usual width); called: other names
    for entries of the legends."""

    width: float | None = None
    called: dict[str, str] = field(default_factory=dict)


ANYWHERE = Page()
_page: ContextVar[Page] = ContextVar("page", default=ANYWHERE)


@contextlib.contextmanager
def on(page: Page, settings: dict):
    """Return a context in which figures are drawn for this page, with these settings of
    Matplotlib. All other settings are Matplotlib's own defaults: the user's matplotlibrc must not
    change a figure, or fail where LaTeX is missing."""
    before = _page.set(page)
    try:
        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(settings | (SIZES if page.width else {}))
            yield
    finally:
        _page.reset(before)


def font_size(points: float) -> float:
    """Return a font size below the usual one; on a page, text has one size."""
    return POINTS if _page.get().width else points


def figure_width(usual: float) -> float:
    """Return the width of a figure in inches."""
    return _page.get().width or usual


def has_page_width() -> bool:
    """Return whether figures are for a page of given width."""
    return _page.get().width is not None


def wrapped(text: str, letters: int) -> str:
    """Return a label in lines of `letters` characters if figures are for a page."""
    return textwrap.fill(text, letters) if _page.get().width else text


def panels(rows: int, columns: int, width: float, height: float, least: float = 0.0, **how):
    """Return a figure and its axes [rows][columns]. A panel is at least `least` inches high; the
    layout engine reserves space for legends."""
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
    """Draw one legend below the figure, in as many columns as fit."""
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
    if lines > spare:  # a long legend must not take the space of the panels
        figure.set_figheight(figure.get_figheight() + 0.17 * (lines - spare))
    figure.legend(handles.values(), texts, loc="outside lower center", ncols=columns)


def finish(figure: Figure):
    """Mark logarithmic axes in their labels; on a page, wrap words to the width of their panels."""
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


def renamed(text: str) -> str:
    """Return an entry of a legend under the requested name, which may replace all of it or its
    beginning."""
    names = _page.get().called
    for name in sorted(names, key=len, reverse=True):
        if text == name or text.startswith((f"{name}, ", f"{name} (")):
            return names[name] + text[len(name):]
    return text
