"""The fields of a run that fit in one cell: the columns of `table`, `collect`, `show` and
reports."""

import difflib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..basics.errors import AnalysisError, names_the_run, reading
from ..basics.formatting import bytes_, number, percent, seconds
from ..naming import names, pointers
from ..reading.metrics import FURTHER, METRICS
from ..reading.run import Run
from . import series
from .comparability import caveats


@dataclass(frozen=True)
class Field:
    """A column. `key` selects it, `title` is its heading, `compute` returns its value, `show`
    prints a value; `timed` is true for a time. `better` is "high" or "low" if it can rank runs."""

    key: str
    title: str
    help: str
    compute: Callable[[Run], Any]
    show: Callable[[Any], str] = number
    timed: bool = False
    better: str = ""

    @property
    def is_text(self) -> bool:
        """Return whether every value is a text, even if it looks like a number."""
        return self.key in TEXTS

    @property
    def is_fraction(self) -> bool:
        """Return whether the values are fractions, which tables show in per cent."""
        return self.show is percent

    def value(self, run: Run) -> Any:
        """Return the value for a run; from the table's row if the run has no result file."""
        if self.key in run.cells:
            return run.cells[self.key]
        with reading(run.path, f"what {self.key} is made from"):
            return self.compute(run)


TEXTS = frozenset((
    "name", "file", "status", "implementation", "graph", "graph_label", "algorithm", "message",
    "optimizer", "schedule", "model", "data", "partition", "precision", "compute", "started",
    "error", "time_note", "spec"))

_read: WeakKeyDictionary[Run, dict] = WeakKeyDictionary()


@names_the_run
def evaluated(run: Run, what: str, prefix: str = ""):
    """Return the columns of `series.evaluations` as arrays; None if the run does not have the
    metric. They are read once for all fields, and again if the file has grown."""
    kept, key = _read.setdefault(run, {}), (what, prefix, len(run.evaluations))
    if key not in kept:
        recorded = f"{prefix}mean_{what}" in run.evaluations
        kept[key] = ({name: column.to_numpy() for name, column in series.evaluations(
            run, what, prefix).items()} if recorded else None)
    return kept[key]


@names_the_run
def last(run: Run, what: str, column: str, prefix: str = "") -> float:
    """Return a value of the last evaluation; NaN without one."""
    found = evaluated(run, what, prefix)
    if found is None:
        return float("nan")
    return float(found[column][-1]) if len(found[column]) else float("nan")


def best(run: Run, what: str, column: str) -> float:
    """Return the best value of all evaluations."""
    found, reduce = evaluated(run, what), np.nanmin if METRICS[what].low else np.nanmax
    return (float(series.nan_safe(reduce, found[column].astype(float))) if found is not None
            and len(found[column]) else float("nan"))


def final_spread(run: Run, measure: str) -> float:
    """Return the last value of a measure of spread."""
    if measure in ("variance", "consensus"):
        return series.final_variance(run, measure)
    return series.final_dispersion(run, measure)


@names_the_run
def sent(run: Run) -> float:
    """Return the bytes that all replicas sent for training, also to measure for a controller; NaN
    if they were not recorded."""
    return (float(np.sum(series.bytes_sent(run))) if "bytes_sent" in run.iterations
            else float("nan"))


@names_the_run
def mean(run: Run, name: str) -> float:
    """Return the mean over all iterations; NaN if it was not recorded."""
    return float(np.mean(run.iterations[name][:])) if name in run.iterations else float("nan")


def step(run: Run) -> float:
    """Return the median step time of the slowest rank in seconds, without the first iteration."""
    times = series.step_times(run)
    times = times[1:] if len(times) > 1 else times
    return float(series.nan_safe(np.nanmedian, times)) if len(times) else float("nan")


def elapsed(run: Run) -> float:
    """Return the seconds from the start to the last evaluation."""
    recorded = "elapsed" in run.evaluations
    return float(run.evaluations["elapsed"][-1]) if recorded else float("nan")


def batch_size(run: Run):
    """Return the spec's batch size: a number, words, or an object with the global batch."""
    data = run.spec.get("data", {})
    return data.get("batch_size", 32) if isinstance(data, dict) else 32


def local_batch(run: Run):
    """Return the samples of one replica in one iteration; "full" if that is its whole partition."""
    size = batch_size(run)
    if isinstance(size, dict):
        return float(size.get("global", "nan")) / run.replicas
    return float(size) if isinstance(size, (int, float)) else str(size)


def batch(run: Run) -> float:
    """Return the samples of all replicas in one iteration; NaN if the spec says "full"."""
    size = batch_size(run)
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


def at_end(what: str, column: str, prefix: str = "") -> Callable[[Run], float]:
    return lambda run: last(run, what, column, prefix)


