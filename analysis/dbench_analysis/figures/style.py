"""The look of every figure: colours by communication, line styles by run, axes with space for
zero."""

import itertools
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter
from matplotlib.transforms import offset_copy

from ..basics.formatting import counted
from ..naming import differences, names
from ..quantities import series
from ..reading.metrics import Metric
from ..reading.run import Run
from . import bands, page_layout

# Okabe and Ito's colour-blind safe palette; the five implementations always have the same ones
FIXED = {
    "C_complete": "#000000",
    "D_complete": "#0072B2",
    "D_ring": "#D55E00",
    "D_torus": "#009E73",
    "D_exponential": "#CC79A7",
    "one_peer_exponential": "#56B4E9",
    "ring_lattice": "#E69F00",
    "erdos_renyi": "#8C6D1F",
    "star": "#7F7F7F",
    "ada": "#6A3D9A",
}
OTHERS = ("#6A3D9A", "#8C6D1F", "#56B4E9", "#E69F00", "#7F7F7F", "#B15928", "#1B7837", "#A50F15")
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)), (0, (9, 2)),
          (0, (3, 1, 1, 1, 1, 1)))
MARKERS = "osD^vPX*<>"

CROWD = 24  # more settings than this: the legend names only their communications

SETTINGS = {
    "font.family": "DejaVu Sans", "font.size": 9, "axes.titlesize": 10, "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
    "grid.color": "#E4E4E4", "grid.linewidth": 0.6,
    "axes.axisbelow": True, "legend.frameon": False, "legend.fontsize": 8.5,
    "legend.handlelength": 3, "lines.linewidth": 1.6, "svg.fonttype": "path",
    "pdf.fonttype": 42, "ps.fonttype": 42,  # TrueType, because journals refuse Type 3

    "svg.hashsalt": "dbench", "figure.facecolor": "white", "savefig.facecolor": "white",
    "axes.edgecolor": "#666666",
    "xtick.color": "#444444", "ytick.color": "#444444",
}


@dataclass(frozen=True)
class Look:
    """The appearance of one run, the same in every figure."""

    label: str
    colour: str
    dash: object = "-"
    marker: str = "o"


@dataclass(frozen=True)
class Setting:
    """Runs that are drawn as one line because they differ only in the seed, and their look."""

    runs: list[Run]
    look: Look

    def over(self, frame: Callable[..., pd.DataFrame], *others, **named) -> pd.DataFrame:
        """Return `series.over_seeds` of frame(run, ...) of each run, from the first iteration that
        the page shows. COLUMN_low and COLUMN_high are the ends of the page's band."""
        frames = [frame(run, *others, **named) for run in self.runs]
        start = page_layout.shown_start()
        if start:
            frames = [one[one["iteration"] >= start] for one in frames]
        return bands.over_seeds(frames, page_layout.band())


def settings(runs: list[Run], each: bool = False, full: bool = False) -> list[Setting]:
    """Return the runs by setting, labelled by their differences and the number of seeds; if `each`
    is true, every run is a setting. `full`: the labels stand in no legend, so that those of many
    settings are not shortened."""
    groups = [[run] for run in runs] if each else differences.by_setting(runs)
    several = any(len(group) > 1 for group in groups)
    if len(groups) > CROWD and not full:  # only a legend of communications remains readable
        firsts = [group[0] for group in groups]
        texts = [renamed(names.marked(name)) for name in differences.communications(firsts)]
        return [Setting(group, replace(look, label=text))
                for group, look, text in zip(groups, looks(firsts), texts)]
    return [Setting(group, replace(look, label=seeds(renamed(look.label), len(group)) if several
                                   else renamed(look.label)))
            for group, look in zip(groups, looks([group[0] for group in groups]))]


WORST_TO_BEST = "median of local models (bar: worst to best, all seeds)"


def entries(runs: list[Run]) -> list[str]:
    """Return the legend entries that `renamed` can replace."""
    return list(dict.fromkeys(text for texts in (differences.communications(runs),
                                                 map(names.communication, runs),
                                                 differences.setting_labels(runs))
                              for text in texts))


