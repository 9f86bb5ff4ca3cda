"""The numbers behind curves and tables: small arrays and frames, made from a run's large ones."""

import warnings

import numpy as np
import pandas as pd

from .errors import of_a_run
from .metrics import FURTHER
from .run import Run
from .schema import MEASURES, TIME_PARTS


def quiet(reduce, values, **how):
    """A nan-ignoring numpy reduction over finite values; all-NaN slices give NaN, silently."""
    if reduce is np.nanmedian and values.size and np.isfinite(values).all():  # many times as quick
        return np.median(values, **how)
    values = np.where(np.isfinite(values), values, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return reduce(values, **how)


def over_seeds(frames: list[pd.DataFrame], by: str = "iteration") -> pd.DataFrame:
    """The frames of runs that differ in the seed, as one: means over the runs; of `min` and `low`
    the least, of `max` and `high` the largest; and of each other column the least and the largest
    run as COLUMN_low and COLUMN_high. Rows that some run passed over are left out."""
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


@of_a_run
def evaluations(run: Run, what: str, prefix: str = "") -> pd.DataFrame:
    """`what` (a metric) at each evaluation: iteration, epoch, local min/median/max, mean.

    `mean` is of the averaged parameters; `prefix` "validation_" chooses that set.
    """
    table = run.evaluations
    local, mean = table[f"{prefix}local_{what}"], table[f"{prefix}mean_{what}"]
    rows = min(len(local), len(mean), len(table["epoch"]), len(table["iteration"]))
    values = local[:rows].reshape(rows, -1)
    frame = {"iteration": table["iteration"][:rows], "epoch": table["epoch"][:rows]}
    for name, reduce in (("min", np.nanmin), ("median", np.nanmedian), ("max", np.nanmax)):
        empty = values.shape[1] == 0
        frame[name] = np.full(rows, np.nan) if empty else quiet(reduce, values, axis=1)
    return pd.DataFrame({**frame, "mean": mean[:rows]})


@of_a_run
def has_metric(run: Run, name: str) -> bool:
    """Whether the run's evaluations tell this metric."""
    return f"mean_{name}" in run.evaluations


def compared(runs: list[Run]) -> list[str]:
    """The metrics by which evaluations of all runs are compared: accuracy, perplexity or else the
    loss, and the others that all have."""
    further = [name for name in FURTHER if runs and all(has_metric(run, name) for run in runs)]
    less = ["perplexity"] if "perplexity" in further else ["loss"]
    return ["accuracy", *less, *(name for name in further if name != "perplexity")]


@of_a_run
def training(run: Run, what: str) -> pd.DataFrame:
    """Minibatch accuracy or loss of each iteration: its number, epoch, min, median, max over the
    replicas."""
    column = run.iterations[f"train_{what}"]

    def reduce(values):
        return np.stack([quiet(f, values, axis=1) for f in (np.nanmin, np.nanmedian, np.nanmax)],
                        axis=1)

    values = column.rowwise(reduce).reshape(-1, 3)
    epoch = run.iterations["epoch"][: len(values)]
    return pd.DataFrame({"iteration": np.arange(len(epoch)), "epoch": epoch,
                         **dict(zip(("min", "median", "max"), values[: len(epoch)].T))})


@of_a_run
def epoch_of(run: Run, iterations: np.ndarray) -> np.ndarray:
    """The epoch reached at the end of each of these iterations (NaN where none is recorded yet)."""
    epoch = run.iterations["epoch"][:]
    inside = np.asarray(iterations) < len(epoch)
    return (np.where(inside, np.take(epoch, iterations, mode="clip"), np.nan) if len(epoch)
            else np.full(len(iterations), np.nan))


@of_a_run
def dispersion(run: Run, measure: str) -> pd.DataFrame:
    """A dispersion measure over iterations: median and quartiles over the weight tensors.

    Biases and normalization stand apart by orders of magnitude: norms near zero disperse freely.
    Where a model has no weights by its /tensors, all tensors count.
    """
    if measure not in run.parameters:
        return pd.DataFrame(columns=["iteration", "epoch", "low", "median", "high"])
    column, use = run.parameters[measure], of_weights(run)
    values = column.rowwise(lambda v: quiet(np.nanquantile, v[:, use], q=[0.25, 0.5, 0.75],
                                            axis=1).T).reshape(-1, 3)
    iteration = column.index
    low, median, high = values.T
    return pd.DataFrame({"iteration": iteration, "epoch": epoch_of(run, iteration), "low": low,
                         "median": median, "high": high})


@of_a_run
def of_weights(run: Run) -> np.ndarray:
    """Which tensors are weights; all of them where a model has none [T]."""
    weights = (run.tensors["kind"] == "weight").to_numpy()
    return weights if weights.any() else np.ones_like(weights)


@of_a_run
def final_dispersion(run: Run, measure: str) -> float:
    """The last median of `dispersion`; only that one row is read."""
    if measure not in run.parameters:
        return float("nan")
    return float(quiet(np.nanmedian, run.parameters[measure][-1][of_weights(run)]))


@of_a_run
def mean_dispersion(run: Run, measure: str, share: float = 1.0) -> float:
    """A dispersion measure, mean over all tensors and over the first `share` of the iterations (at
    least one row); NaN without rows."""
    if measure not in run.parameters:
        return float("nan")
    column = run.parameters[measure]
    rows = max(1, int(np.searchsorted(column.index, share * len(run.iterations))))
    return float(quiet(np.nanmean, column[:rows].astype(float)))


@of_a_run
def variance(run: Run) -> pd.DataFrame:
    """Variance over replicas, all parameters: iteration, epoch, variance (numel-weighted mean over
    tensors = consensus_distance^2 / parameters), consensus; *_after where it was recorded."""
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


@of_a_run
def spread(run: Run, measure: str) -> pd.DataFrame:
    """Any measure of spread as iteration, epoch, value: variance, consensus, or a dispersion
    measure."""
    if measure in MEASURES:
        return dispersion(run, measure).rename(columns={"median": "value"})[
            ["iteration", "epoch", "value"]]
    return variance(run).rename(columns={measure: "value"})[["iteration", "epoch", "value"]]


@of_a_run
def performance(run: Run) -> tuple[pd.DataFrame, str]:
    """Evaluations by accuracy, or by loss where the model has no accuracy (all NaN)."""
    accuracy = evaluations(run, "accuracy")
    if accuracy[["median", "mean"]].notna().any(axis=None) or accuracy.empty:
        return accuracy, "accuracy"
    return evaluations(run, "loss"), "loss"


@of_a_run
def spread_at_evaluations(run: Run, measure: str) -> pd.DataFrame:
    """Evaluations (see `performance`) with `value`: the mean spread since the evaluation before.

    The evaluation of the initial state has nothing before it and is left out.
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
        if not np.isfinite(inside).any():  # profiled more rarely than evaluated: the last before
            inside = value[at < end][-1:]
        means.append(quiet(np.nanmean, inside) if len(inside) else np.nan)
    evaluated = evaluated.assign(value=np.array(means, dtype=float))
    return evaluated[evaluated["value"].notna()
                     & (evaluated["iteration"] > 0)].reset_index(drop=True)


@of_a_run
def squared_per_parameter(run: Run, measure: str, distance: np.ndarray) -> np.ndarray:
    """Consensus distances as they are, or as variance: squared, by the number of parameters."""
    return distance**2 / run.parameter_count if measure.startswith("variance") else distance


@of_a_run
def final_variance(run: Run, measure: str) -> float:
    """The last variance or consensus distance; only that one number is read."""
    if "consensus_distance" not in run.parameters:
        return float("nan")
    return float(squared_per_parameter(run, measure,
                                       run.parameters["consensus_distance"][-1].astype(float)))


@of_a_run
def early_spread(run: Run, measure: str, share: float = 0.1) -> float:
    """Mean spread over the first `share` of the iterations recorded (at least one row).

    Beside `spread`'s measures variance_after and consensus_after; NaN where nothing was recorded.
    """
    return early_spreads(run, measure, [share])[0]


@of_a_run
def early_spreads(run: Run, measure: str, shares: list[float]) -> list[float]:
    """`early_spread` for several shares. Of variances only the distances are read, and only what is
    early."""
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
        return (float(quiet(np.nanmean, value[first] if first.any() else value[:1])) if len(value)
                else float("nan"))

    return [early(share) for share in shares]


@of_a_run
def bytes_sent(run: Run) -> np.ndarray:
    """What all replicas sent in each iteration to train, measuring for a controller included
    [I]."""
    sent: np.ndarray = run.iterations["bytes_sent"][:].astype(float)
    if "control_bytes" in run.iterations:
        control = run.iterations["control_bytes"][:]
        rows = min(len(sent), len(control))
        sent = sent[:rows] + control[:rows]
    return sent


@of_a_run
def step_times(run: Run) -> np.ndarray:
    """Step time of each iteration: that of the slowest rank, in seconds [I]."""
    if "step_time" not in run.iterations:
        return np.empty(0)
    return run.iterations["step_time"].rowwise(lambda v: quiet(np.nanmax, v, axis=1))


def virtual(run: Run) -> bool:
    """Whether the replicas' time is virtual: asynchronous ones, all in one process."""
    return run.rank_count == 1 and "replica_time" in run.iterations


@of_a_run
def step_seconds(run: Run, at: np.ndarray) -> np.ndarray:
    """Seconds of steps until each of the iterations `at`, at which all ranks meet: from one to the
    next those of the rank that takes longest. Virtual ones where time is. NaN beyond what is
    recorded."""
    if virtual(run):
        ends = run.iterations["replica_time"].rowwise(lambda v: v.max(axis=1))
        return np.where(at <= len(ends), np.concatenate([[0.0], ends])[np.minimum(at, len(ends))],
                        np.nan)
    if "step_time" not in run.iterations:
        return np.full(len(at), np.nan)
    column = run.iterations["step_time"]
    stops = np.unique(at[at <= len(column)])
    spent = np.zeros((len(stops) + 1, *column.shape[1:]))  # of each rank, from stop to stop
    for first, values in column.blocks():
        slowest = quiet(np.nanmax, values, axis=1)[:, None]  # of ranks that were not there
        between = np.searchsorted(stops, np.arange(first, first + len(values)), side="right")
        np.add.at(spent, between, np.where(np.isnan(values), slowest, values))
    reached = np.cumsum(np.nan_to_num(spent).max(axis=1))
    return np.where(at <= len(column), reached[np.searchsorted(stops, at)], np.nan)


@of_a_run
def breakdown(run: Run) -> dict[str, float]:
    """Mean seconds per iteration and rank: data, gradient, update, exchange, rest, profile.

    The first iteration is left out where there are others: it carries the set-up. The first five
    add up to the mean step time; profile (and evaluation) stand outside the step.
    """
    table = run.iterations
    if "step_time" not in table:
        return {}

    def mean(name):
        if name not in table:
            return float("nan")
        column = table[name]
        values = column.rowwise(lambda v: quiet(np.nanmean, v, axis=1))
        return float(quiet(np.nanmean, values[1:] if len(values) > 1 else values))

    parts = {part: mean(f"time_{part}") for part in TIME_PARTS}
    parts["rest"] = max(0.0, mean("step_time") - float(np.nansum(list(parts.values()))))
    parts["profile"] = mean("time_profile")
    return {name: 0.0 if np.isnan(value) else value for name, value in parts.items()}