def at_best(what: str, column: str) -> Callable[[Run], float]:
    return lambda run: best(run, what, column)


def in_spec(*path: str, default=float("nan")) -> Callable[[Run], Any]:
    """Return a function that returns the number or word at a place of the spec."""

    def value(run: Run):
        found = pointers.entry(run.spec, [*path])
        return default if found is None else found

    return value


lr = in_spec("optimizer", "lr")


def _table() -> list[Field]:
    def spec(key):
        return lambda run: names.type_of(run.spec.get(key))

    columns = [
        Field("name", "name", "the run's name", lambda r: r.name),
        Field("file", "file", "the result file", lambda r: str(r.path)),
        Field("status", "status", "complete, running, failed or preempted", lambda r: r.status),
        Field("implementation", "communication", "implementation, or algorithm and graph",
              names.implementation, names.marked),
        Field("graph", "graph", "the graph's type", names.graph),
        Field("graph_label", "graph", "the graph's type and parameters", names.graph_label),
        Field("algorithm", "algorithm", "the algorithm's type", names.algorithm),
        Field("message", "message", "how messages are compressed, with parameters", names.message),
        Field("optimizer", "optimizer", "the optimizer's type", spec("optimizer")),
        Field("lr", "lr", "base learning rate of the spec", lr),
        Field("momentum", "momentum", "momentum of the optimizer",
              in_spec("optimizer", "momentum")),
        Field("weight_decay", "weight decay", "weight decay of the optimizer",
              in_spec("optimizer", "weight_decay")),
        Field("schedule", "schedule", "the learning rate's schedule", spec("schedule")),
        Field("model", "model", "the model's type", spec("model")),
        Field("data", "data", "the data set", spec("data")),
        Field("partition", "partition", "how samples are divided among replicas, with parameters",
              names.partition),
        Field("alpha", "alpha", "the partition's alpha: the lower, the more the labels differ",
              in_spec("data", "partition", "alpha")),
        Field("precision", "precision", "float32 or float64",
              in_spec("precision", default="float32")),
        Field("compute", "compute", "the type in which models compute: precision, bfloat16 or tf32",
              in_spec("compute", default="precision")),
        Field("seed", "seed", "the seed", names.seed),
        Field("replicas", "replicas", "replicas n", lambda r: r.replicas),
        Field("evaluated", "evaluated", "replicas whose models are evaluated",
              lambda r: len(r.evaluations["replica"]) if "replica" in r.evaluations
              else r.replicas),
        Field("ranks", "ranks", "MPI ranks", lambda r: r.rank_count),
        Field("batch", "global batch", "samples per iteration, all replicas", batch),
        Field("batch_size", "local batch", "samples per iteration of one replica", local_batch),
        Field("iterations", "iterations", "iterations recorded", lambda r: len(r.iterations)),
        Field("epochs", "epochs", "epochs done",
              lambda r: float(r.iterations["epoch"][-1]) if len(r.iterations) else 0.0),
        Field("degree", "degree", "mean neighbours per iteration", lambda r: mean(r, "degree")),
        Field("rho", "rho", "norm of W - J/n (first graph): 1 minus the spectral gap", rho),
        Field("bytes", "sent", "bytes sent by all replicas, whole run, with a controller's",
              sent, bytes_, better="low"),
    ]
    for m in METRICS.values():
        for column in ("min", "median", "max"):
            columns.append(Field(f"{m.name}_{column}", f"local {m.title} {column}",
                                 f"final {m.title}, {column} over the evaluated replicas",
                                 at_end(m.name, column), m.show, better=m.better))
        columns.append(Field(f"{m.name}_mean_model", f"mean model {m.title}",
                             f"final {m.title} of the averaged parameters",
                             at_end(m.name, "mean"), m.show, better=m.better))
    for m in METRICS.values():
        word = "lowest" if m.low else "best"
        columns.append(Field(f"{m.name}_best", f"{word} {m.title}",
                             f"{word} {m.title} of the averaged parameters",
                             at_best(m.name, "mean"), m.show, better=m.better))
        columns.append(Field(f"validation_{m.name}", f"validation {m.title}",
                             f"final validation {m.title} of the averaged parameters",
                             at_end(m.name, "mean", "validation_"), m.show, better=m.better))
    columns += [
        Field("accuracy_local_best", "best local median",
              "best median accuracy of the local models",
              at_best("accuracy", "median"), percent, better="high"),
        Field("variance", "variance", "variance over replicas at the end, mean over parameters",
              lambda r: final_spread(r, "variance"), short),
        Field("variance_early", "early variance",
              "mean variance over the first tenth of the iterations",
                 lambda r: series.early_spread(r, "variance"), short),
        Field("variance_early_after", "early variance after",
              "the same right after averaging (profile.after)",
                 lambda r: series.early_spread(r, "variance_after"), short),
        Field("consensus", "consensus distance", "consensus distance at the end",
              lambda r: final_spread(r, "consensus"), short),
        Field("gini", "Gini", "Gini coefficient of the norms at the end, median over weights",
              lambda r: final_spread(r, "gini"), short),
        Field("step_time", "step", "median step time of the slowest rank", step, seconds,
              timed=True, better="low"),
        Field("elapsed", "elapsed", "time from the start to the last evaluation", elapsed, seconds,
              timed=True, better="low"),
        Field("throughput", "samples/s", "global batch / median step time",
              lambda r: batch(r) / step(r) if step(r) > 0 else float("nan"),
              rate, timed=True, better="high"),
    ]
    for name in ("data", "gradient", "update", "exchange", "rest", "profile"):
        columns.append(Field(f"time_{name}", name, f"mean seconds per iteration: {name}",
                             part(name), seconds, timed=True, better="low"))
    return columns


