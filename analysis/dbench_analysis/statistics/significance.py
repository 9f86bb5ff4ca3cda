"""Statistics of a few numbers, as pure functions: paired differences, equivalence, ranks."""

import itertools
import math
import warnings

import numpy as np
import scipy  # scipy.stats is loaded when it is first used: it takes a second

EXACT = 1 << 16  # sign patterns (or orders) that are enumerated; above, some are drawn
DRAWS = 100_000


def sign_flip(d, rng: np.random.Generator) -> tuple[float, float, bool]:
    """Return (p, smallest p, exact) of the two-sided test that the differences d[n] are symmetric
    about 0, by flipping their signs.

    The smallest p is the one that n such differences can attain. The test is exact if 2^n is small;
    otherwise it uses random patterns and counts the observed one among them. Zeros cannot be
    flipped and do not count.
    """
    d = np.asarray(d, dtype=float)
    moving = d[d != 0]
    if not len(moving):
        return 1.0, 1.0, True
    limit = abs(moving.sum()) * (1 - 1e-12) - 1e-300
    smallest = 2.0 ** (1 - len(moving))
    exact = 2 ** len(moving) <= EXACT
    beyond = count = 0
    for chosen in subsets(len(moving), rng):
        beyond += int(np.sum(np.abs((1 - 2 * chosen) @ moving) >= limit))
        count += len(chosen)
    if exact:
        return beyond / count, smallest, True
    return (beyond + 1) / (count + 1), max(smallest, 1 / (count + 1)), False


