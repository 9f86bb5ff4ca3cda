"""Shortens long curves for drawing; bands keep their extremes."""

import warnings

import numpy as np

POINTS = 400


def thin(x, *curves, points: int = POINTS, reduce=None):
    """Return x and curves, each [rows], reduced to `points` bins of consecutive rows; fewer rows
    remain as they are.

    `reduce` names one reduction per curve (default: np.nanmean), e.g. (np.nanmin, np.nanmean,
    np.nanmax) for a band around a line.
    """
    x = np.asarray(x, dtype=float)
    rows = min([len(x), *map(len, curves)])
    short = [np.asarray(c[:rows], dtype=float) for c in curves]
    if rows <= points:
        return x[:rows], *short
    edges = np.linspace(0, rows, points + 1).astype(int)
    reduce = reduce or [np.nanmean] * len(short)

    def binned(values, how):
        values = np.where(np.isfinite(values), values, np.nan)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return np.array([how(values[a:b]) for a, b in zip(edges[:-1], edges[1:])])

    return binned(x, np.nanmean), *(binned(c, how) for c, how in zip(short, reduce))
