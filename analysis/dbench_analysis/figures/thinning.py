"""Shortens long curves for drawing; bands keep their extremes."""

import numpy as np

POINTS = 400


def mean_of(values: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return the mean of the finite values of each bin; NaN if a bin has none. `first` has the
    first row of each bin."""
    finite = np.isfinite(values)
    count = np.add.reduceat(finite, first, dtype=float)
    total = np.add.reduceat(np.where(finite, values, 0.0), first)
    return np.divide(total, count, out=np.full(len(first), np.nan), where=count > 0)


def least_of(values: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return the least finite value of each bin, as `mean_of`."""
    return np.fmin.reduceat(np.where(np.isfinite(values), values, np.nan), first)


def largest_of(values: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return the largest finite value of each bin, as `mean_of`."""
    return np.fmax.reduceat(np.where(np.isfinite(values), values, np.nan), first)


def thin(x, *curves, points: int = POINTS, reduce=None):
    """Return x and curves, each [rows], reduced to `points` bins of consecutive rows; fewer rows
    remain as they are.

    `reduce` has one reduction per curve (default: mean_of), e.g. (least_of, mean_of, largest_of)
    for a band around a line.
    """
    x = np.asarray(x, dtype=float)
    rows = min([len(x), *map(len, curves)])
    short = [np.asarray(c[:rows], dtype=float) for c in curves]
    if rows <= points:
        return x[:rows], *short
    first = np.linspace(0, rows, points + 1).astype(int)[:-1]
    reduce = reduce or [mean_of] * len(short)
    return mean_of(x, first), *(how(c, first) for c, how in zip(short, reduce))
