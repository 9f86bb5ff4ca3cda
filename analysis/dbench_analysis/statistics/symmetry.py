"""The assumption behind sign flips, intervals of means and equivalence tests, and signs that the
differences break it."""

from functools import lru_cache

import numpy as np

from ..basics.formatting import counted

ASSUMPTION = "the differences are independent and symmetric about their mean"
EQUIVALENCE = "the differences are independent and nearly normal"
SEEN = 5  # differences below which nothing can be seen
FAR = 3.0  # a value is far if its distance from the others is more than this times their range
DRAWS = 4000
LEVEL = 0.05


def skewness(values: np.ndarray) -> np.ndarray:
    """Return the skewness of values[..., n]; 0 if all are equal."""
    centred = values - values.mean(axis=-1, keepdims=True)
    square = np.mean(centred**2, axis=-1)
    return np.mean(centred**3, axis=-1) / np.where(square > 0, square, 1.0)**1.5


def skewness_p(d) -> float:
    """Return the share of normal samples of the same size whose skewness is at least as large; 1
    for fewer than SEEN values. Random numbers are seeded."""
    d = np.asarray(d, dtype=float)
    if len(d) < SEEN:
        return 1.0
    drawn = normal_skewness(len(d))
    below = int(np.searchsorted(drawn, abs(float(skewness(d)))))
    return (len(drawn) - below + 1) / (len(drawn) + 1)


@lru_cache(maxsize=64)
def normal_skewness(n: int) -> np.ndarray:
    """Return the sorted absolute skewness of DRAWS normal samples of n values."""
    return np.sort(np.abs(skewness(np.random.default_rng(0).standard_normal((DRAWS, n)))))


def far_values(values) -> list[int]:
    """Return the places of a few values (at most a quarter, or one) that lie far from all others,
    as collapsed runs do; empty for fewer than SEEN values. Of normal samples of 6 or more, less
    than 1 % have such values."""
    values = np.asarray(values, dtype=float)
    n = len(values)
    if n < SEEN or not np.isfinite(values).all():
        return []
    order = np.argsort(values)
    ranked = values[order]
    for few in range(max(1, n // 4), 0, -1):
        low, high = ranked[few:], ranked[:n - few]
        if low[0] - ranked[few - 1] > FAR * (low[-1] - low[0]):
            return sorted(int(i) for i in order[:few])
        if ranked[n - few] - high[-1] > FAR * (high[-1] - high[0]):
            return sorted(int(i) for i in order[n - few:])
    return []


def signs(d) -> str:
    """Return which sign of asymmetric differences d[n] there is: "far values", "skewed" or ""."""
    if far_values(d):
        return "far values"
    return "skewed" if skewness_p(d) <= LEVEL else ""


def warnings(a, b, names: list[str]) -> list[str]:
    """Return sentences on the pairs a[n], b[n] with their names: runs that look collapsed, and
    skewed differences."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    found = []
    for side, values in (("A", a), ("B", b)):
        far = far_values(values)
        if far:
            found.append(f"{counted(len(far), 'run')} of {side} far from the others "
                         f"({'; '.join(names[i] for i in far)}): look whether training collapsed")
    differences = a - b
    if not found and far_values(differences):
        far = far_values(differences)
        found.append(f"{counted(len(far), 'difference')} far from the others "
                     f"({'; '.join(names[i] for i in far)})")
    if not found and skewness_p(differences) <= LEVEL:
        found.append(f"the differences look skewed (skewness {float(skewness(differences)):+.2f})")
    return found
