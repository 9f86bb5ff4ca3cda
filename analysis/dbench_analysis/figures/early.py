"""Early spread and final accuracy over many runs: scatter and rank correlation, before and after
averaging."""

import numpy as np

from .. import names, series, stats
from ..run import Run
from ..textual import aligned
from . import style
from .across import ends
from .spread import TITLES, UNITS

WINDOWS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
WITH_AFTER = ("variance", "consensus")


def measured(measure: str) -> list[tuple[str, str]]:
    """(measure, words) of what can have been recorded of it."""
    after = [(f"{measure}_after", "after averaging")] if measure in WITH_AFTER else []
    return [(measure, "before averaging"), *after]


def by_construction(run: Run) -> bool:
    """Whether the replicas are identical whatever happens: one gradient for all."""
    return names.algorithm(run) == "centralized"


def correlation(x, y, keep) -> str:
    """"rho +0.90 (n = 5, p 0.083)" of the pairs to keep; a dash where there is none."""
    x, y = np.asarray(x, dtype=float)[keep], np.asarray(y, dtype=float)[keep]
    rho = stats.spearman(x, y)
    count = int((np.isfinite(x) & np.isfinite(y)).sum())
    if not np.isfinite(rho):
        return f"- (n = {count})"
    return f"{rho:+.2f} (n = {count}, p = {stats.spearman_p(x, y, np.random.default_rng(0)):.2g})"


def figure(runs: list[Run], measure: str = "variance", window: float = 0.1):
    """A panel before averaging and, where recorded, one after: a run is its local median (filled,
    bar: worst to best) and its mean model (dash); the rank correlations stand above."""
    found, kind = ends(runs)
    kept = [end.run for end in found]
    panels = [(what, words, [series.early_spread(run, what, window) for run in kept])
              for what, words in measured(measure)]
    panels = [p for i, p in enumerate(panels) if i == 0 or np.isfinite(p[2]).any()]
    drawing, (axes,) = style.panels(1, len(panels), 4.2 + 3.4 * len(panels) - 1.2
                                    * (len(panels) == 1), 4.8, sharey=True)
    looks = style.looks(kept)
    decentralized = np.array([not by_construction(run) for run in kept], dtype=bool)
    for axis, (_, words, early) in zip(axes, panels):
        scale = style.Logarithmic([early])
        for end, look, value in zip(found, looks, early):
            if np.isfinite([value, end.low, end.median, end.high]).all():
                bars = np.maximum([[end.median - end.low], [end.high - end.median]], 0)
                axis.errorbar(scale.place([value]), [end.median], yerr=bars, fmt=look.marker,
                              color=look.colour, markersize=6, elinewidth=1, capsize=2)
            axis.plot(scale.place([value]), [end.mean], marker="_", markersize=13,
                      markeredgewidth=1.8, color=look.colour, linewidth=0)
        y = [end.mean for end in found]
        said = f"all runs {correlation(early, y, slice(None))}"
        if not decentralized.all():
            said += f"\nwithout C_complete {correlation(early, y, decentralized)}"
        axis.set_title(words + "\n" * (said.count("\n") + 2))
        axis.text(0, 1.01, f"rank correlation with the mean model:\n{said}",
                  transform=axis.transAxes, fontsize=7.5, va="bottom", color="#444444")
        axis.set_xlabel(f"{UNITS[measure]}, mean of the first {100 * window:g} %")
        if not np.isfinite(early).any():
            style.nothing(axis, f"{TITLES[measure]} or evaluations were not recorded")
            continue
        scale.apply(axis, "x")
    axes[0].set_ylabel(f"final test {kind}")
    if kind == "accuracy":
        for axis in axes:
            style.percent_axis(axis)
    shown = dict.fromkeys((look.label if len(runs) <= 12 else names.communication(run), look.colour)
                          for run, look in zip(kept, looks))
    for label, colour in shown:
        axes[0].plot([], [], color=colour, linewidth=0, marker="o", markersize=6, label=label)
    axes[0].plot([], [], color="#555555", linewidth=0, marker="o", markersize=6,
                 label="median of local models (bar: worst to best)")
    axes[0].plot([], [], color="#555555", linewidth=0, marker="_", markersize=11,
                 markeredgewidth=1.8, label="mean model")
    style.legend(drawing, [axes[0]], len(runs))
    return drawing


def words(runs: list[Run], measure: str = "variance", window: float = 0.1) -> str:
    """Rank correlations of the early spread with the final performance: windows, before and after,
    with and without C_complete."""
    found, kind = ends(runs)
    kept = [end.run for end in found]
    if len(kept) < 3:
        return f"rank correlation: needs 3 runs or more, here {len(kept)}"
    decentralized = np.array([not by_construction(run) for run in kept], dtype=bool)
    windows = sorted({*WINDOWS, window})
    rows = [[f"Spearman, {TITLES[measure]}", "window", f"with {kind} of", "all runs",
             "without C_complete"]]
    for what, when in measured(measure):
        early = np.array([series.early_spreads(run, what, windows) for run in kept])
        if not np.isfinite(early).any():
            rows.append([when, "-", "-", "not recorded", "not recorded"])
            continue
        for i, share in enumerate(windows):
            for of, y in (("mean model", [end.mean for end in found]),
                          ("local median", [end.median for end in found])):
                rows.append([when, f"{100 * share:g} %", of, correlation(
                    early[:, i], y, slice(None)), correlation(early[:, i], y, decentralized)])
    confounded = [key for key in ("model", "data", "replicas")
                  if len({str(_field(run, key)) for run in kept}) > 1]
    note = (f"\nnote: the runs differ in {', '.join(confounded)}, too: the correlations mix these"
            if confounded else "")
    return aligned(rows) + note


def _field(run: Run, key: str):
    return (run.replicas if key == "replicas" else names.with_parameters(run.spec.get(key))
            if key == "model" else names.type_of(run.spec.get(key)))
