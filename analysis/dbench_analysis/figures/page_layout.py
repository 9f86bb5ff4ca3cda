"""Layout of figures for a page of given width: text of 8 points, panels below each other if they
would be narrow, other names in the legends; and axis labels of every figure."""

import contextlib
import textwrap
from contextvars import ContextVar
from dataclasses import dataclass, field

import matplotlib
from matplotlib.figure import Figure
from matplotlib.text import Text

from ..basics.errors import AnalysisError

POINTS = 8  # size of all text on a page
LETTER = 0.6 * POINTS / 72  # average width in inches of a character of that size
NARROW = 2.6  # inches; narrower panels are placed below each other
SIZES = dict.fromkeys(("font.size", "axes.titlesize", "axes.labelsize", "legend.fontsize",
                       "xtick.labelsize", "ytick.labelsize", "figure.titlesize"), POINTS)


@dataclass(frozen=True)
class Page:
    """A page, and what of a figure it shows.

    width, height   of a figure in inches (None: each figure's usual size)
    called          other names for entries of the legends
    panel           words of the title of the only panel that is drawn
    xlim, ylim      ends of the axes; None leaves an end as it is
    start           the first iteration that curves show
    band            what bands over seeds show: a key of BANDS
    """

    width: float | None = None
    called: dict[str, str] = field(default_factory=dict)
    height: float | None = None
    panel: str | None = None
    xlim: tuple[float | None, float | None] = (None, None)
    ylim: tuple[float | None, float | None] = (None, None)
    start: int = 0
    band: str = "minmax"


# in words, what a band over seeds shows
BANDS = {"minmax": "lowest to highest seed", "std": "mean ± standard deviation over seeds",
         "ci": "95 % t interval of the mean over seeds", "none": ""}
ALONE = 4.5  # inches, width of a panel that is drawn alone


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


def shown_start() -> int:
    """Return the first iteration that curves show."""
    return _page.get().start


def band() -> str:
    """Return the key in BANDS of what bands over seeds show."""
    return _page.get().band


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


def rows_height(labels: list[str]) -> float:
    """Return the height in inches of rows of a panel with these labels, one below the other."""
    lines = max((1 + label.count("\n") for label in labels), default=1)
    return len(labels) * max(0.36, 0.16 * lines + 0.06)


def panels(rows: int, columns: int, width: float, height: float, least: float = 0.0, **how):
    """Return a figure and its axes [rows][columns]. A panel is at least `least` inches high; the
    layout engine reserves space for legends."""
    page, alone = _page.get().width, _page.get().panel is not None
    if page is None and alone:  # every panel is laid out in the width of the one that remains
        page = ALONE
    if page is None:
        figure = Figure(figsize=(width, height), layout="constrained")
        return figure, figure.subplots(rows, columns, squeeze=False, **how)
    stacked = columns > 1 and (alone or page / columns < NARROW)
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
    if page is None and _page.get().panel is not None:
        page = ALONE
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


def limit(axis, which: str, ends: tuple[float | None, float | None]):
    """Set the ends of an axis that are not None."""
    low, high = ends
    if low is None and high is None:
        return
    if getattr(axis, f"get_{which}scale")() == "log" and low is not None and low <= 0:
        raise AnalysisError(f"{which}lim {low:g}", "is not on the logarithmic axis",
                            "give a number above 0, or leave this end out")
    getattr(axis, f"set_{which}lim")(low, high)


def title_of(axis) -> str:
    """Return the title of a panel in one line; its y label if it has none."""
    title = axis.get_title("left") or axis.get_title() or axis.get_ylabel()
    return " ".join(title.split())


