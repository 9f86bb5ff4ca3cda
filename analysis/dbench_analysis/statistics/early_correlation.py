"""Rank correlations over settings between the early spread and the final performance. p counts each
setting once and is corrected for all windows that were tested."""

import itertools
from dataclasses import dataclass

import numpy as np

from ..naming import differences, names
from ..quantities import series
from ..reading.run import Run
from . import significance

WINDOWS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)  # fixed in advance: any other window has no p
WITH_AFTER = ("variance", "consensus")


@dataclass(frozen=True)
class Correlation:
    """Spearman's rho over `count` settings; p is NaN if it is not given."""

    rho: float
    count: int
    p: float

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the interval of rho, which is approximate for few settings."""
        return significance.spearman_interval(self.rho, self.count, confidence)

    def __str__(self) -> str:
        if not np.isfinite(self.rho):
            return f"- (n = {self.count})"
        p = f", p = {self.p:.2g}" if np.isfinite(self.p) else ""
        return f"{self.rho:+.2f} (n = {self.count}{p})"


def measured(measure: str) -> list[tuple[str, str]]:
    """Return (measure, words) of the variants that may have been recorded: before and after
    averaging."""
    after = [(f"{measure}_after", "after averaging")] if measure in WITH_AFTER else []
    return [(measure, "before averaging"), *after]


def identical_replicas(run: Run) -> bool:
    """Return whether the replicas are always identical because all use the same gradient."""
    return names.algorithm(run) == "centralized"


def other_differences(runs: list[Run]) -> list[str]:
    """Return the entries other than the communication in which the settings of these runs
    differ."""
    specs = [dict(differences.setting_of(run)) for run in runs]
    return [pointer for pointer in dict.fromkeys(p for spec in specs for p in spec)
            if len({spec.get(pointer) for spec in specs}) > 1]


def correlations(runs: list[Run], final: np.ndarray, measure: str,
                 window: float) -> dict[tuple[str, float, int, bool], Correlation]:
    """Return correlations by (measure, window, column of final[runs, 2], without C_complete). A
    measure that no run recorded is absent.

    Runs that differ only in the seed are one point, their mean: seeds repeat a setting and do not
    make another one. p comes from permuting the settings and is corrected for all windows, both
    columns and both measures (before and after averaging). There is no p for a window outside
    WINDOWS, or if the settings differ in more than the communication.
    """
    windows = sorted({*WINDOWS, window})
    groups = differences.by_setting(runs)
    place = {id(run): i for i, run in enumerate(runs)}
    rows = [[place[id(run)] for run in group] for group in groups]
    decentralized = np.array([not identical_replicas(group[0]) for group in groups])
    spreads = {what: np.array([series.early_spreads(run, what, windows) for run in runs])
               for what, _ in measured(measure)}
    spreads = {what: early for what, early in spreads.items() if np.isfinite(early).any()}
    y = np.array([final[members].mean(axis=0) for members in rows])
    comparable, found = not other_differences(runs), {}
    for what, early in spreads.items():
        x = np.array([early[members].mean(axis=0) for members in rows])
        for without in (False, True):
            keep = decentralized if without else np.ones(len(groups), dtype=bool)
            for (i, j), (rho, count, p) in together(x[keep], y[keep], windows).items():
                p = np.minimum(1.0, p * len(spreads)) if comparable else np.nan
                found[what, windows[i], j, without] = Correlation(rho, count, p)
    return found


def together(x: np.ndarray, y: np.ndarray, windows: list[float]):
    """Return {(window, column): (rho, settings, p)} of x[settings, windows] and y[settings,
    columns]."""
    fixed = [i for i, window in enumerate(windows) if window in WINDOWS]
    columns = [j for j in range(y.shape[1]) if np.isfinite(y[:, j]).any()]
    use = np.isfinite(x).all(axis=1) & np.isfinite(y[:, columns]).all(axis=1)
    count, nan = int(use.sum()), float("nan")
    found = {(i, j): (nan, count, nan) for i in range(len(windows)) for j in range(y.shape[1])}
    if count >= 3 and columns:
        rho, p = significance.spearman_together(x[use][:, fixed].T, y[use][:, columns].T,
                                         np.random.default_rng(0))
        for (a, i), (b, j) in itertools.product(enumerate(fixed), enumerate(columns)):
            found[i, j] = (float(rho[a, b]), count, float(p[a, b]))
        for i, j in itertools.product(set(range(len(windows))) - set(fixed), columns):
            found[i, j] = (significance.spearman(x[use, i], y[use, j]), count, nan)
    return found
