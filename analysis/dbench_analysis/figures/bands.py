"""Curves over seeds, with a band that shows how much the seeds differ."""

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from ..quantities import series

LEVEL = 0.95  # of the interval of the mean, which rests on normality


def half_width(deviation: np.ndarray, count: np.ndarray, kind: str) -> np.ndarray:
    """Return half the width of a band around means over `count` seeds; 0 for a single seed."""
    if kind == "none":
        return np.zeros(len(deviation))
    if kind == "ci":
        freedom = np.maximum(count - 1, 1)
        deviation = stdtrit(freedom, (1 + LEVEL) / 2) * deviation / np.sqrt(np.maximum(count, 1))
    return np.where(count > 1, deviation, 0.0)


def over_seeds(frames: list[pd.DataFrame], kind: str, by: str = "iteration") -> pd.DataFrame:
    """Return `series.over_seeds` with COLUMN_low and COLUMN_high as the ends of a band of this kind
    (see page_layout.BANDS)."""
    found = series.over_seeds(frames, by)
    there = [frame for frame in frames if len(frame)]
    if kind == "minmax" or not there:
        return found
    rows = pd.concat(there, ignore_index=True).astype(float).replace(
        [np.inf, -np.inf], np.nan).groupby(by)
    for column in [name for name in found if f"{name}_low" in found]:
        of_column = rows[column]
        deviation, count = (of_column.agg(how).reindex(found[by]).to_numpy(dtype=float)
                            for how in ("std", "count"))
        half = half_width(deviation, count, kind)
        found[f"{column}_low"], found[f"{column}_high"] = (found[column] - half,
                                                           found[column] + half)
    return found
