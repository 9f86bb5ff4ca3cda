"""The parts of a step's time. Runs whose times are not measurements are shown as shares only."""

import textwrap

import numpy as np

from ..quantities import series
from ..quantities.comparability import caveats, statement
from ..reading.run import Run
from . import style

COLOURS = {"data": "#E69F00", "gradient": "#0072B2", "update": "#009E73", "exchange": "#D55E00",
           "rest": "#999999", "profile": "#CC79A7"}
LABELS = {"data": "waiting for data", "exchange": "exchange (exposed)",
          "profile": "profile (not part of the step)"}


def breakdown(runs: list[Run], each: bool = False):
    """Draw stacked bars of mean seconds per iteration (bar: deviation of the step over seeds), or
    shares of each run's own step if rule 6 forbids a comparison."""
    settings = style.settings(runs, each, full=True)
    found = [over_seeds(setting.runs) for setting in settings]
    shares = len(runs) > 1 and any(caveats(run) for run in runs)
    labels = [style.wrapped(setting.look.label, 22) for setting in settings]
    figure, ((axis,),) = style.panels(1, 1, 9.0, 1.9 + 0.42 * len(settings),
                                    least=0.9 + style.rows_height(labels))
    for row, parts in enumerate(found):
        step = step_of(parts)
        unit = (100 / step if step else 0.0) if shares else 1e3
        left = 0.0
        for name, value in parts.items():
            axis.barh(row, value * unit, left=left, color=COLOURS[name], height=0.62,
                      edgecolor="white", linewidth=0.5,
                      hatch="////" if name == "profile" else None)
            if value * unit > 0.72 / style.figure_width(9.0) * max(1e-12, step * unit):
                axis.text(left + value * unit / 2, row,
                          f"{value * unit:.0f} %" if shares else f"{value * unit:.3g}",
                          ha="center", va="center", fontsize=style.font_size(7.5), color="white")
            left += value * unit
        steps = [step_of(series.breakdown(run)) for run in settings[row].runs]
        if len(steps) > 1 and not shares:
            axis.errorbar(step * unit, row, xerr=np.std(steps, ddof=1) * unit, fmt="none",
                          ecolor="#222222", capsize=3, elinewidth=1.2)
    for name in COLOURS:
        if any(parts.get(name) for parts in found):
            axis.barh(0, 0, color=COLOURS[name], label=LABELS.get(name, name),
                      hatch="////" if name == "profile" else None, edgecolor="white")
    axis.set_yticks(range(len(settings)), labels)
    axis.invert_yaxis()
    axis.grid(axis="y", visible=False)
    axis.set_xlabel("share of the run's own step (%)" if shares
                    else "mean time per iteration and rank (ms)")
    axis.set_title("parts of a step" + (", in shares" if shares else ""))
    if not any(found):
        style.empty_panel(axis, "no times recorded")
    style.legend(figure, [axis], len(runs))
    if statement(runs):
        figure.suptitle("\n".join(textwrap.wrap(statement(runs), 115)), fontsize=style.font_size(8),
                        color="#A33", x=0.01, ha="left")
    return figure


def over_seeds(runs: list[Run]) -> dict[str, float]:
    """Return the parts, averaged over the runs that have them."""
    found = [parts for parts in map(series.breakdown, runs) if parts]
    return {name: float(np.mean([parts[name] for parts in found])) for name in found[0]} if found \
        else {}


def step_of(parts: dict[str, float]) -> float:
    """Return the sum of the parts that belong to the step."""
    return sum(value for name, value in parts.items() if name != "profile")
