"""Compares two selections of runs over the seeds that both have."""

import math
from dataclasses import dataclass

import numpy as np

from ..basics.errors import AnalysisError
from ..selection.collection import Collection
from . import medians, significance, symmetry
from .pivot import mixed, ordered, plain_value

FEW = 5  # pairs below which nothing is called equivalent


@dataclass(frozen=True)
class Comparison:
    """Pairs a[n], b[n] by key, and the results of tests on the differences a - b."""

    keys: list[tuple]
    a: np.ndarray
    b: np.ndarray
    interval: tuple[float, float, float]  # of the mean difference: low, high, coverage
    p: float
    smallest_p: float  # the smallest p that this number of pairs can attain
    exact: bool
    margin: float | None
    equivalence_p: float  # NaN without a margin
    alpha: float
    median_interval: tuple[float, float, float] = (math.nan, math.nan, 0.0)
    sign_test_p: float = 1.0  # that differences are as often above 0 as below
    median_within_p: float = math.nan  # of the median's equivalence; NaN without a margin
    warnings: tuple[str, ...] = ()  # signs that differences are not symmetric

    @property
    def differences(self) -> np.ndarray:
        return self.a - self.b

    @property
    def median(self) -> float:
        return float(np.median(self.differences))

    @property
    def few(self) -> bool:
        """Return whether no outcome of so many pairs could have been significant."""
        return self.least_p > self.alpha and bool(np.any(self.differences))

    @property
    def least_p(self) -> float:
        """Return the smallest p that so many pairs can have. (`smallest_p` is that of the pairs
        that differ.)"""
        return 2.0 ** (1 - len(self.a))

    @property
    def equivalent(self) -> bool | None:
        """Return whether equivalence is shown; None if it was not tested or there are too few
        pairs."""
        if self.margin is None or len(self.a) < FEW:
            return None
        return self.equivalence_p <= self.alpha


def by_key(found: Collection, keys: list[str], name: str) -> dict[tuple, int]:
    """Return the row of each key. Raises AnalysisError if a key has several runs, with the entries
    in which they differ."""
    rows: dict[tuple, list[int]] = {}
    for i, values in enumerate(found.frame[keys].itertuples(index=False, name=None)):
        rows.setdefault(tuple(plain_value(v) for v in values), []).append(i)
    for key, members in rows.items():
        if len(members) > 1:
            name_of_key = ", ".join(f"{k}={v}" for k, v in zip(keys, key))
            differ = ", ".join(mixed(found, [members])) or "nothing but their files"
            raise AnalysisError(f"{name}, {name_of_key}",
                                f"{len(members)} runs, which differ in {differ}",
                                "--where field=value selects some, --pair seed,FIELD pairs by "
                                "more than the seed")
    return {key: members[0] for key, members in rows.items()}


def compare(a: Collection, b: Collection, metric: str, keys: list[str], margin: float | None,
            alpha: float, seed: int):
    """Return (Comparison, notes) by `metric`, for the runs of a and b that share `keys`."""
    of_a, of_b = by_key(a, keys, "A"), by_key(b, keys, "B")
    shared, notes = [key for key in ordered(of_a) if key in of_b], []
    for name, mine, other in (("A", of_a, of_b), ("B", of_b, of_a)):
        alone = [", ".join(map(str, key)) for key in ordered(mine) if key not in other]
        if alone:
            notes.append(f"without a partner in {name}: {'; '.join(alone)} ({', '.join(keys)})")
    if not shared:
        raise AnalysisError("compare", f"no pair: no {', '.join(keys)} is in both selections",
                            "; ".join(notes))
    values = [np.array([float(side.frame[metric].iloc[rows[key]]) for key in shared])
              for side, rows in ((a, of_a), (b, of_b))]
    finite = np.isfinite(values[0]) & np.isfinite(values[1])
    if not finite.all():
        notes.append(f"{int((~finite).sum())} of {len(shared)} pairs left out: not finite")
    if not finite.any():
        raise AnalysisError("compare", f"no pair has finite values of {metric}",
                            "did these runs record it?")
    shared, (left, right) = [key for key, keep in zip(shared, finite)
                             if keep], (v[finite] for v in values)
    d, rng = left - right, np.random.default_rng(seed)
    p, smallest, exact = significance.sign_flip(d, rng)
    interval = significance.mean_interval(d, 1 - alpha, rng)
    equivalence = significance.tost(d, margin) if margin is not None else math.nan
    names = [", ".join(f"{k}={v}" for k, v in zip(keys, key)) for key in shared]
    return Comparison(
        shared, left, right, interval, p, smallest, exact, margin, equivalence, alpha,
        medians.median_interval(d, 1 - alpha), medians.sign_test(d),
        medians.median_within(d, margin) if margin is not None else math.nan,
        tuple(symmetry.warnings(left, right, names))), notes
