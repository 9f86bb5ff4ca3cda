"""Differences judged on stated terms."""

import math
from dataclasses import dataclass

import numpy as np

from .. import stats
from ..paired import FEW
from ..textual import counted
from .finding import Terms


def needed(alpha: float) -> int:
    """The fewest pairs with which a sign-flip test can reach alpha: 2^(1-n) <= alpha."""
    return math.ceil(1 - math.log2(alpha) - 1e-9)


@dataclass(frozen=True)
class Judged:
    """The mean of paired values. interval: low, high, coverage; p by flipping signs: that it is 0,
    and that it is -margin; p of equivalence to 0 within the margin."""

    count: int
    mean: float
    interval: tuple[float, float, float]
    p: float
    margin_p: float
    equivalence_p: float
    terms: Terms

    def above(self, share: int = 1) -> bool:
        """Shown to be above 0, at alpha / share."""
        return self.count > 0 and self.mean > 0 and self.p <= self.terms.alpha / share

    def below(self, share: int = 1) -> bool:
        return self.count > 0 and self.mean < 0 and self.p <= self.terms.alpha / share

    def below_margin(self, share: int = 1) -> bool:
        """Shown to be below 0 by more than the margin."""
        return (self.count > 0 and self.mean < -self.terms.margin
                and self.margin_p <= self.terms.alpha / share)

    def equivalent(self, share: int = 1) -> bool:
        """Shown to lie within the margin of 0; never from fewer than FEW pairs."""
        return self.count >= FEW and self.equivalence_p <= self.terms.alpha / share

    def said(self, factor: float) -> str:
        """The mean, with its interval where there are enough values for one that covers."""
        if not self.count:
            return "-"
        low, high, coverage = self.interval
        interval = f" ({factor * low:+.2f} to {factor * high:+.2f})"
        return f"{factor * self.mean:+.2f}" + interval * (coverage >= 1 - self.terms.alpha - 1e-9)

    def ratio(self) -> str:
        """Of logarithms of ratios: the mean ratio, with its interval."""
        low, high, coverage = self.interval
        interval = f" ({math.exp(low):.2f} to {math.exp(high):.2f})" if coverage else ""
        return f"{math.exp(self.mean):.2f}" + interval * (coverage >= 1 - self.terms.alpha - 1e-9)

    def points(self) -> list[str]:
        """Cells: pairs, mean with interval in percentage points, p, p of equivalence."""
        equal = ("-" if math.isnan(self.equivalence_p)
                 or self.count < FEW else f"{self.equivalence_p:.3g}")
        return [str(self.count), self.said(100), f"{self.p:.3g}", equal]


POINTS = ["pairs", "mean difference, points (interval)", "p", "p of equivalence"]


def judged(values, terms: Terms) -> Judged:
    """`values`: one number for each pair or group; what is not finite is left out."""
    values = np.asarray(list(values), dtype=float)
    values = values[np.isfinite(values)]
    if not len(values):
        return Judged(0, math.nan, (math.nan, math.nan, 0.0), 1.0, 1.0, math.nan, terms)
    rng = np.random.default_rng(terms.seed)
    p, margin_p = (stats.sign_flip(side, rng)[0] for side in (values, values + terms.margin))
    return Judged(len(values), float(values.mean()),
                  stats.mean_interval(values, 1 - terms.alpha, rng), p, margin_p,
                  stats.tost(values, terms.margin), terms)


def more_seeds(what: str, count: int, terms: Terms, share: int = 1) -> list[str]:
    """What is missing where so few pairs cannot decide; nothing where they could have."""
    enough = needed(terms.alpha / share)
    return [f"{what}: {counted(enough, 'seed')} or more, here {count}"] if count < enough else []
