"""Tests of a mean, and of a median, under differences that are not symmetric. Run as a program, it
prints how often each one errs at the nominal level 0.05: python analysis/tests/skewed.py"""

import numpy as np
from scipy import stats

LEVEL = 0.05
MEAN_OF_LOGNORMAL = np.exp(0.5)
# (draws, median) of differences with mean 0 and a standard deviation, without collapses, near 1
SKEWED = {
    "lognormal": (lambda rng, shape: rng.lognormal(0, 1, shape) - MEAN_OF_LOGNORMAL,
                  1 - MEAN_OF_LOGNORMAL),
    # One difference in twenty is that of a collapsed run, 20 standard deviations lower.
    "collapses": (lambda rng, shape: (1 + rng.standard_normal(shape)
                                      - 20 * (rng.random(shape) < 0.05)),
                  1 + stats.norm.ppf((0.5 - 0.05) / 0.95)),
}


def sign_flips(d, signs):
    """Return p for each row of d[draws, n]; signs[patterns, n] are 1 or -1."""
    sums = np.abs(d @ signs.T)
    return np.mean(sums >= np.abs(d.sum(axis=1))[:, None] * (1 - 1e-12), axis=1)


def every_sign(n):
    return 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)


def johnson(d):
    """Return p of Johnson's modified t (1978): the t-test with a correction for skewness."""
    n, mean, square = d.shape[1], d.mean(axis=1), d.var(axis=1, ddof=1)
    third = ((d - mean[:, None])**3).mean(axis=1)
    shifted = mean + third / (6 * square * n) + third / (3 * square**2) * mean**2
    return 2 * stats.t.sf(np.abs(shifted) / np.sqrt(square / n), n - 1)


def hall_statistic(d, mean_of_all):
    """Return Hall's transformed t (1992) of d[..., n]; NaN if all values are equal."""
    n, mean, deviation = d.shape[-1], d.mean(axis=-1), d.std(axis=-1)
    deviation = np.where(deviation > 0, deviation, np.nan)
    skew = ((d - mean[..., None])**3).mean(axis=-1) / deviation**3
    w = (mean - mean_of_all) / deviation
    return np.sqrt(n) * (w + skew * w**2 / 3 + skew**2 * w**3 / 27 + skew / (6 * n))


def hall(d):
    return 2 * stats.norm.sf(np.abs(hall_statistic(d, 0)))


def t_statistic(d, mean_of_all):
    deviation = d.std(axis=-1, ddof=1)
    return (d.mean(axis=-1) - mean_of_all) / np.where(deviation > 0, deviation, np.nan)


def bootstrapped(d, statistic, rng, times=999):
    """Return the equal-tailed p of the bootstrap of a statistic with mean 0."""
    p = []
    for row in d:
        again = statistic(row[rng.integers(0, len(row), (times, len(row)))], row.mean())
        again, observed = again[np.isfinite(again)], statistic(row, 0.0)
        p.append(2 * min(np.mean(again <= observed), np.mean(again >= observed)))
    return np.array(p)


def sign_test(d):
    n, positive = d.shape[1], (d > 0).sum(axis=1)
    return np.minimum(1, 2 * stats.binom.cdf(np.minimum(positive, n - positive), n, 0.5))


def equivalence(d, margin):
    """Return p of two one-sided t-tests."""
    n, error = d.shape[1], d.std(axis=1, ddof=1) / np.sqrt(d.shape[1])
    return np.maximum(stats.t.sf((d.mean(axis=1) + margin) / error, n - 1),
                      stats.t.cdf((d.mean(axis=1) - margin) / error, n - 1))


def median_within(d, margin):
    n = d.shape[1]
    return np.maximum(stats.binom.cdf((d <= -margin).sum(axis=1), n, 0.5),
                      stats.binom.cdf((d >= margin).sum(axis=1), n, 0.5))


def errors(kind: str, n: int, draws: int) -> dict[str, float]:
    """Return how often each method finds a false difference, or a false equivalence at a margin of
    2 (the worse of both ends)."""
    draw, median = SKEWED[kind]
    rng = np.random.default_rng(n)
    d = draw(rng, (draws, n))
    few = d[:draws // 8]
    p = {"sign flips": sign_flips(d, every_sign(n)), "Johnson": johnson(d), "Hall": hall(d),
         "bootstrap-t": bootstrapped(few, t_statistic, rng),
         "Hall, bootstrap": bootstrapped(few, hall_statistic, rng),
         "sign test of the median": sign_test(d - median)}
    found = {name: float(np.mean(values <= LEVEL)) for name, values in p.items()}
    for name, of, centre in (("equivalence of the mean", equivalence, 0.0),
                             ("equivalence of the median", median_within, median)):
        found[name] = max(float(np.mean(of(d - centre + end, 2) <= LEVEL)) for end in (-2, 2))
    return found


if __name__ == "__main__":
    columns = {(kind, n): errors(kind, n, 20_000) for kind in SKEWED for n in (6, 8, 10)}
    print("| method |", " | ".join(f"{kind}, n = {n}" for kind, n in columns), "|")
    print("|---|" + "---:|" * len(columns))
    for name in next(iter(columns.values())):
        print(f"| {name} |", " | ".join(f"{100 * found[name]:.0f} %"
                                        for found in columns.values()), "|")
