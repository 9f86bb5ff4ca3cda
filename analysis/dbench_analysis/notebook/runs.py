"""Runs and their tables for notebooks: `da.open`, `da.runs`, `da.collect`, `da.curves`.

Every function names runs by files, folders, glob patterns, Paths, open runs, tables of `collect`,
or lists of these. `where` selects among them as `--where` does: "replicas=16", or a list of such
conditions.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import pandas as pd

from ..pages import overview  # noqa: F401 (notebooks show a run by its overview)
from ..quantities import fields, series
from ..reading.metrics import METRICS
from ..reading.run import Run
from ..reading.schema import MEASURES
from . import selection
from .selection import Runs, RunSource, unknown

CURVES = (*METRICS, "train_accuracy", "train_loss", "variance", *MEASURES)


def open(path: str | os.PathLike[str]) -> Run:  # callers write `da.open`
    """Open a result file. Its run may be finished, still running, or killed."""
    return Run(path)


load = open


def runs(*sources: RunSource, where: str | Sequence[str] = ()) -> Runs:
    """Open runs as a sequence that also takes names: `runs("results/")["D_ring"]`."""
    return selection.opened(sources, where)


def collect(*sources: RunSource, columns: str | Sequence[str] | None = None,
            add: str | Sequence[str] | None = None,
            where: str | Sequence[str] = ()) -> pd.DataFrame:
    """Return one row per run: spec, status, accuracies (fractions), losses, spread, bytes, times
    (seconds). The index "run" holds the runs' names, or their files if names repeat.

    columns   these columns only: keys of `dbench-analyze table`, or JSON pointers into the spec
    add       columns in addition to the usual ones, such as "/optimizer/momentum"

    Filter the table and pass it to the other functions: `plot(table[table.replicas == 16])`.
    """
    keys = selection.keys(columns, fields.COLLECTED, "columns")
    keys += [key for key in selection.keys(add, (), "add") if key not in keys]
    frame = selection.collection(sources, [*keys, "name", "file"], where).frame
    labels = selection.distinct(list(zip(frame["name"], frame["file"])))
    return frame[keys].set_index(pd.Index(labels, name="run"))


def curves(*sources: RunSource, kind: str = "accuracy",
           where: str | Sequence[str] = ()) -> pd.DataFrame:
    """Return a curve of each run, with rows by run and iteration.

    accuracy, loss, ...           epoch; min, median, max over the evaluated replicas; mean: of the
                                  averaged parameters. The iteration counts completed iterations.
                                  Accuracies are fractions. perplexity and top5 exist if the run
                                  recorded them
    train_accuracy, train_loss    epoch; min, median, max over the replicas' minibatches
    variance                      epoch, variance (mean over parameters), consensus (distance);
                                  variance_after, consensus_after if they were recorded
    gini and the other measures   epoch; low, median, high: quartiles over the weight tensors

    Joins with a table of `collect`: `curves("results/").join(table[["implementation", "seed"]])`.
    """
    if kind not in CURVES:
        raise unknown("curve", kind, CURVES)
    opened = selection.opened(sources, where)
    return pd.concat([curve(run, kind) for run in opened], keys=opened.labels,
                     names=["run", "iteration"])


def curve(run: Run, kind: str) -> pd.DataFrame:
    """Return one run's curve by iteration."""
    if kind in MEASURES:
        return series.dispersion(run, kind).set_index("iteration")
    if kind == "variance":
        return series.variance(run).set_index("iteration")
    if not kind.startswith("train_"):
        return series.evaluations(run, kind).set_index("iteration")
    return series.training(run, kind.removeprefix("train_")).set_index("iteration")
