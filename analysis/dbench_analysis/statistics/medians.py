"""The median of paired differences: a test, an interval and an equivalence that need independent
differences only. Means have none of this: skewed differences and rare failures spoil them."""

import math

import numpy as np


def sign_test(d) -> float:
    """Return the two-sided p of the test that a difference of d[n] is as often above 0 as below.
    Zeros do not count."""
    d = np.asarray(d, dtype=float)
    above, below = int(np.sum(d > 0)), int(np.sum(d < 0))
    if above + below == 0:
        return 1.0
    return min(1.0, 2 * at_most(min(above, below), above + below))


def at_most(k: int, n: int) -> float:
    """Return the probability of at most k heads in n tosses of a fair coin."""
    return sum(math.comb(n, i) for i in range(k + 1)) / 2**n


def median_interval(d, confidence: float) -> tuple[float, float, float]:
    """Return (low, high, coverage): two of the sorted d[n] between which their median lies.

    The coverage is at least `confidence`, or the most that n allows: 1 - 2^(1-n). It holds for
    every distribution. (NaN, NaN, 0) for n < 2.
    """
    d = np.sort(np.asarray(d, dtype=float))
    n = len(d)
    if n < 2:
        return math.nan, math.nan, 0.0
    outside = 0  # values left out at each end
    while (2 * (outside + 2) <= n
           and 2 * at_most(outside + 1, n) <= 1 - confidence + 1e-12):
        outside += 1
    return float(d[outside]), float(d[n - 1 - outside]), 1 - 2 * at_most(outside, n)


def median_within(d, margin: float) -> float:
    """Return p of two one-sided sign tests: it is small if the median of d[n] is shown to lie
    within ±margin. NaN for n < 2."""
    d = np.asarray(d, dtype=float)
    n = len(d)
    if n < 2:
        return math.nan
    return max(at_most(int(np.sum(d <= -margin)), n), at_most(int(np.sum(d >= margin)), n))
