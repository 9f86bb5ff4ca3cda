"""Rank correlations over graphs, judged by permuting the graphs. Seeds and scales repeat the same
graphs; they do not make others."""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from ..statistics import significance
from .cases import Case, by_group
from .finding import Terms

PERMUTED = ("If the quantity has no effect, all orders of the graphs are equally likely (for late "
            "- early: all exchanges of early and late). Accuracies may have any distribution.")
GRAPHS, DEGREES = 4, 3  # fewest graphs, and fewest different degrees, for a judgement


@dataclass(frozen=True)
class Values:
    """names[n]: the graphs that all groups have; x, y [groups, n]; cases: one of each group."""

    names: list[str]
    x: np.ndarray
    y: np.ndarray
    cases: list[Case]

    @property
    def rho(self) -> np.ndarray:
        """Return Spearman's rho of each group."""
        if not self.names:
            return np.empty(0)
        return np.sum(scaled_ranks(self.x) * scaled_ranks(self.y), axis=1)


@dataclass(frozen=True)
class Outcome:
    """A mean over groups, and one-sided p that chance gives a mean at least as high, or as low."""

    count: int  # groups
    graphs: int
    mean: float
    high_p: float
    low_p: float

    def cells(self) -> list[str]:
        """Return groups, mean, and p of both sides."""
        if not self.count:
            return ["0", "-", "-", "-"]
        return [str(self.count), f"{self.mean:+.2f}", f"{self.high_p:.3g}", f"{self.low_p:.3g}"]


CELLS = ["groups", "mean", "p (above 0)", "p (below 0)"]
NOTHING = Outcome(0, 0, math.nan, 1.0, 1.0)


def scaled_ranks(values: np.ndarray) -> np.ndarray:
    """Return the ranks in each row, centred and scaled to length 1; NaN if a row is constant."""
    return significance.scaled(significance.ranks(values, axis=1))


def enough(members: list[Case], x: str) -> bool:
    """Return whether these cases of one group have enough graphs and degrees, and `x` varies."""
    fixed = [case for case in members if case.role != "centralized"]
    return (len({getattr(case, x) for case in members}) > 1 and len(fixed) >= GRAPHS
            and len({round(case.degree, 6) for case in fixed}) >= DEGREES)


def over_graphs(found: list[Case], x: str, roles=("fixed",)) -> Values:
    """Return `x` and the accuracy in each group (one setting, scale and seed) with enough graphs
    and degrees, for the graphs that all groups have."""
    groups: list[dict[str, Case]] = []
    for members in by_group(found):
        kept = {name: case for name, case in members.items()
                if case.role in roles and math.isfinite(getattr(case, x))}
        if enough(list(kept.values()), x):
            groups.append(kept)
    names = sorted(set.intersection(*(set(group) for group in groups))) if groups else []
    if not all(enough([group[name] for name in names], x) for group in groups):
        names, groups = [], []
    of_x, of_y = (np.array([[getattr(group[name], key) for name in names] for group in groups])
                  for key in (x, "accuracy"))
    return Values(names, of_x, of_y, [group[names[0]] for group in groups])


def correlated(values: Values, terms: Terms) -> Outcome:
    """Return the mean rank correlation. p comes from permuting `x` among the graphs, in the same
    way in all groups."""
    if not values.names:
        return NOTHING
    x, y = (np.nan_to_num(scaled_ranks(side)) for side in (values.x, values.y))
    taken, _ = significance.orders(len(values.names), np.random.default_rng(terms.seed))
    return outcome(np.mean([a[taken] @ b for a, b in zip(x, y)], axis=0), values)


def compared(one: Values, other: Values, terms: Terms) -> Outcome:
    """Return the mean rank correlation of `one` minus that of `other`. p comes from exchanging the
    two values of a graph, in the same way in all groups."""
    if not one.names or one.names != other.names or len(one.x) != len(other.x):
        return NOTHING
    a, b = (significance.ranks(values.x, axis=1) for values in (one, other))
    y, found = scaled_ranks(one.y), []
    first = np.zeros((1, len(one.names)), dtype=int)  # nothing exchanged
    drawn = significance.subsets(len(one.names), np.random.default_rng(terms.seed))
    if 2 ** len(one.names) > significance.EXACT:
        drawn = itertools.chain([first], drawn)
    for chosen in drawn:
        swapped = chosen.astype(bool)[:, None, :]
        left, right = np.where(swapped, b, a), np.where(swapped, a, b)
        parts = [np.nan_to_num(ranked(side) * y).sum(axis=2).mean(axis=1) for side in (left, right)]
        found.append(parts[0] - parts[1])
    return outcome(np.concatenate(found), one)


def ranked(values: np.ndarray) -> np.ndarray:
    """Return `scaled_ranks` along the last axis of [patterns, groups, n]."""
    flat = values.reshape(-1, values.shape[-1])
    return scaled_ranks(flat).reshape(values.shape)


def outcome(found: np.ndarray, values: Values) -> Outcome:
    """Return the outcome from the statistic of every pattern; the observed pattern is the first."""
    high, low = (float(np.mean(side * found >= side * found[0] - 1e-12)) for side in (1, -1))
    return Outcome(len(values.x), len(values.names), float(found[0]), high, low)


def more_graphs(count: int, patterns, level: float) -> list[str]:
    """Return what an undecided finding is missing. `patterns(n)` is the number of patterns of n
    graphs."""
    enough = next(n for n in range(GRAPHS, 64) if 1 / patterns(n) <= level)
    if count < enough:
        return [f"{enough} graphs or more, here {count}"]
    return [f"more graphs, of different degrees: {count} cannot tell this from chance"]