def keep_panel(figure: Figure, wanted: str):
    """Leave one panel of a figure: the one whose title contains these words."""
    shown = [axis for axis in figure.axes if axis.get_subplotspec() is not None]
    titles = [title_of(axis) for axis in shown]
    words = wanted.casefold()
    found = ([axis for axis, title in zip(shown, titles) if title.casefold() == words]
             or [axis for axis, title in zip(shown, titles) if words in title.casefold()])
    if len(found) != 1:
        raise AnalysisError(f"panel '{wanted}'", "is in the titles of several panels" if found
                            else "is in no panel's title",
                            "the panels are: " + "; ".join(titles))
    kept, = found
    grid = kept.get_subplotspec().get_gridspec()
    lines = sum(1 + text.get_text().count("\n") for legend in figure.legends
                for text in legend.get_texts())
    below = 0.17 * lines / max([1, *(legend._ncols for legend in figure.legends)])
    column = kept.get_subplotspec().colspan.start
    for axis in shown:
        if axis is not kept:
            if not kept.get_xlabel() and axis.get_subplotspec().colspan.start == column:
                kept.set_xlabel(axis.get_xlabel())
            axis.remove()
    for axis in list(figure.axes):  # scales of colours
        if axis is not kept and axis.get_subplotspec() is None:
            colours = getattr(axis, "_colorbar", None)
            if colours is None or colours.mappable.axes is not kept:
                axis.remove()
    kept.tick_params(labelbottom=True, labelleft=True)
    height = figure.get_figheight()
    figure.set_figheight(max(2.0, (height - below) / grid.nrows + below))
    kept.set_subplotspec(figure.add_gridspec(1, 1)[0])


def finish(figure: Figure):
    """Mark logarithmic axes in their labels; on a page, wrap words to the width of their panels."""
    here = _page.get()
    page = here.width
    if here.panel is not None:
        keep_panel(figure, here.panel)
    for axis in figure.axes:
        if axis.get_subplotspec() is not None:
            limit(axis, "x", here.xlim)
            limit(axis, "y", here.ylim)
    if here.height:
        figure.set_figheight(here.height)
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
            retitle(axis, wide)
    if page:
        fit(figure)
    if page and figure.get_suptitle():
        lines = figure.get_suptitle().split("\n")
        figure.suptitle("\n".join(textwrap.fill(line, int(page / LETTER)) for line in lines),
                        x=0.01, ha="left", fontsize=POINTS)


def fit(figure: Figure):
    """Wrap the labels of axes that are longer than their panels, as the layout places them. A label
    is centred on its panel, which long tick labels make narrow and move aside."""
    figure.draw_without_rendering()
    ends = figure.get_size_inches() * figure.dpi
    for axis in figure.axes:
        box = axis.get_window_extent()
        for which, low, high, end in (("x", box.x0, box.x1, ends[0]),
                                      ("y", box.y0, box.y1, ends[1])):
            middle = (low + high) / 2
            inside = 2 * min(middle, end - middle)
            alone = which == "x" and columns_of(axis) == 1
            longest = inside if alone else min(inside, high - low)
            letters = max(8, int(longest / figure.dpi / LETTER))
            words = " ".join(getattr(axis, f"get_{which}label")().split())
            getattr(axis, f"set_{which}label")(textwrap.fill(words, letters))
        room = min(ends[0] - box.x0, ends[0] / columns_of(axis))
        retitle(axis, int(room / figure.dpi / (1.1 * LETTER)))  # bold


def columns_of(axis) -> int:
    """Return the number of columns of panels next to each other."""
    spec = axis.get_subplotspec()
    return 1 if spec is None else spec.get_gridspec().ncols


def retitle(axis, letters: int):
    """Wrap the lines of a panel's title, and keep its distance from the panel."""
    title = axis.get_title("left")
    for text in axis.get_children():
        if title and isinstance(text, Text) and text.get_text() == title:
            text.set_text("\n".join(textwrap.fill(line, letters) for line in title.split("\n")))


def renamed(text: str) -> str:
    """Return an entry of a legend under the requested name, which may replace all of it or its
    beginning."""
    names = _page.get().called
    for name in sorted(names, key=len, reverse=True):
        if text == name or text.startswith((f"{name}, ", f"{name} (")):
            return names[name] + text[len(name):]
    return text