def subsets(n: int, rng: np.random.Generator):
    """Yield blocks of subsets of n things, 0 or 1 [rows, n]: all subsets if they are few, else
    random ones."""
    if 2**n <= EXACT:
        yield (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    else:
        for _ in range(0, DRAWS, 10_000):
            yield rng.integers(0, 2, (10_000, n))


def mean_interval(d, confidence: float,
                  rng: np.random.Generator) -> tuple[float, float, float]:
    """Return (low, high, coverage): the values that flipping signs does not reject as the mean of
    d[n].

    The ends are means of subsets of d. If differences are independent and symmetric about their
    mean, the mean lies with equal probability in each gap between the sorted means of the 2^n - 1
    subsets (Hartigan, Using subsample values as typical values, 1969), so the coverage is known for
    any n and any such distribution. It is at least `confidence`, or the most that n allows: 1 -
    2^(1-n). (NaN, NaN, 0) for n < 2.
    """
    d = np.asarray(d, dtype=float)
    if len(d) < 2:
        return math.nan, math.nan, 0.0
    means = []
    for chosen in subsets(len(d), rng):
        size = chosen.sum(axis=1)
        means.append((chosen @ d)[size > 0] / size[size > 0])
    every = np.sort(np.concatenate(means))
    beyond = max(1, math.floor((1 - confidence) / 2 * (len(every) + 1) + 1e-9))
    return float(every[beyond - 1]), float(every[-beyond]), 1 - 2 * beyond / (len(every) + 1)


def student_half_width(values, confidence: float) -> float:
    """Return half the width of Student's interval for the mean of values[n]; infinite for n < 2."""
    if len(values) < 2:
        return math.inf
    return float(scipy.stats.t.ppf((1 + confidence) / 2, len(values) - 1) * scipy.stats.sem(values))


def tost(d, margin: float) -> float:
    """Return p of two one-sided paired t-tests (Schuirmann 1987): it is small if the mean of d[n]
    is shown to lie within ±margin.

    NaN for n < 2. If all differences are equal, p is 0 inside the margin and 1 outside.
    """
    d = np.asarray(d, dtype=float)
    if len(d) < 2:
        return math.nan
    if np.ptp(d) <= 1e-12 * float(np.abs(d).max()):  # equal except for rounding
        return 0.0 if abs(float(d.mean())) < margin else 1.0
    error = float(d.std(ddof=1)) / math.sqrt(len(d))
    # The larger of both p values belongs to the end that is closer to the mean.
    return float(scipy.stats.t.sf((margin - abs(float(d.mean()))) / error, len(d) - 1))


def paired_t(d) -> float:
    """Return the two-sided p of the paired t-test that the mean of d[n] is 0; NaN for n < 2. If all
    differences are equal, p is 1 if they are 0, else 0."""
    d = np.asarray(d, dtype=float)
    if len(d) < 2:
        return math.nan
    if np.ptp(d) <= 1e-12 * float(np.abs(d).max()):  # equal except for rounding
        return 0.0 if d.any() else 1.0
    error = float(d.std(ddof=1)) / math.sqrt(len(d))
    return float(2 * scipy.stats.t.sf(abs(float(d.mean())) / error, len(d) - 1))


def holm(p) -> np.ndarray:
    """Return p[n] of a family of statements, corrected by Holm's method (1979): if each corrected p
    at most alpha is called significant, the probability of one false statement or more is at most
    alpha, however the statements depend on each other.

    The smallest p is multiplied by n, the next by n - 1, and so on; a corrected p is never below
    that of a smaller p. NaN stands for a statement that was not tested, which does not count.
    """
    p = np.asarray(p, dtype=float)
    found = np.full(len(p), np.nan)
    tested = np.flatnonzero(np.isfinite(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    found[order] = np.minimum(1.0, np.maximum.accumulate(factors * p[order]))
    return found


def spearman_interval(rho: float, n: int, confidence: float) -> tuple[float, float]:
    """Return an interval for Spearman's rank correlation of n pairs: normal in Fisher's
    transformation, with the variance (1 + rho^2 / 2) / (n - 3) (Bonett and Wright 2000). It
    assumes that the pairs are a random sample, and is approximate for few pairs.

    A perfect order is treated as the next lower value that n pairs can have, because its own
    interval would have no width. (-1, 1) for n < 4.
    """
    if not math.isfinite(rho):
        return math.nan, math.nan
    if n < 4:
        return -1.0, 1.0
    most = 1 - 12 / (n * (n * n - 1))
    middle = math.atanh(min(max(rho, -most), most))
    z = float(scipy.stats.norm.ppf((1 + confidence) / 2))
    half = z * math.sqrt((1 + rho * rho / 2) / (n - 3))
    low, high = math.tanh(middle - half), math.tanh(middle + half)
    return (low, 1.0 if rho > most else high) if rho >= 0 else (-1.0 if rho < -most else low, high)


def ranks(values, axis=None) -> np.ndarray:
    """Return ranks from 1; equal values share the mean of their ranks."""
    return scipy.stats.rankdata(values, axis=axis)


def spearman(x, y) -> float:
    """Return Spearman's rank correlation; NaN for fewer than 3 pairs or if one side is constant."""
    return correlation(scipy.stats.spearmanr, x, y)


def kendall(x, y) -> float:
    """Return Kendall's rank correlation tau-b: ties count for neither side and shorten both. NaN as
    in `spearman`."""
    return correlation(scipy.stats.kendalltau, x, y)


def correlation(how, x, y) -> float:
    """Return a correlation of scipy over the pairs that are finite."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    use = np.isfinite(x) & np.isfinite(y)
    if use.sum() < 3:
        return math.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a constant side gives NaN
        return float(how(x[use], y[use])[0])


def orders(n: int, rng: np.random.Generator) -> tuple[np.ndarray, bool]:
    """Return (orders of n things [rows, n], whether these are all): if there are too many, 10,000
    random orders after the given one."""
    if math.factorial(n) <= EXACT:
        return np.array(list(itertools.permutations(range(n)))), True
    drawn = rng.permuted(np.tile(np.arange(n), (10_000, 1)), axis=1)
    return np.vstack([np.arange(n), drawn]), False


def spearman_together(x, y, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return (rho, p), each [a, b]: the rank correlations of the a rows of x[a, n] with the b rows
    of y[b, n], and their p by permuting the n, corrected for a times b correlations.

    p is the share of orders in which the largest of all |rho| reaches this |rho| (Westfall and
    Young 1993): if x and y are independent, the probability that any p is at most 0.05 is at most
    0.05. All numbers must be finite; the result is NaN if a row is constant.
    """
    a, b = (scaled(scipy.stats.rankdata(np.atleast_2d(v), axis=1)) for v in (x, y))
    rho = a @ b.T
    taken, _ = orders(a.shape[1], rng)
    largest = np.zeros(len(taken))
    for row in b:
        largest = np.maximum(largest, np.nan_to_num(np.abs(row[taken] @ a.T)).max(axis=1))
    p = np.mean(largest[:, None, None] >= np.abs(rho) - 1e-12, axis=0)
    return rho, np.where(np.isfinite(rho), p, np.nan)


def scaled(values: np.ndarray) -> np.ndarray:
    """Return the rows [a, n] centred and scaled to length 1; NaN if a row is constant."""
    centred = values - values.mean(axis=1, keepdims=True)
    length = np.sqrt((centred * centred).sum(axis=1, keepdims=True))
    return centred / np.where(length > 0, length, np.nan)
