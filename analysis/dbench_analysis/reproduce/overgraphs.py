"""Rank correlations over graphs, judged by permuting the graphs: seeds and scales repeat the same
graphs, they do not make others."""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from .. import stats
from .cases import Case, by_group
from .finding import Terms

GRAPHS, DEGREES = 4, 3  # graphs, and different degrees among them, below which nothing is judged


@dataclass(frozen=True)
class Values:
    """names[n]: the graphs that all groups have; x, y [groups, n]; cases: one of each group."""

    names: list[str]
    x: np.ndarray
    y: np.ndarray
    cases: list[Case]

    @property
    def rho(self) -> np.ndarray:
        """Spearman's rho of each group."""
        if not self.names:
            return np.empty(0)
        return np.sum(scaled_ranks(self.x) * scaled_ranks(self.y), axis=1)


@dataclass(frozen=True)
class Outcome:
    """A mean over groups, and one-sided p: that it is so high, or so low, by chance."""

    count: int  # groups
    graphs: int
    mean: float
    high_p: float
    low_p: float

    def cells(self) -> list[str]:
        """Groups, mean, p of either side."""
        if not self.count:
            return ["0", "-", "-", "-"]
        return [str(self.count), f"{self.mean:+.2f}", f"{self.high_p:.3g}", f"{self.low_p:.3g}"]


CELLS = ["groups", "mean", "p (above 0)", "p (below 0)"]
NOTHING = Outcome(0, 0, math.nan, 1.0, 1.0)


def scaled_ranks(values: np.ndarray) -> np.ndarray:
    """Ranks in each row, about their mean and of length 1; NaN where a row is constant."""
    return stats.scaled(stats.ranks(values, axis=1))


def over_graphs(found: list[Case], x: str, roles=("fixed",)) -> Values:
    """`x` and the accuracy in each group (one setting, scale and seed) of enough graphs and
    degrees; of several groups the graphs that all of them have."""
    groups: list[dict[str, Case]] = []
    for members in by_group(found):
        kept = {name: case for name, case in members.items()
                if case.role in roles and math.isfinite(getattr(case, x))}
        fixed = [case for case in kept.values() if case.role != "centralized"]
        varies = len({getattr(case, x) for case in kept.values()}) > 1
        if varies and len(fixed) >= GRAPHS and len({round(c.degree, 6) for c in fixed}) >= DEGREES:
            groups.append(kept)
    names = sorted(set.intersection(*(set(group) for group in groups))) if groups else []
    if len(names) < GRAPHS:
        names, groups = [], []
    of_x, of_y = (np.array([[getattr(group[name], key) for name in names] for group in groups])
                  for key in (x, "accuracy"))
    return Values(names, of_x, of_y, [group[names[0]] for group in groups])


def correlated(values: Values, terms: Terms) -> Outcome:
    """The mean rank correlation. p by giving each graph the `x` of another, the same in all
    groups."""
    if not values.names:
        return NOTHING
    x, y = (np.nan_to_num(scaled_ranks(side)) for side in (values.x, values.y))
    taken, _ = stats.orders(len(values.names), np.random.default_rng(terms.seed))
    return outcome(np.mean([a[taken] @ b for a, b in zip(x, y)], axis=0), values)


def compared(one: Values, other: Values, terms: Terms) -> Outcome:
    """The mean rank correlation of `one` minus that of `other`. p by exchanging the two values of
    each graph, the same in all groups."""
    if not one.names or one.names != other.names or len(one.x) != len(other.x):
        return NOTHING
    a, b = (stats.ranks(values.x, axis=1) for values in (one, other))
    y, found = scaled_ranks(one.y), []
    first = np.zeros((1, len(one.names)), dtype=int)  # nothing exchanged
    drawn = stats.subsets(len(one.names), np.random.default_rng(terms.seed))
    for chosen in drawn if 2 ** len(one.names) <= stats.EXACT else itertools.chain([first], drawn):
        swapped = chosen.astype(bool)[:, None, :]
        left, right = np.where(swapped, b, a), np.where(swapped, a, b)
        parts = [np.nan_to_num(ranked(side) * y).sum(axis=2).mean(axis=1) for side in (left, right)]
        found.append(parts[0] - parts[1])
    return outcome(np.concatenate(found), one)


def ranked(values: np.ndarray) -> np.ndarray:
    """`scaled_ranks` along the last axis of [patterns, groups, n]."""
    flat = values.reshape(-1, values.shape[-1])
    return scaled_ranks(flat).reshape(values.shape)


def outcome(found: np.ndarray, values: Values) -> Outcome:
    """From the statistic of every pattern, the observed one the first."""
    high, low = (float(np.mean(side * found >= side * found[0] - 1e-12)) for side in (1, -1))
    return Outcome(len(values.x), len(values.names), float(found[0]), high, low)


def more_graphs(count: int, patterns, level: float) -> list[str]:
    """What an undecided finding is missing; `patterns`: how many there are of so many graphs."""
    enough = next(n for n in range(GRAPHS, 64) if 1 / patterns(n) <= level)
    if count < enough:
        return [f"{enough} graphs or more, here {count}"]
    return [f"more graphs, of different degrees: {count} cannot tell this from chance"]
