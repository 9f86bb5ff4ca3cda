"""Published numbers with their tolerances, and ours with their intervals, one line for each
cell."""

import math
import textwrap

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from ..reproduction.report import Outcome
from ..reproduction.verdicts import NOT_REPRODUCED, REPRODUCED, UNDECIDED
from . import page_layout

COLOURS = {REPRODUCED: "#009E73", NOT_REPRODUCED: "#D55E00", UNDECIDED: "#0072B2"}
WIDTH = 42  # letters of a line of a cell's name
SPREAD = 30  # ratio of the largest to the smallest number above which the axis is logarithmic


def figure(outcome: Outcome) -> Figure:
    """Draw the numbers of all cells."""
    count = len(outcome.cells)
    names = [textwrap.wrap(cell.name, WIDTH) for cell, _ in outcome.cells]
    lines = max(map(len, names), default=1)
    picture, axes = page_layout.panels(1, 1, 7.0, 1.2 + (0.1 + 0.16 * lines) * count)
    axis, shown = axes[0][0], {}
    for k, (cell, verdict) in enumerate(outcome.cells):
        if cell.published is not None:
            shown["published, tolerance"] = axis.errorbar(
                cell.published, k, xerr=cell.tolerance, fmt="|", color="#000000", markersize=11,
                elinewidth=6, alpha=0.35)
        if verdict.ours is not None:
            half = verdict.half if math.isfinite(verdict.half) else 0
            shown[verdict.verdict] = axis.errorbar(
                verdict.ours, k, xerr=half, fmt="o", markersize=5, elinewidth=1.4,
                color=COLOURS.get(verdict.verdict, "#7F7F7F"))
    axis.set_yticks(range(count), ["\n".join(name) for name in names])
    axis.set_ylim(count - 0.5, -0.5)
    axis.set_xlabel(outcome.what.given["unit"])
    numbers = [value for cell, verdict in outcome.cells
               for value in (cell.published, verdict.ours) if value is not None]
    if numbers and min(numbers) > 0 and max(numbers) > SPREAD * min(numbers):
        axis.set_xscale("log")
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.xaxis.set_minor_formatter(NullFormatter())
    if shown:
        page_layout.legend(picture, shown)
    page_layout.finish(picture)
    return picture
