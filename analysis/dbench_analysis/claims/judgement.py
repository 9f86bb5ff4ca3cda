"""Judges paired differences by tests at the given terms."""

import math
from dataclasses import dataclass

import numpy as np

from ..basics.formatting import counted
from ..statistics import medians, power, significance, symmetry
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
    median_p        by the sign test: values are as often above 0 as below
    deviation       the standard deviation; NaN for fewer than two values
    shape           the sign that the values are not symmetric about their mean, or ""
    """

    count: int
    mean: float
    interval: tuple[float, float, float]
    p: float
    margin_p: float
    equivalence_p: float
    terms: Terms
    median_p: float = 1.0
    deviation: float = math.nan
    shape: str = ""

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
        """Return the cells below POINTS."""
        equal = ("-" if math.isnan(self.equivalence_p)
                 or self.count < FEW else f"{self.equivalence_p:.3g}")
        return [str(self.count), self.as_text(100), f"{self.p:.3g}", equal,
                f"{self.median_p:.3g}" if self.count else "-", self.shape or "-"]


POINTS = ["pairs", "mean difference, points (interval)", "p", "p of equivalence", "p of median",
          "asymmetry seen"]
ASSUMED = (f"Intervals and p (sign flips) assume that {symmetry.ASSUMPTION}; equivalence (two "
           f"one-sided t-tests) assumes that {symmetry.EQUIVALENCE}. If differences are skewed, or "
           "one run in twenty fails, they are wrong two to ten times as often as stated, and no "
           "test of a mean holds for so few seeds. The p of the median (sign test) assumes "
           "independent differences only.")
TYPICAL = 0.004  # standard deviation of an accuracy over seeds, where fewer than two were run


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
                  significance.tost(values, terms.margin), terms, medians.sign_test(values),
                  float(values.std(ddof=1)) if len(values) > 1 else math.nan,
                  symmetry.signs(values))


def few_seeds(what: str, outcome: Judged, share: int = 1) -> list[str]:
    """Return what is missing if there are too few pairs for any outcome; empty if there are not."""
    enough = needed(outcome.terms.alpha / share)
    return ([f"{what}: {counted(enough, 'seed')} or more, here {outcome.count}"]
            if outcome.count < enough else [])


def more_seeds(what: str, outcome: Judged, share: int = 1) -> list[str]:
    """Return what is missing to decide on a difference of accuracies: seeds if there are too few
    for any outcome, the power of the pairs that were run, and how many would decide."""
    terms, known = outcome.terms, math.isfinite(outcome.deviation)
    deviation, level = outcome.deviation if known else TYPICAL, terms.alpha / share

    def difference(n: int) -> float:
        return power.difference_power(n, deviation, terms.margin, level)

    def equivalence(n: int) -> float:
        return power.equivalence_power(n, deviation, terms.margin, level, FEW)

    margin = f"{100 * terms.margin:g} points"
    parts = [f"a difference of {margin} {shown} with a probability of "
             f"{100 * of(outcome.count):.0f} % ({seeds_text(power.seeds_for(of))})"
             for shown, of in (("is shown", difference), ("is excluded", equivalence))]
    first = few_seeds(what, outcome, share)[:1] or [f"{what}: {counted(outcome.count, 'pair')}"]
    return [f"{first[0]}; at a standard deviation of {100 * deviation:.2g} points "
            f"({'measured' if known else 'assumed'}) {', and '.join(parts)}"]


def seeds_text(count: int | None) -> str:
    """Return how many seeds decide with the wanted power."""
    share = f"{100 * power.WANTED:g} %"
    return f"{share}: more than {power.MOST} seeds" if count is None else f"{share}: {count} seeds"
