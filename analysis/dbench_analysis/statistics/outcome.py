"""The outcome of a comparison of two selections of runs, as numbers, as a table and in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import Any

import pandas as pd

from ..basics.errors import AnalysisError
from ..basics.formatting import aligned, counted, number, percent
from ..naming.differences import differing, is_ignored, is_interval
from ..quantities.comparability import refuse_times
from ..quantities.fields import Field
from ..selection.collection import Collection
from . import symmetry
from .pairing import FEW, Comparison, compare
from .pivot import takes_the_best


@dataclass(frozen=True, repr=False)
class Outcome:
    """A and B compared by `metric` over the runs that share the fields `pair`.

    comparison   the numbers: a, b, differences [pairs], interval (low, high, coverage), p, ...
    differ_in    (entry of the spec, values in A, values in B) of the entries that differ
    notes        what was left out
    """

    comparison: Comparison
    metric: Field
    pair: list[str]
    notes: list[str]
    differ_in: list[tuple[str, str, str]]

    @property
    def pairs(self) -> pd.DataFrame:
        """Return the columns A, B and difference (A - B) as numbers, a row for each pair."""
        found = self.comparison
        index = pd.MultiIndex.from_tuples(found.keys, names=self.pair)
        return pd.DataFrame({"A": found.a, "B": found.b, "difference": found.differences},
                            index=index.get_level_values(0) if len(self.pair) == 1 else index)

    @property
    def difference(self) -> float:
        """Return the mean of A - B."""
        return float(self.comparison.differences.mean())

    @property
    def interval(self) -> tuple[float, float, float]:
        """Return the low and high end of the mean difference, and the interval's coverage."""
        return self.comparison.interval

    @property
    def p(self) -> float:
        """Return p of the two-sided test that flips the signs of the differences."""
        return self.comparison.p

    @property
    def equivalent(self) -> bool | None:
        """Return whether A and B are shown to differ by less than the margin; None if no margin was
        given, or if there are too few pairs."""
        return self.comparison.equivalent

    @property
    def median(self) -> tuple[float, tuple[float, float, float], float]:
        """Return the median of A - B, its interval with its coverage, and p of the sign test. They
        hold for any independent differences."""
        found = self.comparison
        return found.median, found.median_interval, found.sign_test_p

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return signs that the differences are not symmetric, so that interval, p and equivalence
        of the mean may be wrong."""
        return self.comparison.warnings

    @property
    def verdict(self) -> str:
        """Return the result in plain sentences."""
        return " ".join(verdict(self.comparison, self.metric))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON; numbers that are not finite are None."""
        found = self.comparison

        def finite(value):
            return value if value is not None and math.isfinite(value) else None

        return {
            "metric": self.metric.key,
            "pairs": [{**dict(zip(self.pair, key)), "a": float(a), "b": float(b)}
                      for key, a, b in zip(found.keys, found.a, found.b)],
            "difference": float(found.differences.mean()),
            "interval": [finite(v) for v in found.interval[:2]], "coverage": found.interval[2],
            "alpha": found.alpha, "p": found.p,
            "smallest_p": found.smallest_p, "exact": found.exact, "too_few": found.few,
            "margin": found.margin,
            "equivalence_p": finite(found.equivalence_p), "equivalent": found.equivalent,
            "assumption": symmetry.ASSUMPTION, "equivalence_assumption": symmetry.EQUIVALENCE,
            "warnings": list(found.warnings), "median": found.median,
            "median_interval": [finite(v) for v in found.median_interval[:2]],
            "median_coverage": found.median_interval[2], "sign_test_p": found.sign_test_p,
            "median_equivalence_p": finite(found.median_within_p),
            "differ_in": [{"pointer": pointer, "a": a, "b": b} for pointer, a, b in self.differ_in],
            "notes": self.notes, "verdict": verdict(found, self.metric),
        }

    def __repr__(self) -> str:
        """Return the table of pairs, the tests and the verdict as text."""
        found, metric = self.comparison, self.metric
        rows = [[", ".join(self.pair), "A", "B", "A - B"]]
        for key, a, b in zip(found.keys, found.a, found.b):
            rows.append([", ".join(map(str, key)), metric.show(float(a)), metric.show(float(b)),
                         amount(a - b, metric)])
        rows.append(["mean", metric.show(float(found.a.mean())), metric.show(float(found.b.mean())),
                     amount(found.differences.mean(), metric)])
        n, (*ends, coverage) = len(found.a), found.interval
        low, high = (amount(v, metric) for v in ends)
        how = (f"exact, smallest attainable {found.smallest_p:.3g}" if found.exact
               else "100,000 random sign patterns")
        lines = [f"{metric.title}: {metric.help}",
                 *(f"{pointer}: {a} | {b}" for pointer, a, b in self.differ_in),
                 "", aligned(rows), ""]
        narrow = coverage < 1 - found.alpha - 1e-9
        widest = f", the most that {counted(n, 'pair')} can give" * narrow
        interval = f", {100 * coverage:.3g} % interval {low} to {high}{widest}" if n > 1 else ""
        lines.append(f"difference    {amount(found.differences.mean(), metric)}{interval}")
        lines.append(f"sign flips    p = {found.p:.3g} ({how})")
        if found.margin is not None:
            lines.append(f"equivalence   p = {number(found.equivalence_p, 3)} for a margin of "
                         f"{amount(found.margin, metric, False)} (two one-sided t-tests)")
        lines.append(f"median        {median_line(found, metric)}")
        lines += [f"assumption    {line}" for line in assumptions(found)]
        lines += [f"warning       {warning}" for warning in found.warnings]
        lines += [f"note          {note}" for note in self.notes]
        return "\n".join([*lines, "", *verdict(found, metric)])

    def _repr_html_(self) -> str:
        sentences = [self.verdict, *assumptions(self.comparison), *self.notes,
                     *(f"{pointer}: {a} | {b}" for pointer, a, b in self.differ_in)]
        table = self.pairs.to_html(border=0, formatters=dict.fromkeys(
            ("A", "B"), self.metric.show) | {"difference": lambda v: amount(v, self.metric)})
        return "".join(f"<p>{escape(line)}</p>" for line in sentences) + table


