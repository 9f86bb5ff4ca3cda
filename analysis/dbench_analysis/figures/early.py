"""Early spread and final accuracy over many runs: scatter and rank correlation, before and after
averaging."""

import numpy as np

from ..naming.measures import TITLES, UNITS
from ..quantities import series
from ..quantities.ends import ends
from ..reading.run import Run
from ..statistics.early_correlation import correlations, identical_replicas, measured
from ..tables.early_correlations import finals
from . import style
from .points import explained, spread_and_end


def figure(runs: list[Run], measure: str = "variance", window: float = 0.1, each: bool = False):
    """Draw a panel before averaging and, if recorded, one after averaging. A point is a setting;
    the rank correlations stand above the panels."""
    found, kind = ends(runs)
    kept = [end.run for end in found]
    by_run = {end.run: end for end in found}
    settings = style.settings(kept, each)
    panels = [(what, words, [[series.early_spread(run, what, window) for run in setting.runs]
                             for setting in settings]) for what, words in measured(measure)]
    panels = [p for i, p in enumerate(panels)
              if i == 0 or any(np.isfinite(early).any() for early in p[2])]
    drawing, axes = style.panels(1, len(panels), 4.2 + 3.4 * len(panels) - 1.2
                                 * (len(panels) == 1), 4.8, sharey=True)
    rho = correlations(kept, finals(found), measure, window)
    columns = [(False, "all settings"), *[(True, "without C_complete")]
               * any(map(identical_replicas, kept))]
    for axis, (what, words, early) in zip(axes.flat, panels):
        scale = spread_and_end(axis, [(setting.look, values, [by_run[run] for run in setting.runs])
                                      for setting, values in zip(settings, early)])
        lines = "\n".join(f"{whose} {rho[what, window, 0, without]}" for without, whose in columns
                         if what in {of for of, *_ in rho})
        below = 1.3 * style.font_size(7.5) * (lines.count("\n") + 2)
        axis.set_title(words, pad=6 + below)
        axis.text(0, 1.01, f"rank correlation with the mean model:\n{lines}",
                  transform=axis.transAxes, fontsize=style.font_size(7.5), va="bottom",
                  color="#444444")
        axis.set_xlabel(f"{UNITS[measure]}, mean of the first {100 * window:g} %")
        if not any(np.isfinite(values).any() for values in early):
            style.empty_panel(axis, f"{TITLES[measure]} or evaluations were not recorded")
            continue
        scale.apply(axis, "x")
    first = axes.flat[0]
    first.set_ylabel(f"final test {kind}")
    if kind == "accuracy":
        for axis in axes.flat:
            style.percent_axis(axis)
    for setting in settings:
        first.plot([], [], color=setting.look.colour, linewidth=0, marker=setting.look.marker,
                   markersize=6, label=setting.look.label)
    explained(first, len(settings) < len(kept))
    style.legend(drawing, [first], len(runs))
    return drawing