COLUMNS = {column.key: column for column in _table()}
DEFAULT = (
    "name", "implementation", "replicas", "epochs", "accuracy_min", "accuracy_median",
    "accuracy_max",
    "accuracy_mean_model", "variance_early", "variance", "consensus", "bytes", "step_time",
)


def default(runs: list[Run]) -> tuple[str, ...]:
    """Return DEFAULT, with the further metrics that some run has."""
    further = (f"{name}_mean_model" for name in FURTHER
               if any(series.has_metric(run, name) for run in runs))
    after = DEFAULT.index("accuracy_mean_model") + 1
    return (*DEFAULT[:after], *further, *DEFAULT[after:])


COLLECTED = (
    "name", "status", "implementation", "algorithm", "graph", "graph_label", "replicas",
    "evaluated", "ranks", "seed", "model", "data", "partition",
    "precision", "compute", "optimizer", "lr", "momentum", "weight_decay", "schedule",
    "batch_size", "batch", "iterations", "epochs", "degree", "rho", "bytes",
    *(f"{what}_{c}" for what in METRICS for c in ("min", "median", "max", "mean_model", "best")),
    *(f"validation_{what}" for what in METRICS), "accuracy_local_best", "variance_early",
    "variance_early_after", "variance", "consensus", "elapsed", "started", "error", "time_note",
    "file", "spec",
)
# only in tables of `collect`
NOTES = {column.key: column for column in (
    Field("started", "started", "when the run began", lambda r: r.started),
    Field("error", "error", "why it failed", lambda r: r.error),
    Field("time_note", "note on times", "why its times must not be compared",
          lambda r: "; ".join(caveats(r))),
    Field("spec", "spec", "the spec with all defaults, as JSON", lambda r: json.dumps(r.spec)),
)}


def at(pointer: str) -> Field:
    """Return a column for an entry of the spec, by JSON pointer."""
    def value(run: Run):
        found = in_spec(*pointers.words(pointer))(run)
        return json.dumps(found) if isinstance(found, (dict, list)) else found

    return Field(pointer, pointer, f"the spec's {pointer}", value)


def find(key: str, place: str = "--columns") -> Field:
    """Return the column of a key or of a JSON pointer into the spec."""
    if key.startswith("/"):
        return at(key)
    if key in COLUMNS or key in NOTES:
        return COLUMNS.get(key) or NOTES[key]
    near = difflib.get_close_matches(key, [*COLUMNS, *NOTES], 1)
    meant = f"did you mean {near[0]}? Else " if near else ""
    raise AnalysisError(f"{place} {key}", "no such column",
                        f"{meant}choose from {', '.join(COLUMNS)}, or a JSON pointer into the spec")


def one(text: str, place: str, remedy: str = "name one") -> Field:
    """Return the only column of `text`."""
    found = chosen(text, place=place)
    if len(found) != 1:
        raise AnalysisError(f"{place} {text}", f"names {len(found)} columns", remedy)
    return found[0]


def one_metric(text: str, place: str) -> Field:
    """Return the only metric of a test."""
    return one(text, place,
               "one metric at a time: several tests on the same runs need a correction")


def chosen(text: str | None, default=DEFAULT, place: str = "--columns") -> list[Field]:
    """Return the columns of a comma-separated list of keys; "all" means every column."""
    if text is None:
        return [find(key) for key in default]
    if text == "all":
        return list(COLUMNS.values())
    keys = [key.strip() for key in text.split(",") if key.strip()]
    if not keys:
        raise AnalysisError(place, "no column named", f"choose from {', '.join(COLUMNS)}")
    return [find(key, place) for key in keys]
