"""How far a run is after some iterations: iterations, epochs, bytes sent per replica, seconds."""

import numpy as np

from ..basics.errors import names_the_run
from ..reading.run import Run
from . import series

X = {"iterations": "iteration", "epochs": "epoch", "bytes": "sent per replica (MB)",
     "seconds": "seconds of steps, the slowest rank's"}


@names_the_run
def progress(run: Run, done: np.ndarray, x: str) -> np.ndarray:
    """Return how far the run is when `done` iterations are complete, on the x axis `x` (a key of
    X); NaN where it is not recorded."""
    done = np.asarray(done, dtype=int)
    if x == "iterations":
        return done.astype(float)
    if x == "seconds":
        return series.step_seconds(run, done)
    if x == "epochs":
        reached = np.concatenate([[0.0], run.iterations["epoch"][:]])
    else:
        sent = series.bytes_per_replica(run) / 1e6
        reached = np.concatenate([[0.0], np.cumsum(np.nan_to_num(sent))])
    return np.where(done < len(reached), np.take(reached, done, mode="clip"), np.nan)
