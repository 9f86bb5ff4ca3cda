"""Predicted step times compared with measured ones (docs/predict.md), of one run and of many."""

import math
from dataclasses import dataclass

import numpy as np

from ..basics.errors import damaged, reading
from ..naming import differences
from ..reading.run import Run
from . import series

BLOCKS = 10  # of iterations, for the interval of a mean
MODEL_ERROR = 0.05  # two means that differ by less cannot be told apart, as in src/predict
CORRECT, WITHIN_NOISE, UNDECIDED, WRONG = "correct", "within noise", "undecided", "wrong"


@dataclass(frozen=True)
class Quantiles:
    """Quantiles and mean of step times in seconds."""

    p05: float
    p50: float
    p95: float
    mean: float


@dataclass(frozen=True)
class Interval:
    """A mean step time in seconds, with the ends of the interval within which it cannot be told
    from others."""

    least: float
    mean: float
    most: float


@dataclass(frozen=True)
class Comparison:
    """The predicted and the measured step times of a run, over iterations and ranks.

    measured, actual   None if no times were recorded
    error              predicted median / measured median - 1
    below_...          shares of the measured steps that are not above the predicted quantile
    expected, actual   intervals of the mean, predicted and measured
    fastest            the graph that the prediction calls the fastest, in words
    """

    run: Run
    name: str
    order: str
    predicted: Quantiles
    expected: Interval
    measured: Quantiles | None
    actual: Interval | None
    steps: int
    error: float
    below_p50: float
    below_p95: float
    fastest: str
    assumptions: list[str]


def comparison(run: Run) -> Comparison | None:
    """Return the comparison of a run; None if it has no prediction."""
    found = run.prediction
    if not found:
        return None
    with reading(run.path, "/prediction"):
        own = found["graphs"][0]
        times = own["step_time"]
        predicted = Quantiles(float(times["p05"]), float(times["p50"]), float(times["p95"]),
                              float(own["step_time_mean"]))
        count = max(1, int(found["iterations"]))
        ends = [float(own["duration"][key]) / count for key in ("p05", "p95")]
        values = (*ends, predicted.p05, predicted.p50, predicted.p95, predicted.mean)
        name, order = str(own["name"]), str(own["order"])
        ranked = ", ".join(map(str, found.get("within_noise", [])))
        fastest = "" + found["fastest"]
        assumptions = [str(text) for text in found.get("assumptions", [])]
    if not all(math.isfinite(value) and value > 0 for value in values):
        raise damaged(run.path, "/prediction", "times must be positive numbers")
    if fastest == WITHIN_NOISE and ranked:
        fastest = f"{fastest}: {ranked}"
    steps = measured_steps(run, order)
    flat = np.sort(steps[np.isfinite(steps)])
    measured, error, below = None, math.nan, (math.nan, math.nan)
    if len(flat):
        low, median, high = (float(value) for value in np.quantile(flat, (0.05, 0.5, 0.95)))
        measured = Quantiles(low, median, high, float(flat.mean()))
        error = predicted.p50 / measured.p50 - 1 if measured.p50 > 0 else math.nan
        below = (float(np.mean(flat <= predicted.p50)), float(np.mean(flat <= predicted.p95)))
    expected = Interval(ends[0], predicted.mean, ends[1])
    return Comparison(run, name, order.replace("_", " "), predicted, expected, measured,
                      interval(steps), len(flat), error, *below, fastest, assumptions)


def measured_steps(run: Run, order: str) -> np.ndarray:
    """Return the step times [iterations, ranks] in seconds. The first iteration after each start is
    left out because it contains the set-up, and the run's last one in the order
    combine_while_adapt because it sends nothing for a next one."""
    if "step_time" not in run.iterations:
        return np.empty((0, 1))
    steps = run.iterations["step_time"][:].astype(float)
    left_out = {*series.set_up_iterations(run)}
    if order == "combine_while_adapt":
        left_out.add(run.planned - 1)
    counts = np.ones(len(steps), bool)
    counts[[t for t in left_out if 0 <= t < len(steps)]] = False
    return steps[counts]


