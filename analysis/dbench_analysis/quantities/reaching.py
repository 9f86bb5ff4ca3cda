"""When a run first reaches an accuracy, and at which cost."""

import numpy as np

from ..basics.errors import names_the_run
from ..reading.metrics import METRICS
from ..reading.run import Run
from . import series
from .progress import progress


@names_the_run
def first_reached(run: Run, metric: str, target: float) -> int | None:
    """Return the iterations completed at the first evaluation at which the mean model is at least
    as good as `target`; None if no evaluation is."""
    found = series.evaluations(run, metric)
    values = found["mean"].to_numpy(dtype=float)
    there = values <= target if METRICS[metric].low else values >= target
    return int(found["iteration"].to_numpy()[np.argmax(there)]) if there.any() else None


def cost_to_reach(run: Run, metric: str, target: float, x: str) -> float:
    """Return how far the run is on the axis `x` (see `progress`) when it first reaches `target`;
    NaN if it does not."""
    done = first_reached(run, metric, target)
    return float("nan") if done is None else float(progress(run, np.array([done]), x)[0])