def band_over_seeds(settings: Sequence[Setting]) -> str:
    """Return in words what bands over seeds show; "" if there are none."""
    several = any(len(setting.runs) > 1 for setting in settings)
    return page_layout.BANDS[page_layout.band()] if several else ""


def seeds(label: str, count: int) -> str:
    """Return a label with the number of seeds."""
    return f"{label} ({counted(count, 'seed')})"


def looks(runs: list[Run]) -> list[Look]:
    """Return a colour for each communication, or for each run if all communicate alike; the line
    style distinguishes runs of one communication."""
    keys = [names.implementation(run) for run in runs]
    if len(set(keys)) == 1 and len(runs) > 1:
        keys = [f"{key} {i}" for i, key in enumerate(keys)]
        colours = dict(zip(keys, itertools.cycle(FIXED.values())))
    else:
        colours = colours_of(keys)
    order, seen = list(colours), dict.fromkeys(keys, -1)
    found = []
    for key, label in zip(keys, differences.labels(runs)):
        nth = seen[key] = seen[key] + 1
        found.append(Look(label, colours[key], DASHES[nth % len(DASHES)],
                          MARKERS[(order.index(key) + nth) % len(MARKERS)]))
    return found


def colours_of(implementations: list[str]) -> dict[str, str]:
    """Return one colour for each communication (see `names.implementation`)."""
    free = itertools.cycle([c for c in OTHERS if c not in {FIXED.get(k) for k in implementations}])
    return {key: FIXED[key] if key in FIXED else next(free)
            for key in dict.fromkeys(implementations)}


panels, font_size, renamed = page_layout.panels, page_layout.font_size, page_layout.renamed
wrapped, figure_width = page_layout.wrapped, page_layout.figure_width
has_page_width, rows_height = page_layout.has_page_width, page_layout.rows_height


def legend(figure: Figure, axes, runs: int, banded: Sequence[Setting] = ()):
    """Draw one legend below the figure, with an entry for each label of the axes, and one that says
    what the bands over the seeds of the settings `banded` show."""
    handles: dict[str, object] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels()):
            handles.setdefault(label, handle)
    if band_over_seeds(banded):
        handles[f"band: {band_over_seeds(banded)}"] = Patch(color="#555555", alpha=0.2, linewidth=0)
    if handles:
        page_layout.legend(figure, handles)


def widths(curves: list[np.ndarray], width: float) -> list[float]:
    """Return line widths at which curves over the same x remain visible below later ones."""
    every = positive(np.concatenate(curves)) if curves else np.empty(0)
    near = 0.015 * (np.ptp(every) if len(every) else 0) + 1e-12

    def same(a, b):
        return len(a) == len(b) > 0 and np.mean(np.abs(a - b) <= near) > 0.7

    above = [sum(same(curve, later) for later in curves[i + 1 :]) for i, curve in enumerate(curves)]
    step = min(2.2, 5 / max([1, *above]))  # the lowest of many is no broader than 5 points more
    return [width + step * count for count in above]


def separated(axis, x, y) -> list:
    """Return a transform for each point, which moves points apart that would hide each other. x is
    given as the axis shows it (its logarithm on a logarithmic axis)."""
    places = np.array([x, y], dtype=float).T.reshape(-1, 2)
    extent = series.nan_safe(np.ptp, np.nan_to_num(places), axis=0) if len(places) else np.ones(2)
    shown = places / np.where(extent > 0, extent, 1)
    moved = []
    for i, point in enumerate(shown):
        like = [j for j, other in enumerate(shown) if np.all(np.abs(other - point) < (0.02, 0.04))]
        step = like.index(i) - (len(like) - 1) / 2 if i in like else 0
        moved.append(offset_copy(axis.transData, axis.figure, x=9 * step, units="points"))
    return moved