def interval(steps: np.ndarray) -> Interval | None:
    """Return the interval of the mean step as the prediction computes its own: from the means of
    ten blocks of iterations, and half of MODEL_ERROR on each side. None without times."""
    known = np.isfinite(steps)
    rows = steps[known.any(axis=1)]
    if not len(rows):
        return None
    each = np.nanmean(rows, axis=1)
    blocks = [float(block.mean()) for block in np.array_split(each, min(BLOCKS, len(each)))]
    low, high = np.quantile(blocks, (0.05, 0.95))
    half, mean = (high - low) / 2 / math.sqrt(len(blocks)), float(each.mean())
    return Interval(float(mean - half) * (1 - MODEL_ERROR / 2), mean,
                    float(mean + half) * (1 + MODEL_ERROR / 2))


@dataclass(frozen=True)
class Group:
    """Runs that differ only in graph and algorithm: which of them are the fastest, as predicted and
    as measured. Several names cannot be told apart. `loss`: by which share the mean step of the
    predicted fastest is longer than that of the measured one."""

    members: list[Comparison]
    predicted: list[str]
    measured: list[str]
    loss: float

    @property
    def verdict(self) -> str:
        """Return `correct`: the graph that was named is the fastest, or cannot be told from it;
        `within noise`: none could be named, and the measurement cannot tell them apart either;
        `undecided`: the fastest is among those that were named, and others are slower; `wrong`."""
        if not set(self.predicted) & set(self.measured):
            return WRONG
        if len(self.predicted) == 1:
            return CORRECT
        return WITHIN_NOISE if set(self.predicted) <= set(self.measured) else UNDECIDED


def groups(compared: list[Comparison]) -> list[Group]:
    """Return the groups with two or more ways to communicate. Runs that communicate alike count as
    one: their mean."""
    found: dict[frozenset, list[Comparison]] = {}
    for one in compared:
        if one.actual:
            key = differences.setting_of(one.run) | {
                ("ranks", str(one.run.rank_count)), ("hosts", str(one.run.prediction.get("hosts")))}
            found.setdefault(key, []).append(one)
    return [group for members in found.values() if (group := compared_group(members))]


def compared_group(members: list[Comparison]) -> Group | None:
    """Return the group of these runs; None if all communicate alike."""
    expected: dict[str, list[Interval]] = {}
    actual: dict[str, list[Interval]] = {}
    for name, one in zip(differences.communications([m.run for m in members]), members):
        expected.setdefault(name, []).append(one.expected)
        if one.actual:
            actual.setdefault(name, []).append(one.actual)
    if len(expected) < 2:
        return None
    predicted, measured = fastest(mean(expected)), fastest(mean(actual))
    seen = mean(actual)
    loss = seen[predicted[0]].mean / seen[measured[0]].mean - 1
    return Group(members, predicted, measured, loss)


def mean(found: dict[str, list[Interval]]) -> dict[str, Interval]:
    """Return the mean interval of each name."""
    return {name: Interval(*(float(np.mean([getattr(one, end) for one in each]))
                             for end in ("least", "mean", "most")))
            for name, each in found.items()}


def fastest(found: dict[str, Interval]) -> list[str]:
    """Return the name with the least mean, and those whose intervals overlap its own."""
    order = sorted(found, key=lambda name: found[name].mean)
    return [name for name in order if found[name].least <= found[order[0]].most]


@dataclass(frozen=True)
class Summary:
    """The errors of many runs: quantiles of the absolute error, and the mean share of the measured
    steps below predicted quantiles, in which each run counts the same. NaN without a
    measurement."""

    runs: int
    median: float
    p90: float
    largest: float
    below_p50: float
    below_p95: float
    right: int
    groups: int


def summary(compared: list[Comparison], found: list[Group]) -> Summary:
    """Return the summary of these runs and groups."""
    known = [one for one in compared if math.isfinite(one.error)]
    errors = np.array([abs(one.error) for one in known] or [math.nan])
    below_p50 = float(np.mean([one.below_p50 for one in known] or [math.nan]))
    below_p95 = float(np.mean([one.below_p95 for one in known] or [math.nan]))
    right = sum(group.verdict in (CORRECT, WITHIN_NOISE) for group in found)
    return Summary(len(known), float(np.median(errors)), float(np.quantile(errors, 0.9)),
                   float(errors.max()), below_p50, below_p95, right, len(found))
