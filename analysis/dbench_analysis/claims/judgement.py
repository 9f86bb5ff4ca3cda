"""Judges paired differences by tests at the given terms."""

import math
from dataclasses import dataclass

import numpy as np

from ..basics.formatting import counted
from ..statistics import significance
from ..statistics.pairing import FEW
from .finding import Terms


def needed(alpha: float) -> int:
    """Return the fewest pairs with which a sign-flip test can reach alpha: 2^(1-n) <= alpha."""
    return math.ceil(1 - math.log2(alpha) - 1e-9)


@dataclass(frozen=True)
class Judged:
    """The mean of paired values with its tests.

    interval        low, high, coverage
    p               by flipping signs: the mean is 0
    margin_p        by flipping signs: the mean is -margin
    equivalence_p   the mean differs from 0 by less than the margin
    """

    count: int
    mean: float
    interval: tuple[float, float, float]
    p: float
    margin_p: float
    equivalence_p: float
    terms: Terms

    def above(self, share: int = 1) -> bool:
        """Return whether the mean is shown to be above 0, at alpha / share."""
        return self.count > 0 and self.mean > 0 and self.p <= self.terms.alpha / share

    def below(self, share: int = 1) -> bool:
        """Return whether the mean is shown to be below 0, at alpha / share."""
        return self.count > 0 and self.mean < 0 and self.p <= self.terms.alpha / share

    def below_margin(self, share: int = 1) -> bool:
        """Return whether the mean is shown to be below 0 by more than the margin."""
        return (self.count > 0 and self.mean < -self.terms.margin
                and self.margin_p <= self.terms.alpha / share)

    def equivalent(self, share: int = 1) -> bool:
        """Return whether the mean is shown to differ from 0 by less than the margin; never with
        fewer than FEW pairs."""
        return self.count >= FEW and self.equivalence_p <= self.terms.alpha / share

    def as_text(self, factor: float) -> str:
        """Return the mean times `factor`, with its interval if there are enough values to cover."""
        if not self.count:
            return "-"
        low, high, coverage = self.interval
        interval = f" ({factor * low:+.2f} to {factor * high:+.2f})"
        return f"{factor * self.mean:+.2f}" + interval * (coverage >= 1 - self.terms.alpha - 1e-9)

    def ratio(self) -> str:
        """Return the mean ratio with its interval; the values are logarithms of ratios."""
        low, high, coverage = self.interval
        interval = f" ({math.exp(low):.2f} to {math.exp(high):.2f})" if coverage else ""
        return f"{math.exp(self.mean):.2f}" + interval * (coverage >= 1 - self.terms.alpha - 1e-9)

    def points(self) -> list[str]:
        """Return the cells: pairs, mean with interval in percentage points, p, p of equivalence."""
        equal = ("-" if math.isnan(self.equivalence_p)
                 or self.count < FEW else f"{self.equivalence_p:.3g}")
        return [str(self.count), self.as_text(100), f"{self.p:.3g}", equal]


POINTS = ["pairs", "mean difference, points (interval)", "p", "p of equivalence"]


def judged(values, terms: Terms) -> Judged:
    """Judge one number for each pair or group; values that are not finite are left out."""
    values = np.asarray(list(values), dtype=float)
    values = values[np.isfinite(values)]
    if not len(values):
        return Judged(0, math.nan, (math.nan, math.nan, 0.0), 1.0, 1.0, math.nan, terms)
    rng = np.random.default_rng(terms.seed)
    p, margin_p = (significance.sign_flip(side, rng)[0] for side in (values, values + terms.margin))
    return Judged(len(values), float(values.mean()),
                  significance.mean_interval(values, 1 - terms.alpha, rng), p, margin_p,
                  significance.tost(values, terms.margin), terms)


def more_seeds(what: str, count: int, terms: Terms, share: int = 1) -> list[str]:
    """Return what is missing if the number of pairs is too small to decide; empty if it is not."""
    enough = needed(terms.alpha / share)
    return [f"{what}: {counted(enough, 'seed')} or more, here {count}"] if count < enough else []