def include(axis, x, y):
    """Extend the axis limits to these values, because marks that were moved do not count."""
    x, y = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(y, dtype=float))
    use = np.isfinite(x) & np.isfinite(y)
    axis.update_datalim(np.array([x[use], y[use]]).T)
    axis.autoscale_view()


def bars(value, low, high) -> np.ndarray:
    """Return error bars [2, points] from low to high around a value."""
    value, low, high = (np.asarray(v, dtype=float) for v in (value, low, high))
    with np.errstate(invalid="ignore"):
        return np.maximum(np.nan_to_num(np.array([value - low, high - value])), 0)


def percent_axis(axis):
    """Show y in per cent."""
    axis.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * v:g} %"))


def loss_axis(axis, which: str = "y"):
    """Make an axis logarithmic with plain numbers."""
    getattr(axis, f"set_{which}scale")("log")
    plain_logarithm(getattr(axis, f"{which}axis"))


def plain_logarithm(scale):
    """Give a logarithmic scale plain numbers: 1, 2 and 5 of each decade."""
    scale.set_major_locator(LogLocator(subs=(1, 2, 5)))
    scale.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    scale.set_minor_formatter(NullFormatter())


def metric_axis(axis, metric: Metric):
    """Show y in per cent, logarithmically if low values are better, or plainly."""
    if metric.unit == "fraction":
        percent_axis(axis)
    elif metric.low:
        loss_axis(axis)


def empty_panel(axis, text: str):
    """Make an empty panel that says why it is empty."""
    axis.text(0.5, 0.5, textwrap.fill(text, 26), ha="center", va="center",
              transform=axis.transAxes, color="#777777")
    axis.set_xticks([])
    axis.set_yticks([])
    axis.grid(False)


def positive(values) -> np.ndarray:
    """Return the finite positive values."""
    values = np.asarray(values, dtype=float)
    return values[np.isfinite(values) & (values > 0)]


class Logarithmic:
    """A logarithmic scale on which zeros are drawn a decade below the least value."""

    def __init__(self, arrays):
        found = np.concatenate([positive(a) for a in arrays] or [np.empty(0)])
        every = np.concatenate([np.asarray(a, dtype=float).ravel() for a in arrays]
                               or [np.empty(0)])
        self.has_zero = bool(np.any(every == 0))
        self.empty = not len(found)
        low = found.min() if len(found) else 1.0
        self.floor = 10 ** (np.floor(np.log10(low)) - 0.6)

    def place(self, values) -> np.ndarray:
        """Return values as they are drawn: zeros at the floor, NaN for values that are not
        finite."""
        values = np.asarray(values, dtype=float)
        return np.where(values == 0, self.floor, np.where(np.isfinite(values), values, np.nan))

    def apply(self, axis, which: str):
        """Make x or y of `axis` logarithmic, with a tick "0" for zeros."""
        getattr(axis, f"set_{which}scale")("log")
        scale = getattr(axis, f"{which}axis")
        if not self.has_zero:
            return
        low, high = getattr(axis, f"get_{which}lim")()
        high = max(high, self.floor * 100)
        low = self.floor / 10**0.3
        decades = [10.0**k for k in range(int(np.ceil(np.log10(self.floor * 2))),
                                          int(np.floor(np.log10(high))) + 1)]
        decades = [] if self.empty else decades[:: max(1, len(decades) // 6)]
        scale.set_ticks([self.floor, *decades])
        finer = ([k * d for d in decades for k in range(2, 10) if k * d < high] if len(decades) > 1
                 else [])
        scale.set_minor_locator(FixedLocator(finer))
        scale.set_major_formatter(FuncFormatter(lambda v, _: "0" if v <= self.floor * 1.01
                                                else f"$10^{{{round(np.log10(v))}}}$"))
        scale.set_minor_formatter(NullFormatter())
        getattr(axis, f"set_{which}lim")(low, high)
        line = axis.axvline if which == "x" else axis.axhline
        line(self.floor * 10**0.3, color="#BBBBBB", linewidth=0.8, linestyle=(0, (2, 2)))