def outcome(a: Collection, b: Collection, metric: Field, pair: list[str], margin: float | None,
            alpha: float, seed: int) -> Outcome:
    """Compare two selections. Raises AnalysisError with the reason if they cannot be compared."""
    refuse_times([metric.key] * metric.timed,
                 [*a.frame["time_note"], *b.frame["time_note"]] if metric.timed else [], "metric")
    for side, name in ((a, "A"), (b, "B")):
        if any(not isinstance(v, (int, float)) for v in side.frame[metric.key]):
            raise AnalysisError(f"metric {metric.key}", f"holds words in {name}, not numbers",
                                "choose a number, such as accuracy_mean_model")
    found, notes = compare(a, b, metric.key, pair, margin, alpha, seed)
    both = set(a.frame["file"]) & set(b.frame["file"])
    if both:
        notes.append(f"{counted(len(both), 'run')} on both sides")
    return Outcome(found, metric, pair, notes, what_differs(a, b, metric))


def parse_margin(text: str, metric) -> float:
    """Return the margin as a number; that of a fraction may end in a per cent sign. A share of a
    loss is refused: the tests need a margin that does not depend on the measured values."""
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        raise AnalysisError(f"margin {text}", "not a number", "such as 0.005 or 0.5%") from None
    if not (value > 0 and math.isfinite(value)):
        raise AnalysisError(f"margin {text}", "must be above 0", "such as 0.005 or 0.5%")
    if text.endswith("%") and not metric.is_fraction:
        raise AnalysisError(f"margin {text}", f"is in points, and {metric.key} is no fraction",
                            "give a number in the unit of the metric, such as 0.01")
    if metric.show is percent and value >= 0.5:
        raise AnalysisError(f"margin {text}",
                            "accuracies are fractions: that is half of all or more",
                            f"write {text.rstrip('%')}% for points")
    return value


def what_differs(a: Collection, b: Collection, metric: Field) -> list[tuple[str, str, str]]:
    """Return (pointer, values in A, values in B) of the entries in which the sides differ, without
    ignored entries such as seeds and names. The best of all evaluations depends on their number."""
    specs = [[s for s in side.specs if s is not None] for side in (a, b)]
    if not all(specs):
        return []
    return [row for row in differing(*specs) if not is_ignored(row[0])
            or takes_the_best(metric) and is_interval(row[0])]


def amount(value: float, metric, signed: bool = True) -> str:
    """Return a difference as text; accuracies in percentage points."""
    if metric.show is percent:
        return f"{100 * value:{'+' if signed else ''}.2f} points"
    return f"{value:{'+' if signed else ''}.4g}"


def verdict(found: Comparison, metric) -> list[str]:
    """Return the result as a list of plain sentences."""
    d, n = found.differences, counted(len(found.a), "pair")
    sentences = []
    if not d.any():
        sentences.append(f"A and B are equal in every pair ({n}).")
    elif found.few:
        sentences.append(f"Too few seeds to tell whether A and B differ: with {n} p cannot be "
                         f"smaller than {found.least_p:.3g}, whatever the values are.")
    elif found.p <= found.alpha:
        sense = {"high": ("better", "worse"),
                 "low": ("worse", "better")}.get(metric.better, ("higher", "lower"))
        sentences.append(f"A is {sense[0 if d.mean() > 0 else 1]} than B: "
                         f"{amount(d.mean(), metric)} (p = {found.p:.3g}).")
    else:
        sentences.append(
            f"No difference is shown (p = {found.p:.3g}). This does not mean that there is none.")
    if found.margin is None:
        sentences.append("Equivalence was not tested: give a margin.")
    elif found.equivalent is None:
        sentences.append(f"Equivalence needs at least {FEW} pairs.")
    else:
        within = f"within ± {amount(found.margin, metric, False)} (p = {found.equivalence_p:.3g})"
        sentences.append(f"A and B are equivalent {within}." if found.equivalent
                    else f"Equivalence is not shown {within}.")
    if found.warnings:
        sentences.append(f"These statements on the mean may be wrong: {'; '.join(found.warnings)}. "
                         f"The sign test of the median gives p = {found.sign_test_p:.3g}.")
    return sentences


def assumptions(found: Comparison) -> list[str]:
    """Return what each p value and interval assumes."""
    n = counted(len(found.a), "pair")
    return [f"Interval and sign flips assume that {symmetry.ASSUMPTION}"
            + (f", equivalence that {symmetry.EQUIVALENCE}" if found.margin is not None else "")
            + f"; {n} cannot show that this is so. The median's numbers assume independent "
            "differences only."]


def median_line(found: Comparison, metric) -> str:
    """Return the median with its interval and its tests."""
    *ends, coverage = found.median_interval
    low, high = (amount(v, metric) for v in ends)
    interval = f", {100 * coverage:.3g} % interval {low} to {high}" if len(found.a) > 1 else ""
    within = (f", within the margin: p = {number(found.median_within_p, 3)}"
              if found.margin is not None else "")
    return (f"{amount(found.median, metric)}{interval}, sign test p = "
            f"{found.sign_test_p:.3g}{within}")
