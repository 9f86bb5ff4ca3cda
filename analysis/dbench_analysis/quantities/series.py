"""Numbers behind curves and tables: small arrays and frames, computed from a run's large arrays."""

import warnings

import numpy as np
import pandas as pd

from ..basics.errors import names_the_run
from ..reading.metrics import FURTHER
from ..reading.run import Run
from ..reading.schema import MEASURES, TIME_PARTS

# These are many times faster than the reductions that ignore NaN.
WITHOUT_NAN = {np.nanmedian: np.median, np.nanquantile: np.quantile}


def nan_safe(reduce, values, **how):
    """Return a nan-ignoring numpy reduction over the finite values. A slice without finite values
    gives NaN, without a warning."""
    if reduce in WITHOUT_NAN and values.size and np.isfinite(values).all():
        return WITHOUT_NAN[reduce](values, **how)
    values = np.where(np.isfinite(values), values, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return reduce(values, **how)


def over_seeds(frames: list[pd.DataFrame], by: str = "iteration") -> pd.DataFrame:
    """Return the frames of runs that differ in the seed as one frame. `min` and `low` are the least
    over the runs, `max` and `high` the largest, other columns the mean; each other column also has
    the least and the largest run as COLUMN_low and COLUMN_high. A row that a run skipped is
    dropped."""
    there = [frame for frame in frames if len(frame)]
    if not there:
        return frames[0].reindex(columns=[*frames[0], *(f"{c}{end}" for c in frames[0]
                                                        for end in ("_low", "_high"))])
    rows = pd.concat(there, ignore_index=True).astype(float).replace(
        [np.inf, -np.inf], np.nan).groupby(by)
    found = rows.mean().reset_index()
    for column in found.columns:
        edge = {"min": "min", "low": "min", "max": "max", "high": "max"}.get(column)
        if edge:
            found[column] = rows[column].agg(edge).to_numpy()
        elif column != by:
            found[f"{column}_low"] = rows[column].min().to_numpy()
            found[f"{column}_high"] = rows[column].max().to_numpy()
    at = found[by].to_numpy()
    reaching = sum((frame[by].max() >= at).astype(int) for frame in there)
    return found[rows.size().to_numpy() == reaching].reset_index(drop=True)


@names_the_run
def evaluations(run: Run, what: str, prefix: str = "") -> pd.DataFrame:
    """Return the metric `what` at each evaluation: iteration, epoch, local min/median/max, mean.

    `mean` is the value of the averaged parameters; `prefix` "validation_" selects the validation
    set.
    """
    table = run.evaluations
    local, mean = table[f"{prefix}local_{what}"], table[f"{prefix}mean_{what}"]
    rows = min(len(local), len(mean), len(table["epoch"]), len(table["iteration"]))
    values = local[:rows]
    frame = {"iteration": table["iteration"][:rows], "epoch": table["epoch"][:rows]}
    for name, reduce in (("min", np.nanmin), ("median", np.nanmedian), ("max", np.nanmax)):
        empty = values.shape[1] == 0
        frame[name] = np.full(rows, np.nan) if empty else nan_safe(reduce, values, axis=1)
    return pd.DataFrame({**frame, "mean": mean[:rows]})


@names_the_run
def has_metric(run: Run, name: str) -> bool:
    """Return whether the run's evaluations have this metric."""
    return f"mean_{name}" in run.evaluations


def compared(runs: list[Run]) -> list[str]:
    """Return the metrics that compare the evaluations of all runs: accuracy, perplexity (or the
    loss without it), and the other metrics that all runs have."""
    further = [name for name in FURTHER if runs and all(has_metric(run, name) for run in runs)]
    less = ["perplexity"] if "perplexity" in further else ["loss"]
    return ["accuracy", *less, *(name for name in further if name != "perplexity")]


@names_the_run
def training(run: Run, what: str) -> pd.DataFrame:
    """Return the minibatch accuracy or loss of each iteration: iteration, epoch, and min, median,
    max over the replicas."""
    column = run.iterations[f"train_{what}"]

    def reduce(values):
        return np.stack([nan_safe(f, values, axis=1) for f in (np.nanmin, np.nanmedian, np.nanmax)],
                        axis=1)

    values = column.rowwise(reduce).reshape(-1, 3)
    epoch = run.iterations["epoch"][: len(values)]
    return pd.DataFrame({"iteration": np.arange(len(epoch)), "epoch": epoch,
                         **dict(zip(("min", "median", "max"), values[: len(epoch)].T))})


@names_the_run
def epoch_of(run: Run, iterations: np.ndarray) -> np.ndarray:
    """Return the epoch at the end of each of these iterations; NaN if it is not recorded yet."""
    epoch = run.iterations["epoch"][:]
    inside = np.asarray(iterations) < len(epoch)
    return (np.where(inside, np.take(epoch, iterations, mode="clip"), np.nan) if len(epoch)
            else np.full(len(iterations), np.nan))


@names_the_run
def dispersion(run: Run, measure: str) -> pd.DataFrame:
    """Return a dispersion measure over iterations: median and quartiles over the weight tensors.

    Biases and normalization differ from weights by orders of magnitude, because norms near zero
    disperse freely. If /tensors lists no weights, all tensors count.
    """
    if measure not in run.parameters:
        return pd.DataFrame(columns=["iteration", "epoch", "low", "median", "high"])
    column, use = run.parameters[measure], weight_mask(run)
    values = column.rowwise(lambda v: nan_safe(np.nanquantile, v[:, use], q=[0.25, 0.5, 0.75],
                                            axis=1).T).reshape(-1, 3)
    iteration = column.index
    low, median, high = values.T
    return pd.DataFrame({"iteration": iteration, "epoch": epoch_of(run, iteration), "low": low,
                         "median": median, "high": high})


@names_the_run
def weight_mask(run: Run) -> np.ndarray:
    """Return a mask [T] of the tensors that are weights; all true if the model has no weights."""
    weights = (run.tensors["kind"] == "weight").to_numpy()
    return weights if weights.any() else np.ones_like(weights)


@names_the_run
def final_dispersion(run: Run, measure: str) -> float:
    """Return the last median of `dispersion`. Only that row is read."""
    if measure not in run.parameters:
        return float("nan")
    return float(nan_safe(np.nanmedian, run.parameters[measure][-1][weight_mask(run)]))


@names_the_run
def mean_dispersion(run: Run, measure: str, share: float = 1.0) -> float:
    """Return a dispersion measure, averaged over all tensors and over the first `share` of the
    iterations (at least one row); NaN without rows."""
    if measure not in run.parameters:
        return float("nan")
    column = run.parameters[measure]
    rows = max(1, int(np.searchsorted(column.index, share * len(run.iterations))))
    return float(nan_safe(np.nanmean, column[:rows].astype(float)))


@names_the_run
def variance(run: Run) -> pd.DataFrame:
    """Return the variance over replicas of all parameters: iteration, epoch, variance (mean over
    tensors weighted by numel = consensus_distance^2 / parameters), consensus; *_after if it was
    recorded."""
    table = run.parameters
    if "variance" not in table:
        return pd.DataFrame(columns=["iteration", "epoch", "variance", "consensus"])
    numel = run.tensors["numel"].to_numpy(dtype=np.float64)
    weight = numel / numel.sum()
    columns = {"variance": table["variance"].rowwise(lambda v: v @ weight),
               "consensus": table["consensus_distance"][:]}
    if "variance_after" in table:
        columns["variance_after"] = table["variance_after"].rowwise(lambda v: v @ weight)
        columns["consensus_after"] = table["consensus_distance_after"][:]
    rows = min(map(len, columns.values()))
    iteration = table["variance"].index[:rows]
    columns = {name: values[:rows] for name, values in columns.items()}
    return pd.DataFrame({"iteration": iteration, "epoch": epoch_of(run, iteration), **columns})


@names_the_run
def spread(run: Run, measure: str) -> pd.DataFrame:
    """Return a measure of spread as iteration, epoch, value: variance, consensus, or a dispersion
    measure."""
    if measure in MEASURES:
        return dispersion(run, measure).rename(columns={"median": "value"})[
            ["iteration", "epoch", "value"]]
    return variance(run).rename(columns={measure: "value"})[["iteration", "epoch", "value"]]


@names_the_run
def performance(run: Run) -> tuple[pd.DataFrame, str]:
    """Return (evaluations, "accuracy"), or (evaluations, "loss") if all accuracies are NaN."""
    accuracy = evaluations(run, "accuracy")
    if accuracy[["median", "mean"]].notna().any(axis=None) or accuracy.empty:
        return accuracy, "accuracy"
    return evaluations(run, "loss"), "loss"


@names_the_run
def spread_at_evaluations(run: Run, measure: str) -> pd.DataFrame:
    """Return the evaluations (see `performance`) with `value`: the mean spread since the previous
    evaluation.

    The evaluation of the initial state has no predecessor and is left out.
    """
    evaluated, _ = performance(run)
    found = spread(run, measure)
    at, value = found["iteration"].to_numpy(), found["value"].to_numpy(dtype=float)
    value = np.where(np.isfinite(value), value, np.nan)
    ends = evaluated["iteration"].to_numpy()
    starts = np.concatenate([[0], ends[:-1]]) if len(ends) else ends
    means = []
    for start, end in zip(starts, ends):
        inside = value[(at >= start) & (at < end)]
        if not np.isfinite(inside).any():  # profiled less often than evaluated: the last
            inside = value[at < end][-1:]
        means.append(nan_safe(np.nanmean, inside) if len(inside) else np.nan)
    evaluated = evaluated.assign(value=np.array(means, dtype=float))
    return evaluated[evaluated["value"].notna()
                     & (evaluated["iteration"] > 0)].reset_index(drop=True)


@names_the_run
def squared_per_parameter(run: Run, measure: str, distance: np.ndarray) -> np.ndarray:
    """Return consensus distances as they are, or as variances: squared and divided by the number of
    parameters."""
    return distance**2 / run.parameter_count if measure.startswith("variance") else distance


@names_the_run
def final_variance(run: Run, measure: str) -> float:
    """Return the last variance or consensus distance. Only that number is read."""
    if "consensus_distance" not in run.parameters:
        return float("nan")
    return float(squared_per_parameter(run, measure,
                                       run.parameters["consensus_distance"][-1].astype(float)))


@names_the_run
def early_spread(run: Run, measure: str, share: float = 0.1) -> float:
    """Return the mean spread over the first `share` of the recorded iterations (at least one row).

    In addition to the measures of `spread`, `measure` may be variance_after or consensus_after. NaN
    if nothing was recorded.
    """
    return early_spreads(run, measure, [share])[0]


@names_the_run
def early_spreads(run: Run, measure: str, shares: list[float]) -> list[float]:
    """Return `early_spread` for several shares. For variances, only the distances of the early
    iterations are read."""
    if measure in MEASURES:
        found = spread(run, measure)
        at, value = found["iteration"].to_numpy(), found["value"].to_numpy(dtype=float)
    else:
        name = "consensus_distance" + "_after" * measure.endswith("_after")
        if name not in run.parameters:
            return [float("nan")] * len(shares)
        column = run.parameters[name]
        rows = max(1, int(np.searchsorted(column.index, max(shares) * len(run.iterations))))
        at, value = column.index[:rows], squared_per_parameter(run, measure,
                                                               column[:rows].astype(float))

    def early(share: float) -> float:
        first = at < share * len(run.iterations)
        if not len(value):
            return float("nan")
        return float(nan_safe(np.nanmean, value[first] if first.any() else value[:1]))

    return [early(share) for share in shares]


@names_the_run
def bytes_sent(run: Run) -> np.ndarray:
    """Return the bytes that all replicas sent in each iteration for training [I]. Measurements for
    a controller are included."""
    sent: np.ndarray = run.iterations["bytes_sent"][:].astype(float)
    if "control_bytes" in run.iterations:
        control = run.iterations["control_bytes"][:]
        rows = min(len(sent), len(control))
        sent = sent[:rows] + control[:rows]
    return sent


def replica_counts(run: Run) -> np.ndarray:
    """Return the number of replicas in each iteration [I]. A resumed run may have another number,
    and an event "4 became 6 by clone" at the last iteration with the old one."""
    counts = np.full(len(run.iterations), run.replicas)
    events = run.events
    if "kind" in events:
        changes = events[events["kind"] == "replicas"]
        for last, said in reversed([*zip(changes["iteration"], changes["text"])]):
            counts[: last + 1] = int(said.split()[0])
    return counts


@names_the_run
def bytes_per_replica(run: Run) -> np.ndarray:
    """Return the mean bytes that a replica sent in each iteration [I]; see `bytes_sent`."""
    sent = bytes_sent(run)
    return sent / replica_counts(run)[: len(sent)]


def set_up_iterations(run: Run) -> list[int]:
    """Return the first iteration after each start of the run, which contains the set-up."""
    return sorted({0, *(int(first) for first in run.segments.get("first_iteration", []))})


@names_the_run
def step_times(run: Run) -> np.ndarray:
    """Return the step time of the slowest rank in each iteration, in seconds [I]."""
    if "step_time" not in run.iterations:
        return np.empty(0)
    return run.iterations["step_time"].rowwise(lambda v: nan_safe(np.nanmax, v, axis=1))


def virtual(run: Run) -> bool:
    """Return whether the replicas' time is virtual: asynchronous replicas in one process."""
    return run.rank_count == 1 and "replica_time" in run.iterations


@names_the_run
def step_seconds(run: Run, at: np.ndarray) -> np.ndarray:
    """Return the seconds of steps until each of the iterations `at`, at which all ranks meet:
    between two of them, the time of the rank that takes longest. If time is virtual, the seconds
    are virtual. NaN beyond the recorded iterations."""
    if virtual(run):
        ends = run.iterations["replica_time"].rowwise(lambda v: v.max(axis=1))
        return np.where(at <= len(ends), np.concatenate([[0.0], ends])[np.minimum(at, len(ends))],
                        np.nan)
    if "step_time" not in run.iterations:
        return np.full(len(at), np.nan)
    column = run.iterations["step_time"]
    stops = np.unique(at[at <= len(column)])
    spent = np.zeros((len(stops) + 1, *column.shape[1:]))  # seconds of each rank between two stops
    for first, values in column.blocks():
        slowest = nan_safe(np.nanmax, values, axis=1)[:, None]  # stands in for absent ranks
        between = np.searchsorted(stops, np.arange(first, first + len(values)), side="right")
        np.add.at(spent, between, np.where(np.isnan(values), slowest, values))
    reached = np.cumsum(np.nan_to_num(spent).max(axis=1))
    return np.where(at <= len(column), reached[np.searchsorted(stops, at)], np.nan)


@names_the_run
def breakdown(run: Run) -> dict[str, float]:
    """Return the mean seconds per iteration and rank: data, gradient, update, exchange, rest,
    profile.

    The first iteration after each start contains the set-up and is left out if there are others.
    The first five
    parts add up to the mean step time; profile and evaluation are not part of the step.
    """
    table = run.iterations
    if "step_time" not in table:
        return {}
    set_up = set_up_iterations(run)

    def mean(name):
        if name not in table:
            return float("nan")
        column = table[name]
        values = column.rowwise(lambda v: nan_safe(np.nanmean, v, axis=1))
        usual = np.delete(values, [t for t in set_up if t < len(values)])
        return float(nan_safe(np.nanmean, usual if len(usual) else values))

    parts = {part: mean(f"time_{part}") for part in TIME_PARTS}
    parts["rest"] = max(0.0, mean("step_time") - float(np.nansum(list(parts.values()))))
    parts["profile"] = mean("time_profile")
    return {name: 0.0 if np.isnan(value) else value for name, value in parts.items()}
