"""The spread of the replicas over iterations: dispersion of the norms, variance, consensus
distance."""

from ..naming.measures import TITLES, UNITS
from ..quantities import series
from ..reading.run import Run
from ..reading.schema import MEASURES
from . import style
from .thinning import thin


def aggregated(runs: list[Run], each: bool = False):
    """Draw the four dispersion measures of the norms: median and quartiles over the weights."""
    settings = style.settings(runs, each)
    figure, axes = style.panels(2, 2, 9.0, 6.6, sharex=True)
    for axis, measure in zip(axes.flat, MEASURES):
        found = [setting.over(series.dispersion, measure)
                 for setting in settings]
        scale = style.Logarithmic([f[c] for f in found for c in ("low", "median")])
        for frame, setting in zip(found, settings):
            if frame.empty:
                continue
            look = setting.look
            x, low, median, high = thin(frame["iteration"], frame["low"], frame["median"],
                                        frame["high"])
            axis.fill_between(x, scale.place(low), scale.place(high), color=look.colour, alpha=0.12,
                              linewidth=0)
            axis.plot(x, scale.place(median), color=look.colour, linestyle=look.dash, linewidth=1.3,
                      label=look.label, marker=dot(x))
        axis.set_title(TITLES[measure])
        axis.set_ylabel(UNITS[measure])
        finish(axis, scale, any(len(f) for f in found), "norms were not recorded")
    for axis in axes[1]:
        axis.set_xlabel("iteration")
    style.legend(figure, axes.flat, len(runs))
    return figure


def consensus(runs: list[Run], each: bool = False):
    """Draw consensus distance and variance over iterations, with bands over the seeds; dotted lines
    are the values after averaging, if recorded."""
    figure, ((left, right),) = style.panels(1, 2, 9.0, 4.2)
    settings = style.settings(runs, each)
    found = [setting.over(series.variance) for setting in settings]
    for axis, what in ((left, "consensus"), (right, "variance")):
        names = [what, f"{what}_after"]
        scale = style.Logarithmic([f[name] for f in found for name in names if name in f])
        for frame, setting in zip(found, settings):
            look = setting.look
            for name in names:
                if name not in frame or frame.empty:
                    continue
                x, y, low, high = thin(frame["iteration"], *(frame[f"{name}{end}"]
                                                             for end in ("", "_low", "_high")))
                after = name != what
                if len(setting.runs) > 1:
                    axis.fill_between(x, scale.place(low), scale.place(high), color=look.colour,
                                      alpha=0.12, linewidth=0)
                axis.plot(x, scale.place(y), color=look.colour,
                          linestyle=(0, (1, 1)) if after else look.dash,
                          linewidth=1.0 if after else 1.3, label=None if after else look.label,
                          marker=dot(x))
        axis.set_title(TITLES[what] + (", mean over parameters" if what == "variance" else ""))
        axis.set_xlabel("iteration")
        axis.set_ylabel(UNITS[what])
        finish(axis, scale, any(len(f) for f in found), "variance was not recorded")
    if any("variance_after" in f for f in found):
        left.plot([], [], color="#555555", linewidth=1.0, linestyle=(0, (1, 1)),
                  label="after averaging")
    style.legend(figure, [left], len(runs), settings)
    return figure


def dot(x):
    """Return a marker for a line that is too short to be visible."""
    return "." if len(x) < 3 else None


def finish(axis, scale, recorded: bool, why: str):
    """Apply the scale, or say why the panel is empty."""
    if not recorded:
        style.empty_panel(axis, why)
    elif scale.empty and not scale.has_zero:
        style.empty_panel(axis, "no finite value recorded")
    else:
        scale.apply(axis, "y")
