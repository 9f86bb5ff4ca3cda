"""When a run first reaches an accuracy, and at which cost."""

import numpy as np

from ..basics.errors import names_the_run
from ..naming.differences import INTERVAL, flattened, is_interval
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


def interval_note(runs: list[Run]) -> str:
    """Return a warning if the runs were evaluated at different intervals; "" if not."""
    specs = [flattened(run.spec) for run in runs]
    several = len({frozenset(item for item in spec.items() if is_interval(item[0]))
                   for spec in specs}) > 1
    return (f"Runs differ in {INTERVAL}: rarer evaluations show later that a run has reached a "
            "target.") if several else ""


def cost_to_reach(run: Run, metric: str, target: float, x: str) -> float:
    """Return how far the run is on the axis `x` (see `progress`) when it first reaches `target`;
    NaN if it does not."""
    done = first_reached(run, metric, target)
    return float("nan") if done is None else float(progress(run, np.array([done]), x)[0])
