"""Two selections of runs compared over the seeds that both have."""

import math
from dataclasses import dataclass

import numpy as np

from . import stats
from .collected import Collection
from .errors import AnalysisError
from .pivot import mixed, ordered, readable

FEW = 5  # pairs below which nothing is called equivalent


@dataclass(frozen=True)
class Comparison:
    """Pairs a[n], b[n] by key, and what follows from the differences a - b."""

    keys: list[tuple]
    a: np.ndarray
    b: np.ndarray
    interval: tuple[float, float, float]  # of the mean difference: low, high, coverage
    p: float
    smallest_p: float  # that so many pairs can attain
    exact: bool
    margin: float | None
    equivalence_p: float  # NaN without a margin
    alpha: float

    @property
    def differences(self) -> np.ndarray:
        return self.a - self.b

    @property
    def few(self) -> bool:
        """Whether no outcome at all could have been significant."""
        return self.smallest_p > self.alpha and bool(np.any(self.differences))

    @property
    def equivalent(self) -> bool | None:
        """Whether equivalence is shown; None where it was not asked for or cannot be judged."""
        if self.margin is None or len(self.a) < FEW:
            return None
        return self.equivalence_p <= self.alpha


def by_key(found: Collection, keys: list[str], name: str) -> dict[tuple, int]:
    """The row of each key; a key with several runs is a fault that says what these differ in."""
    rows: dict[tuple, list[int]] = {}
    for i, values in enumerate(found.frame[keys].itertuples(index=False, name=None)):
        rows.setdefault(tuple(readable(v) for v in values), []).append(i)
    for key, members in rows.items():
        if len(members) > 1:
            said = ", ".join(f"{k}={v}" for k, v in zip(keys, key))
            differ = ", ".join(mixed(found, [members])) or "nothing but their files"
            raise AnalysisError(f"{name}, {said}", f"{len(members)} runs, which differ in {differ}",
                                "--where field=value selects some, --pair seed,FIELD pairs by "
                                "more than the seed")
    return {key: members[0] for key, members in rows.items()}


def compare(a: Collection, b: Collection, metric: str, keys: list[str], margin: float | None,
            alpha: float, seed: int):
    """(Comparison, notes): runs of a and b that share `keys`, by `metric`."""
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
    p, smallest, exact = stats.sign_flip(d, rng)
    interval = stats.mean_interval(d, 1 - alpha, rng)
    equivalence = stats.tost(d, margin) if margin is not None else math.nan
    return Comparison(shared, left, right, interval, p, smallest, exact, margin, equivalence,
                      alpha), notes
