"""Settings as points: the early spread of the replicas against the final performance."""

import numpy as np

from ..quantities.ends import End, over_seeds
from . import style


def spread_and_end(axis, settings: list[tuple[style.Look, list[float], list[End]]]):
    """Draw a point for each setting from its runs' spreads and ends: the local median (bar: worst
    to best of all seeds) and the mean model (dash, bars: lowest to highest seed). Return the scale
    of x, which the caller applies."""
    scale = style.Logarithmic([early for _, early, _ in settings])
    x = [float(np.mean(scale.place(early))) for _, early, _ in settings]
    seen = np.concatenate([style.positive(scale.place(early)) for _, early, _ in settings] or [[]])
    axis.set_xscale("log")
    y = [float(np.mean([end.mean for end in ends])) for *_, ends in settings]
    for (look, early, ends), at, mean, apart in zip(settings, x, y, style.separated(
            axis, np.log10(x), y)):
        low, median, high = over_seeds(ends)
        style.include(axis, [at], [[low], [high], [mean], *([end.mean] for end in ends)])
        how = {"color": look.colour, "transform": apart, "capsize": 2}
        if np.isfinite([at, low, median, high]).all():
            axis.errorbar([at], [median], yerr=style.bars([median], [low], [high]),
                          fmt=look.marker, markersize=6, elinewidth=0.9, **how)
        across = style.bars([at], *([f(scale.place(early))] for f in (np.min, np.max)))
        along = style.bars([mean], *([f([end.mean for end in ends])] for f in (np.min, np.max)))
        axis.errorbar([at], [mean], xerr=across if len(ends) > 1 else None,
                      yerr=along if len(ends) > 1 else None, fmt="_", markersize=13,
                      markeredgewidth=1.8, elinewidth=2.2, **how)
    if len(seen):  # marks that were moved apart do not extend the axis
        axis.set_xlim(seen.min() / 2, seen.max() * 2)
    return scale


def explained(axis, seeds: bool):
    """Add the meaning of the marks to the legend."""
    axis.plot([], [], color="#555555", linewidth=0, marker="o", markersize=6,
              label=style.WORST_TO_BEST)
    axis.plot([], [], color="#555555", linewidth=0, marker="_", markersize=11, markeredgewidth=1.8,
              label="mean model" + " (bars: lowest to highest seed)" * seeds)
