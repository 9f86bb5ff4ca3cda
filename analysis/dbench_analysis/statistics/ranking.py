"""Ranks implementations by the dispersion of their replicas' norms and by performance, in every
group of comparable runs."""

from dataclasses import dataclass

import numpy as np

from ..basics.errors import AnalysisError
from ..naming import differences, names
from ..quantities import fields, series
from ..reading.run import Run
from ..reading.schema import MEASURES
from . import significance

WINDOWS = ("early", "whole")


@dataclass(frozen=True)
class Ranking:
    """Ranks [groups, implementations] from 1 (least dispersion, best performance). Equal values
    share the mean of their ranks; NaN if a group has no such run.

    groups        application, scale and seed of each group
    dispersion    ranks by (measure, window)
    performance   ranks by the final accuracy of the mean model, or its loss, as `kind` says
    identical     the implementations whose replicas never differ
    """

    implementations: list[str]
    groups: list[str]
    dispersion: dict[tuple[str, str], np.ndarray]
    performance: np.ndarray
    kind: str
    identical: list[str]
    notes: list[str]

    def rank(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (mean, standard deviation with n - 1) over the groups, each [implementations]."""
        count = np.isfinite(values).sum(axis=0)
        mean = series.nan_safe(np.nanmean, values, axis=0)
        return mean, np.where(count > 1, series.nan_safe(np.nanstd, values, axis=0)
                              * np.sqrt(count / np.maximum(1, count - 1)), np.nan)

    def agreement(self, measure: str, window: str, correlation,
                  without_identical: bool) -> tuple[float, int]:
        """Return (mean over groups, number of groups) of a rank correlation between dispersion and
        performance."""
        keep = [not (without_identical and name in self.identical) for name in self.implementations]
        each = np.array([correlation(a[keep], b[keep])
                         for a, b in zip(self.dispersion[measure, window], self.performance)])
        count = int(np.isfinite(each).sum())
        return (float(np.nanmean(each)) if count else float("nan")), count


def label(run: Run) -> str:
    """Return application, scale and seed of a run in words."""
    return (f"{names.type_of(run.spec.get('model'))} on {names.type_of(run.spec.get('data'))}, "
            f"n={run.replicas}, seed {names.seed(run)}")


def ranked(values: list[float], high_first: bool = False) -> np.ndarray:
    """Return the mid-ranks of the finite values, NaN for the others. Differences in the last bits
    count as none."""
    values = np.array(values, dtype=float)
    place, finite = np.full(len(values), np.nan), np.isfinite(values)
    rounded = np.array([float(f"{v:.12g}") for v in values[finite]])
    if len(rounded):
        place[finite] = significance.ranks(-rounded if high_first else rounded)
    return place


def ranking(runs: list[Run], window: float = 0.1) -> Ranking:
    """Return the ranking of all groups with two or more implementations. A run without an
    evaluation or without dispersion measures is left out."""
    kind = ("accuracy" if any(np.isfinite(fields.last(run, "accuracy", "mean")) for run in runs)
            else "loss")
    usable = [run for run in runs if np.isfinite(fields.last(run, kind, "mean"))
              and np.isfinite(series.mean_dispersion(run, MEASURES[0]))]
    called = differences.communications(usable)
    groups: dict[frozenset, dict[str, Run]] = {}
    twice = 0
    for run, name in zip(usable, called):
        members = groups.setdefault(differences.group_of(run), {})
        twice += name in members
        members.setdefault(name, run)
    groups = {key: members for key, members in groups.items() if len(members) > 1}
    if not groups:
        raise AnalysisError("ranks", "no two implementations have runs that differ only in "
                                     "algorithm and graph, with norms and evaluations",
                            "give runs of one model, data set, number of replicas and seed, with "
                            "profile.norms on")
    implementations = list(dict.fromkeys(name for name in called
                                         if any(name in members for members in groups.values())))
    table = [[members.get(name) for name in implementations] for members in groups.values()]

    def by(value, **how):
        return np.array([ranked([value(run) if run else np.nan for run in row], **how)
                         for row in table])

    shares = {"early": window, "whole": 1.0}
    dispersion = {(m, w): by(lambda run, m=m, w=w: series.mean_dispersion(run, m, shares[w]))
                  for m in MEASURES for w in WINDOWS}
    performance = by(lambda run: fields.last(run, kind, "mean"), high_first=kind == "accuracy")
    identical = list({name: None for members in groups.values() for name, run in members.items()
                      if names.algorithm(run) == "centralized"})
    notes = []
    left = len(runs) - sum(len(members) for members in groups.values()) - twice
    if left:
        notes.append(f"{left} of {len(runs)} runs left out: no other run to rank them against, "
                     "or no norms or evaluation recorded.")
    if twice:
        notes.append(f"{twice} runs left out because another run has the same setting and seed.")
    if not np.isfinite(performance).all():
        notes.append("Not every group has every implementation: mean ranks over different groups "
                     "cannot be compared.")
    return Ranking(implementations, [label(next(iter(m.values()))) for m in groups.values()],
                   dispersion, performance, kind, identical, notes)
