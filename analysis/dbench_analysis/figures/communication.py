"""What the exchange costs and carries: neighbours and bytes over iterations, accuracy over
bytes."""

import numpy as np

from .. import series
from ..run import Run
from . import style
from .accuracy import clean
from .thin import thin


def cost(runs: list[Run]):
    """Left: mean degree over iterations. Right: mean model's performance over bytes per replica."""
    figure, ((left, right),) = style.panels(1, 2, 9.0, 4.2)
    kinds = [series.performance(run) for run in runs]
    kind = "accuracy" if any(k == "accuracy" for _, k in kinds) else "loss"
    for run, look, (found, its) in zip(runs, style.looks(runs), kinds):
        x, degree = thin(run.iterations["iteration"][:], run.iterations["degree"][:])
        left.plot(x, degree, color=look.colour, linestyle=look.dash, label=look.label,
                  marker="." if len(x) < 3 else None)
        sent = np.concatenate([[0.0], np.cumsum(series.bytes_sent(run))]) / run.replicas
        at = found["iteration"].to_numpy(dtype=int)
        if its == kind and len(at):
            inside = at < len(sent)
            right.plot(sent[at[inside]] / 1e6, clean(found["mean"], kind == "loss")[inside],
                       color=look.colour, linestyle=look.dash,
                       marker=look.marker, markersize=4)
    left.set(title="neighbours of a replica", xlabel="iteration",
             ylabel="mean out-degree, without self")
    left.set_ylim(bottom=0)
    right.set(title=f"{kind} over what was sent", xlabel="sent per replica (MB)",
              ylabel=f"{kind} of the mean model")
    if kind == "accuracy":
        style.percent_axis(right)
    style.legend(figure, [left], len(runs))
    return figure
