"""Statistics of a few numbers, as pure functions: paired differences, equivalence, ranks. numpy
only."""

import itertools
import math

import numpy as np

EXACT = 1 << 16  # sign patterns (or orders) gone through one by one; of more some are drawn
DRAWS = 100_000


def sign_flip(d: np.ndarray, rng: np.random.Generator) -> tuple[float, float, bool]:
    """Two-sided p of "the differences d[n] are symmetric about 0", by flipping their signs.

    Returns (p, the smallest p that n such differences can attain, exact). Exact where 2^n is small,
    else from random patterns, the observed one counted among them. Zeros cannot be flipped and
    count for nothing.
    """
    d = np.asarray(d, dtype=float)
    moving = d[d != 0]
    if not len(moving):
        return 1.0, 1.0, True
    limit = abs(moving.sum()) * (1 - 1e-12) - 1e-300
    smallest = 2.0 ** (1 - len(moving))
    if 2 ** len(moving) <= EXACT:
        signs = 1 - 2 * ((np.arange(2 ** len(moving))[:, None] >> np.arange(len(moving))) & 1)
        return float(np.mean(np.abs(signs @ moving) >= limit)), smallest, True
    beyond = 0
    for _ in range(0, DRAWS, 1000):
        signs = rng.integers(0, 2, (1000, len(moving))) * 2 - 1
        beyond += int(np.sum(np.abs(signs @ moving) >= limit))
    return (beyond + 1) / (DRAWS + 1), max(smallest, 1 / (DRAWS + 1)), False


def bootstrap_mean(d: np.ndarray, confidence: float, rng: np.random.Generator,
                   draws: int = 10_000) -> tuple[float, float]:
    """Percentile interval of the mean of d[n]: resampled with replacement, seeded by `rng`."""
    d = np.asarray(d, dtype=float)
    means = d[rng.integers(0, len(d), (draws, len(d)))].mean(axis=1)
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def tost(d: np.ndarray, margin: float) -> float:
    """p of two one-sided paired t-tests: small where the mean of d[n] is shown to lie within
    ±margin.

    Schuirmann 1987. NaN for n < 2. Without any scatter it is 0 inside and 1 outside.
    """
    d = np.asarray(d, dtype=float)
    if len(d) < 2:
        return math.nan
    mean, error = float(d.mean()), float(d.std(ddof=1)) / math.sqrt(len(d))
    if error <= 1e-12 * float(np.abs(d).max()):  # equal but for rounding
        return 0.0 if abs(mean) < margin else 1.0
    return max(student_cdf(-(mean + margin) / error, len(d) - 1),
               student_cdf((mean - margin) / error, len(d) - 1))


def student_cdf(t: float, freedom: float) -> float:
    """P(T <= t) of Student's distribution."""
    tail = 0.5 * beta_cdf(freedom / (freedom + t * t), freedom / 2, 0.5)
    return 1 - tail if t > 0 else tail


def beta_cdf(x: float, a: float, b: float) -> float:
    """The regularized incomplete beta function I_x(a, b), by its continued fraction (Abramowitz &
    Stegun 26.5.8)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # there it converges slowly
        return 1 - beta_cdf(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b
                     * math.log1p(-x)) / a
    value = 0.0
    for m in range(300, 0, -1):  # from its end: x < (a+1)/(a+b+2) makes 300 pairs plenty
        odd = -(a + m - 1) * (a + b + m - 1) * x / ((a + 2 * m - 2) * (a + 2 * m - 1))
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        value = odd / (1 + even / (1 + value))
    return front / (1 + value)


def ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from 1; equal values share the mean of theirs."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2)[place]


def spearman(x: np.ndarray, y: np.ndarray) -> float:
    """Rank correlation; NaN for fewer than 3 pairs or where all of one side are equal."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    use = np.isfinite(x) & np.isfinite(y)
    if use.sum() < 3:
        return math.nan
    a, b = (ranks(v[use]) - (use.sum() + 1) / 2 for v in (x, y))
    scale = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / scale if scale else math.nan


def spearman_p(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> float:
    """Two-sided p of the rank correlation: all orders of up to 8 pairs, else random ones."""
    found = abs(spearman(x, y))
    if math.isnan(found):
        return math.nan
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    use = np.isfinite(x) & np.isfinite(y)
    a, b = (ranks(v[use]) - (use.sum() + 1) / 2 for v in (x, y))
    scale = math.sqrt(float(a @ a) * float(b @ b))
    if math.factorial(len(a)) <= EXACT:
        orders = np.array(list(itertools.permutations(range(len(a)))))
        return float(np.mean(np.abs(b[orders] @ a) / scale >= found - 1e-12))
    shuffled = rng.permuted(np.tile(b, (10_000, 1)), axis=1)
    return float((np.sum(np.abs(shuffled @ a) / scale >= found - 1e-12) + 1) / 10_001)


def kendall(x: np.ndarray, y: np.ndarray) -> float:
    """Rank correlation by pairs, tau-b (Kendall 1945): ties count for neither side and shorten
    both. NaN as in `spearman`."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    use = np.isfinite(x) & np.isfinite(y)
    if use.sum() < 3:
        return math.nan
    a, b = (np.sign(np.subtract.outer(v[use], v[use])) for v in (x, y))
    scale = math.sqrt(float(np.sum(a * a)) * float(np.sum(b * b)))
    return float(np.sum(a * b)) / scale if scale else math.nan
