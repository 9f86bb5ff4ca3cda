"""The difference of two settings over the seeds that both have."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from . import significance

LEVEL = 0.05


@dataclass(frozen=True)
class Paired:
    """Differences d[n] of two settings, seed by seed.

    interval   of the mean: low, high, coverage
    exact      whether interval and p come from flipping signs. With fewer than 6 seeds no outcome
               of that test is significant: the interval is then Student's, which assumes normal
               differences, and p is NaN
    """

    d: np.ndarray
    interval: tuple[float, float, float]
    exact: bool
    p: float

    @property
    def mean(self) -> float:
        return float(self.d.mean())


def paired(a: Mapping[object, float], b: Mapping[object, float]) -> Paired | None:
    """Return the differences a - b of values by seed; None without a seed that both have."""
    shared = [seed for seed in a if seed in b and math.isfinite(a[seed]) and math.isfinite(b[seed])]
    if not shared:
        return None
    d = np.array([a[seed] - b[seed] for seed in shared])
    rng = np.random.default_rng(0)
    p, _, _ = significance.sign_flip(d, rng)
    if d.any() and 2.0 ** (1 - len(d)) <= LEVEL:
        return Paired(d, significance.mean_interval(d, 1 - LEVEL, rng), True, p)
    half = significance.student_half_width(d, 1 - LEVEL)
    return Paired(d, (float(d.mean()) - half, float(d.mean()) + half, 1 - LEVEL), False, math.nan)
