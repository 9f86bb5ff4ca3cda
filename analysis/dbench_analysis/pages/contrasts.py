"""Sentences on how the settings of a report differ: which is better, by how much, in how many
seeds; what each needs to reach an accuracy; how accuracy changes with the number of replicas."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean

from ..basics.formatting import bytes_, counted, number, percent, seconds
from ..naming import differences, names
from ..quantities import fields
from ..quantities.comparability import caveats
from ..quantities.reaching import cost_to_reach, interval_note
from ..reading.metrics import METRICS, Metric
from ..reading.run import Run
from ..statistics.paired import Paired, paired

MOST = 6  # settings that are compared with the reference


@dataclass(frozen=True)
class Setting:
    """Complete runs of one setting, with their last value of the metric by seed."""

    label: str
    runs: list[Run]
    ends: dict[object, float]

    @property
    def mean(self) -> float:
        return fmean(self.ends.values())


def metric_of(runs: list[Run]) -> Metric:
    """Return accuracy; loss if no run has a finite accuracy."""
    finite = any(math.isfinite(fields.last(run, "accuracy", "mean")) for run in runs)
    return METRICS["accuracy" if finite else "loss"]


def settings_of(runs: list[Run], metric: Metric) -> list[Setting]:
    """Return the settings of the complete runs that have a last value of the metric."""
    kept = [run for run in runs if run.status == "complete"
            and math.isfinite(fields.last(run, metric.name, "mean"))]
    groups = differences.by_setting(kept)
    labels = differences.setting_labels([group[0] for group in groups])
    return [Setting(label, group, {names.seed(run): fields.last(run, metric.name, "mean")
                                   for run in group}) for label, group in zip(labels, groups)]


def reference_of(found: list[Setting], metric: Metric) -> Setting:
    """Return the setting with which the others are compared: all-reduce if exactly one setting uses
    it, else the best."""
    reduced = [one for one in found if names.algorithm(one.runs[0]) == "centralized"]
    best = (min if metric.low else max)(found, key=lambda one: one.mean)
    return reduced[0] if len(reduced) == 1 else best


def sentences(runs: list[Run]) -> list[str]:
    """Return a sentence for each question that these runs can answer; empty for one setting."""
    metric = metric_of(runs)
    found = settings_of(runs, metric)
    if len(found) < 2:
        return []
    reference = reference_of(found, metric)
    others = sorted((one for one in found if one is not reference),
                    key=lambda one: one.mean, reverse=not metric.low)
    lines = [against(one, reference, metric) for one in others[:MOST]]
    if len(others) > MOST:
        lines.append(f"{len(others) - MOST} more settings, which end lower, are in the table below."
                     if not metric.low else
                     f"{len(others) - MOST} more settings, which end higher, are in the table "
                     "below.")
    return [*lines, *reaching(found, metric), *scaling(found, metric), *steps(found)]


def amount(value: float, metric: Metric) -> str:
    """Return a difference with its sign; accuracies in percentage points."""
    return (f"{100 * value:+.2f} points" if metric.unit == "fraction" else f"{value:+.3g}")


def against(one: Setting, other: Setting, metric: Metric) -> str:
    """Return which of two settings is better by the mean model's final metric, by how much and in
    how many seeds."""
    found = paired(one.ends, other.ends)
    if found is None:
        return (f"{one.label} ends {amount(one.mean - other.mean, metric)} from {other.label} in "
                f"{metric.title}, but they have no seed in common, so nothing is paired.")
    d = found.d * (-1 if metric.low else 1)
    if not d.any():
        return (f"{one.label} and {other.label} end with the same {metric.title} in "
                f"{counted(len(d), 'seed')}.")
    better = d.mean() > 0
    wins = int(((d > 0) if better else (d < 0)).sum())
    sense = "better" if better else "worse"
    return (f"{one.label} is {sense} than {other.label} by {amount(abs(found.mean), metric)[1:]} "
            f"of {metric.title} on average, and {sense} in {wins} of {counted(len(d), 'seed')}"
            f"{certainty(found, metric)}.")


def certainty(found: Paired, metric: Metric) -> str:
    """Return the interval of the mean difference, and whether it rests on normality."""
    n = len(found.d)
    if n < 2:
        return ": one seed, so this may be chance"
    low, high, coverage = found.interval
    interval = f"{amount(low, metric)} to {amount(high, metric)}"
    if found.exact:
        shown = "" if found.p <= 0.05 else ", so no difference is shown"
        return (f" (difference: {100 * coverage:.3g} % interval {interval}, sign flips p = "
                f"{found.p:.2g}{shown})")
    shown = ", and contains 0: no difference is shown" if low <= 0 <= high else ""
    return (f" (difference: 95 % t interval {interval}, which rests on normality, because {n} "
            f"seeds are too few for an exact test{shown})")


def reaching(found: list[Setting], metric: Metric) -> list[str]:
    """Return what each setting needs to reach the accuracy at which the worst one ends; empty for
    other metrics, and for many settings."""
    if metric.name != "accuracy" or len(found) > MOST + 1:
        return []
    worst = min(min(one.ends.values()) for one in found)
    target = math.floor(100 * worst) / 100
    if target <= min(fields.evaluated(run, "accuracy")["mean"][0] for one in found
                     for run in one.runs):
        return []
    fair = not any(caveats(run) for one in found for run in one.runs)
    parts: list[tuple[str, Callable[[float], str]]] = [
        ("iterations", lambda v: f"{v:.0f} iterations"),
        ("bytes", lambda v: f"{bytes_(1e6 * v)} sent per replica")]
    parts += [("seconds", lambda v: f"{seconds(v)} of steps")] if fair else []
    texts = []
    for one in found:
        words = [show(fmean(cost_to_reach(run, "accuracy", target, x) for run in one.runs))
                 for x, show in parts]
        texts.append(f"{one.label} {', '.join(words)}")
    note = interval_note([run for one in found for run in one.runs])
    return [f"To reach {percent(target)} accuracy (mean over seeds, first evaluation that does): "
            f"{'; '.join(texts)}.{' ' * bool(note)}{note}"]


def scaling(found: list[Setting], metric: Metric) -> list[str]:
    """Return how the metric changes from the fewest to the most replicas, for each way of
    communicating."""
    groups = differences.over_replicas([one.runs[0] for one in found])
    labels = differences.setting_labels([found[group[0]].runs[0] for group in groups], sized=False)
    lines = []
    for name, members in zip(labels, [[found[i] for i in group] for group in groups]):
        sizes = sorted({one.runs[0].replicas for one in members})
        if len(sizes) < 2:
            continue
        first, last = (fmean(one.mean for one in members if one.runs[0].replicas == n)
                       for n in (sizes[0], sizes[-1]))
        lines.append(f"From n = {sizes[0]} to n = {sizes[-1]}, the {metric.title} of {name} "
                     f"changes by {amount(last - first, metric)}.")
    return lines


def steps(found: list[Setting]) -> list[str]:
    """Return the step time of each setting; empty if the times are not to be compared."""
    times = [[fields.step(run) for run in one.runs] for one in found]
    if (any(caveats(run) for one in found for run in one.runs) or len(found) > MOST + 1
            or not all(math.isfinite(t) for row in times for t in row)):
        return []
    texts = [f"{one.label} {seconds(fmean(row))}"
             + f" ({seconds(min(row))} to {seconds(max(row))} over {len(row)} runs)" * (
                 len(row) > 1) for one, row in zip(found, times)]
    fastest = min(range(len(found)), key=lambda i: fmean(times[i]))
    slowest = max(range(len(found)), key=lambda i: fmean(times[i]))
    ratio = number(fmean(times[slowest]) / fmean(times[fastest]), 3)
    return [f"An iteration takes, by its median: {'; '.join(texts)}. {found[fastest].label} is "
            f"{ratio} times as fast as {found[slowest].label}."]
