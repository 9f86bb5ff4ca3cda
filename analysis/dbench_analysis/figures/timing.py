"""Where the time of a step goes. Runs whose times are no measurement are shown in shares only."""

import textwrap

import numpy as np

from .. import series
from ..comparable import caveats, statement
from ..run import Run
from . import style

COLOURS = {"data": "#E69F00", "gradient": "#0072B2", "update": "#009E73", "exchange": "#D55E00",
           "rest": "#999999", "profile": "#CC79A7"}
LABELS = {"data": "waiting for data", "exchange": "exchange (exposed)",
          "profile": "profile (beside the step)"}


def breakdown(runs: list[Run], each: bool = False):
    """Stacked bars of mean seconds an iteration (bar: deviation of the step over seeds); shares of
    each run's own step where rule 6 holds."""
    settings = style.settings(runs, each)
    found = [over_seeds(setting.runs) for setting in settings]
    shares = len(runs) > 1 and any(caveats(run) for run in runs)
    figure, ((axis,),) = style.panels(1, 1, 9.0, 1.9 + 0.42 * len(settings),
                                    least=0.7 + 0.36 * len(settings))
    labels = [style.folded(setting.look.label, 22) for setting in settings]
    for row, parts in enumerate(found):
        step = step_of(parts)
        unit = (100 / step if step else 0.0) if shares else 1e3
        left = 0.0
        for name, value in parts.items():
            axis.barh(row, value * unit, left=left, color=COLOURS[name], height=0.62,
                      edgecolor="white", linewidth=0.5,
                      hatch="////" if name == "profile" else None)
            if value * unit > 0.72 / style.wide(9.0) * max(1e-12, step * unit):
                axis.text(left + value * unit / 2, row,
                          f"{value * unit:.0f} %" if shares else f"{value * unit:.3g}",
                          ha="center", va="center", fontsize=style.small(7.5), color="white")
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
        style.nothing(axis, "no times recorded")
    style.legend(figure, [axis], len(runs))
    if statement(runs):
        figure.suptitle("\n".join(textwrap.wrap(statement(runs), 115)), fontsize=style.small(8),
                        color="#A33", x=0.01, ha="left")
    return figure


def over_seeds(runs: list[Run]) -> dict[str, float]:
    """The parts, mean over the runs that have them."""
    found = [parts for parts in map(series.breakdown, runs) if parts]
    return {name: float(np.mean([parts[name] for parts in found])) for name in found[0]} if found \
        else {}


def step_of(parts: dict[str, float]) -> float:
    return sum(value for name, value in parts.items() if name != "profile")
