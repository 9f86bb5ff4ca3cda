"""The probability that a test of n values decides, and the n that would decide. Both assume normal
values."""

import math
from collections.abc import Callable

import numpy as np
import scipy  # scipy.stats is loaded when it is first used: it takes a second

WANTED = 0.8  # the power at which a number of seeds is said to decide
MOST = 1000  # the largest number of seeds that is looked at
SIMULATED = 10  # pairs up to which the power of sign flips is simulated
DRAWS = 1000
SHARES = (np.arange(500) + 0.5) / 500


def stays_within(n: int, deviation: float, margin: float, confidence: float) -> float:
    """Return the probability that Student's interval of a mean of n values with this standard
    deviation lies within ±margin, if the true mean is 0."""
    if n < 2:
        return 0.0
    if deviation == 0:
        return 1.0
    t = float(scipy.stats.t.ppf((1 + confidence) / 2, n - 1))
    # The measured deviation and the mean are independent: take the mean over the former.
    measured = np.sqrt(scipy.stats.chi2.ppf(SHARES, n - 1) / (n - 1))
    room = math.sqrt(n) * margin / deviation - t * measured
    return float(np.mean(np.where(room > 0, 2 * scipy.stats.norm.cdf(room) - 1, 0.0)))


def equivalence_power(n: int, deviation: float, margin: float, alpha: float, least: int) -> float:
    """Return the probability that two one-sided t-tests at `alpha` show equivalence within ±margin
    for n pairs, if the true mean difference is 0; 0 for fewer than `least` pairs."""
    return stays_within(n, deviation, margin, 1 - 2 * alpha) if n >= least else 0.0


def difference_power(n: int, deviation: float, effect: float, alpha: float) -> float:
    """Return the probability that sign flips at `alpha` show a mean difference as large as
    `effect`: simulated (seeded) for up to SIMULATED pairs, that of the t-test for more."""
    if n < 2 or 2.0 ** (1 - n) > alpha * (1 + 1e-9):
        return 0.0  # no outcome is significant
    if deviation == 0:
        return 1.0
    shift = effect / deviation
    if n <= SIMULATED:
        drawn = shift + np.random.default_rng(0).standard_normal((DRAWS, n))
        # The first sign is fixed: a pattern and its opposite have the same absolute sum.
        signs = 1 - 2 * ((2 * np.arange(2 ** (n - 1))[:, None] >> np.arange(n)) & 1)
        sums = np.abs(drawn @ signs.T)
        p = np.mean(sums >= sums[:, :1] * (1 - 1e-12), axis=1)
        return float(np.mean(p <= alpha))
    limit = float(scipy.stats.t.ppf(1 - alpha / 2, n - 1))
    return float(scipy.stats.nct.sf(limit, n - 1, math.sqrt(n) * shift))


def seeds_for(power: Callable[[int], float], wanted: float = WANTED) -> int | None:
    """Return the fewest values with which `power` reaches `wanted`; None if MOST are too few."""
    low, high = 1, MOST
    if power(high) < wanted:
        return None
    while high - low > 1:  # power rises with n
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle) >= wanted else (middle, high)
    return high
