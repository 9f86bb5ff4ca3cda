"""Early spread and final accuracy over many runs: scatter and rank correlation, before and after
averaging."""

import numpy as np

from .. import series
from ..early import WINDOWS, by_construction, correlations, measured, mixed
from ..run import Run
from ..textual import aligned
from . import style
from .across import ends
from .points import explained, spread_and_end
from .spread import TITLES, UNITS


def figure(runs: list[Run], measure: str = "variance", window: float = 0.1, each: bool = False):
    """A panel before averaging and, where recorded, one after: a point is a setting; the rank
    correlations stand above."""
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
    told = correlations(kept, finals(found), measure, window)
    columns = [(False, "all settings"), *[(True, "without C_complete")]
               * any(map(by_construction, kept))]
    for axis, (what, words, early) in zip(axes.flat, panels):
        scale = spread_and_end(axis, [(setting.look, values, [by_run[run] for run in setting.runs])
                                      for setting, values in zip(settings, early)])
        said = "\n".join(f"{whose} {told[what, window, 0, without]}" for without, whose in columns
                         if what in {of for of, *_ in told})
        axis.set_title(words + "\n" * (said.count("\n") + 2))
        axis.text(0, 1.01, f"rank correlation with the mean model:\n{said}",
                  transform=axis.transAxes, fontsize=style.small(7.5), va="bottom", color="#444444")
        axis.set_xlabel(f"{UNITS[measure]}, mean of the first {100 * window:g} %")
        if not any(np.isfinite(values).any() for values in early):
            style.nothing(axis, f"{TITLES[measure]} or evaluations were not recorded")
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


def finals(found) -> np.ndarray:
    """The last accuracy, or loss, of the mean model and of the median local one [runs, 2]."""
    return np.array([[end.mean, end.median] for end in found]).reshape(-1, 2)


def words(runs: list[Run], measure: str = "variance", window: float = 0.1) -> str:
    """Rank correlations of the early spread with the final performance: windows, before and after,
    with and without C_complete."""
    found, kind = ends(runs)
    kept = [end.run for end in found]
    if len(kept) < 3:
        return f"rank correlation: needs 3 runs or more, here {len(kept)}"
    told = correlations(kept, finals(found), measure, window)
    rows = [[f"Spearman, {TITLES[measure]}", "window", f"with {kind} of", "all settings",
             "without C_complete"]]
    for what, when in measured(measure):
        windows = sorted({share for of, share, _, _ in told if of == what})
        if not windows:
            rows.append([when, "-", "-", "not recorded", "not recorded"])
        for share in windows:
            for j, of in enumerate(("mean model", "local median")):
                rows.append([when, f"{100 * share:g} %", of,
                             *(str(told[what, share, j, without]) for without in (False, True))])
    return "\n".join([aligned(rows), *notes(kept, window)])


def notes(runs: list[Run], window: float) -> list[str]:
    """What a reader must know of the table above."""
    others = mixed(runs)
    if others:
        return [f"note: the runs differ in {', '.join(others)}, too: the correlations mix these, "
                "and no p is given"]
    told = ["note: a point is a setting, the mean over its seeds; p by permuting the settings, "
            "corrected for the windows, both accuracies, before and after (each column by itself)"]
    if window not in WINDOWS:
        told.append(f"note: no p for {100 * window:g} %, which is not one of the windows fixed in "
                    "advance")
    return told
