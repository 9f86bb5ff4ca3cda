"""What can be said of a run in one cell: the columns of `table`, `show` and the report."""

from dataclasses import dataclass
from typing import Any, Callable

import numpy as np

from . import names, series
from .errors import AnalysisError
from .run import Run
from .textual import bytes_, number, percent, seconds


@dataclass(frozen=True)
class Field:
    """A column: `key` chooses it, `title` heads it, `value` computes, `show` prints; `timed`: a time."""

    key: str
    title: str
    help: str
    value: Callable[[Run], Any]
    show: Callable[[Any], str] = number
    timed: bool = False


def last(run: Run, what: str, column: str, prefix: str = "") -> float:
    """A value of the last evaluation; NaN where there was none."""
    if f"{prefix}mean_{what}" not in run.evaluations:
        return float("nan")
    found = series.evaluations(run, what, prefix)[column]
    return float(found.iloc[-1]) if len(found) else float("nan")


def best(run: Run) -> float:
    found = series.evaluations(run, "accuracy")["mean"].to_numpy(dtype=float)
    return float(series.quiet(np.nanmax, found)) if len(found) else float("nan")


def final_spread(run: Run, measure: str) -> float:
    found = series.spread(run, measure)["value"]
    return float(found.iloc[-1]) if len(found) else float("nan")


def total(run: Run, name: str) -> float:
    return float(np.sum(run.iterations[name][:], dtype=np.float64)) if name in run.iterations else float("nan")


def mean(run: Run, name: str) -> float:
    return float(np.mean(run.iterations[name][:])) if name in run.iterations else float("nan")


def step(run: Run) -> float:
    """Median step time of the slowest rank, in seconds, without the first iteration."""
    times = series.step_times(run)
    times = times[1:] if len(times) > 1 else times
    return float(series.quiet(np.nanmedian, times)) if len(times) else float("nan")


def batch(run: Run) -> float:
    """Samples in one iteration of all replicas; NaN where the spec says "full"."""
    size = run.spec.get("data", {})
    size = size.get("batch_size", 32) if isinstance(size, dict) else 32
    if isinstance(size, dict):
        return float(size.get("global", "nan"))
    return float(size * run.replicas) if isinstance(size, (int, float)) else float("nan")


def rho(run: Run) -> float:
    value = run.certificate.get("rho")
    return float(value) if value is not None else float("nan")


def short(value: float) -> str:
    return number(value, 3)


def rate(value: float) -> str:
    return number(value, 3) if not value >= 100 else f"{value:,.0f}"


def part(name: str) -> Callable[[Run], float]:
    return lambda run: series.breakdown(run).get(name, float("nan"))


def lr(run: Run) -> float:
    optimizer = run.spec.get("optimizer")
    return float(optimizer.get("lr", "nan")) if isinstance(optimizer, dict) else float("nan")


def _table() -> list[Field]:
    def spec(key):
        return lambda run: names.type_of(run.spec.get(key))

    columns = [
        Field("name", "name", "the run's name", lambda r: r.name),
        Field("file", "file", "the result file", lambda r: str(r.path)),
        Field("status", "status", "complete, running, failed or preempted", lambda r: r.status),
        Field("implementation", "communication", "implementation, or algorithm and graph", names.communication),
        Field("graph", "graph", "the graph's type", names.graph),
        Field("algorithm", "algorithm", "the algorithm's type", names.algorithm),
        Field("optimizer", "optimizer", "the optimizer's type", spec("optimizer")),
        Field("lr", "lr", "base learning rate of the spec", lr),
        Field("model", "model", "the model's type", spec("model")),
        Field("data", "data", "the data set", spec("data")),
        Field("replicas", "replicas", "replicas n", lambda r: r.replicas),
        Field("ranks", "ranks", "MPI ranks", lambda r: r.rank_count),
        Field("batch", "global batch", "samples per iteration, all replicas", batch),
        Field("iterations", "iterations", "iterations recorded", lambda r: len(r.iterations)),
        Field("epochs", "epochs", "epochs done", lambda r: float(r.iterations["epoch"][-1]) if len(r.iterations) else 0.0),
        Field("degree", "degree", "mean neighbours per iteration", lambda r: mean(r, "degree")),
        Field("rho", "rho", "second largest modulus of W (first graph)", rho),
        Field("bytes", "sent", "bytes sent by all replicas, whole run", lambda r: total(r, "bytes_sent"), bytes_),
    ]
    for what, show in (("accuracy", percent), ("loss", number)):
        for column in ("min", "median", "max"):
            columns.append(
                Field(f"{what}_{column}", f"local {what} {column}", f"final {what}, {column} over the evaluated replicas",
                         lambda r, w=what, c=column: last(r, w, c), show)
            )
        columns.append(
            Field(f"{what}_mean_model", f"mean model {what}", f"final {what} of the averaged parameters",
                     lambda r, w=what: last(r, w, "mean"), show)
        )
    columns += [
        Field("accuracy_best", "best mean model", "best accuracy of the averaged parameters", best, percent),
        Field("validation_accuracy", "validation", "final validation accuracy of the averaged parameters",
                 lambda r: last(r, "accuracy", "mean", "validation_"), percent),
        Field("variance", "variance", "last variance over replicas, mean over parameters", lambda r: final_spread(r, "variance"), short),
        Field("variance_early", "early variance", "mean variance over the first tenth of the iterations",
                 lambda r: series.early_spread(r, "variance"), short),
        Field("consensus", "consensus distance", "last consensus distance", lambda r: final_spread(r, "consensus"), short),
        Field("gini", "Gini", "last Gini coefficient of the norms, median over weight tensors", lambda r: final_spread(r, "gini"), short),
        Field("step_time", "step", "median step time of the slowest rank", step, seconds, timed=True),
        Field("throughput", "samples/s", "global batch / median step time", lambda r: batch(r) / step(r),
                 rate, timed=True),
    ]
    for name in ("data", "gradient", "update", "exchange", "rest", "profile"):
        columns.append(Field(f"time_{name}", name, f"mean seconds per iteration: {name}", part(name), seconds, timed=True))
    return columns


COLUMNS = {column.key: column for column in _table()}
DEFAULT = (
    "name", "implementation", "replicas", "epochs", "accuracy_min", "accuracy_median", "accuracy_max",
    "accuracy_mean_model", "variance_early", "variance", "consensus", "bytes", "step_time",
)


def chosen(text: str | None) -> list[Field]:
    """Columns from a comma-separated list of keys; "all" for every one."""
    if text is None:
        return [COLUMNS[key] for key in DEFAULT]
    if text == "all":
        return list(COLUMNS.values())
    keys = [key.strip() for key in text.split(",") if key.strip()]
    for key in keys:
        if key not in COLUMNS:
            raise AnalysisError(f"--columns {key}", "no such column", f"choose from {', '.join(COLUMNS)}")
    if not keys:
        raise AnalysisError("--columns", "no column named", f"choose from {', '.join(COLUMNS)}")
    return [COLUMNS[key] for key in keys]
