"""The result of several runs in sentences: the accuracy of each communication, the cost of
disagreement in accuracy and bytes, whether the graphs' spectral gaps explain it; and how the
settings compare (`contrasts`)."""

from dataclasses import dataclass

import numpy as np

from ..basics.formatting import bytes_, number, percent
from ..naming import differences, names
from ..quantities import fields, series
from ..reading.run import Run
from . import contrasts

PICTURE = "variance-accuracy"  # the figure that shows disagreement against accuracy


@dataclass
class Result:
    """The runs of one communication, averaged over seeds."""

    name: str
    ends: list[float]  # accuracy of the mean model, last evaluation of each run
    worst: float  # local model
    distance: float  # the largest consensus distance
    sent: float  # bytes an iteration, all replicas
    gap: float  # 1 - rho of the first graph; NaN without one

    @property
    def accuracy(self) -> float:
        return float(np.mean(self.ends))


def results(runs: list[Run]) -> list[Result]:
    """Return the result of each communication, from complete runs, one of each seed; empty if they
    differ in more, or have no evaluations."""
    groups = differences.by_setting([run for run in runs if run.status == "complete"])
    runs = [run for group in groups for run in group]
    if not runs:
        return []
    if len({shared(run) for run in runs}) > 1:
        return []
    if any(len(run.evaluations) == 0 for run in runs):
        return []
    found: dict[str, list[Run]] = {}
    for run, name in zip(runs, differences.communications(runs)):
        found.setdefault(names.marked(name), []).append(run)
    return [result_of(name, like) for name, like in found.items()] if len(found) > 1 else []


def shared(run: Run) -> frozenset:
    """Return the entries that must be equal: a difference in them could explain the result as
    well."""
    return frozenset((pointer, value) for pointer, value in differences.setting_of(run)
                     if not differences.concerns_communication(pointer))


def result_of(name: str, runs: list[Run]) -> Result:
    """Return the result of runs of one communication."""
    ends = [series.evaluations(run, "accuracy").iloc[-1] for run in runs]
    distances = [largest_distance(run) for run in runs]
    rho = runs[0].certificate.get("rho")
    return Result(
        name=name,
        ends=[float(end["mean"]) for end in ends],
        worst=float(np.min([end["min"] for end in ends])),
        distance=float(np.mean(distances)),
        sent=float(np.mean([sent(run) for run in runs])),
        gap=1 - rho if isinstance(rho, (int, float)) else float("nan"))


def sent(run: Run) -> float:
    """Return the mean bytes per iteration; NaN before the first iteration."""
    found = series.bytes_sent(run)
    return float(found.mean()) if len(found) else float("nan")


def largest_distance(run: Run) -> float:
    """Return the largest consensus distance; NaN if it was not recorded."""
    found = series.variance(run)
    if found.empty:
        return float("nan")
    return float(series.nan_safe(np.nanmax, found["consensus"].to_numpy(dtype=float)))


def sentences(runs: list[Run], few: bool = True) -> list[str]:
    """Return the answer as a list of sentences; empty if the runs do not allow one. Settings that
    differ in more than their communication are compared, too, but disagreement does not explain
    their result. Of many settings (not `few`), the best are compared."""
    return [*(of_communications(runs) if few else []), *equal_replicas(runs),
            *contrasts.sentences(runs)]


def of_communications(runs: list[Run]) -> list[str]:
    """Return the sentences on runs that differ only in their communication."""
    found = results(runs)
    if not found or not all(np.isfinite([r.accuracy for r in found])):
        return []
    decentralized = [r for r in found if r.distance > 0]
    together = [r for r in found if r.distance == 0]
    explained = reason(found)
    lines = [lead(found, explained)]
    if len(found) > 2:
        reached = listed([(r.name, percent(r.accuracy)) for r in found])
        lines.append(f"Test accuracy of the mean model at the end: {reached}.")
    if not decentralized:
        return lines
    apart = max(decentralized, key=lambda r: r.distance)
    lines.append(cost(apart, together[0] if together else None))
    return lines if explained else lines + why(with_gap(decentralized))


def with_gap(found: list[Result]) -> list[Result]:
    """Return the results whose graph has a spectral gap, from the smallest gap to the largest."""
    return sorted((r for r in found if np.isfinite(r.gap)), key=lambda r: r.gap)


def extremes(found: list[Result]) -> tuple[Result, Result]:
    """Return the least and the most accurate result."""
    return min(found, key=lambda r: r.accuracy), max(found, key=lambda r: r.accuracy)


def lead(found: list[Result], explained: str) -> str:
    """Return the first sentence: by how much the worst result is below the best, and why."""
    worst, best = extremes(found)
    if worst.accuracy == best.accuracy:
        return ("The mean model (the model with the averaged parameters) ends at the same test "
                f"accuracy everywhere: {percent(best.accuracy)}{chance(found)}.")
    overlap = ", but their seeds overlap" * (
        min(len(worst.ends), len(best.ends)) > 1 and not clear(worst, best))
    return (f"With {worst.name} the mean model (the model with the averaged parameters) ends "
            f"{100 * (best.accuracy - worst.accuracy):.2f} points of test accuracy below that with "
            f"{best.name}: {percent(worst.accuracy)} against {percent(best.accuracy)}"
            f"{chance(found)}{overlap}{explained}.")


def clear(worst: Result, best: Result) -> bool:
    """Return whether each of several seeds of the one ends below each of the other."""
    return min(len(worst.ends), len(best.ends)) > 1 and max(worst.ends) < min(best.ends)


def reason(found: list[Result]) -> str:
    """Return why the worst result is below the best, as the end of a sentence; "" if the difference
    is not larger than that between seeds, or if disagreement does not explain it."""
    worst, best = extremes(found)
    if not clear(worst, best):
        return ""
    graphs = with_gap([r for r in found if r.distance > 0])
    equal = [r.name for r in found if r.distance == 0]
    keeps = f"; {equal[0]} keeps them equal" if equal else ""
    if len({round(r.gap, 6) for r in graphs}) > 1:
        steps = list(zip(graphs, graphs[1:]))
        agrees = all(a.distance >= b.distance and a.accuracy <= b.accuracy for a, b in steps)
        if worst is not graphs[0] or not agrees:
            return ""
        each = ", ".join(f"{r.name} has gap {number(r.gap, 2)} and distance {number(r.distance, 2)}"
                         for r in graphs)
        return (", because a graph with a smaller spectral gap averages more slowly, so the "
                f"replicas stay further from their mean ({each}{keeps})")
    if worst.distance > 0 and best.distance == 0:
        return (f", because its replicas disagree: they are up to a distance of "
                f"{number(worst.distance, 2)} from their mean{keeps}")
    return ""


def listed(named: list[tuple[str, str]]) -> str:
    """Return names with their values, separated by semicolons if a name contains commas."""
    if any("," in name for name, _ in named):
        return "; ".join(f"{name}: {value}" for name, value in named)
    return ", ".join(f"{name} {value}" for name, value in named)


def chance(found: list[Result]) -> str:
    """Return a remark on the number of seeds."""
    fewest, most = (pick(len(r.ends) for r in found) for pick in (min, max))
    if most == 1:
        return " (one seed each: small differences may be chance)"
    return f" (means of {fewest}{f' to {most}' * (fewest < most)} seeds)"


def cost(apart: Result, together: Result | None) -> str:
    """Return the sentence on the cost of disagreement."""
    sentence = (f"The replicas disagree most with {apart.name}: up to a distance of "
            f"{number(apart.distance, 2)} from their mean, and the worst evaluated replica ends "
            f"at {percent(apart.worst)}")
    if together is None or not (together.sent > 0 and np.isfinite(apart.sent)):
        return sentence + "."
    ratio = apart.sent / together.sent
    times = "about" if 0.95 < ratio < 1.05 else f"{number(ratio, 2)} times"
    return (f"{sentence}, where {together.name} keeps the parameters of "
            f"all replicas equal; it sends "
            f"{bytes_(apart.sent)} an iteration, {times} as much as {together.name}.")


def equal_replicas(runs: list[Run]) -> list[str]:
    """Return why local models with equal parameters have different accuracies, if some have."""
    apart = []
    for run in runs:
        ends = fields.evaluated(run, "accuracy")
        if (ends is not None and len(ends["min"]) and ends["min"][-1] < ends["max"][-1]
                and largest_distance(run) == 0 and "norm" in set(run.tensors["kind"])):
            apart.append((names.communication(run), ends["min"][-1], ends["max"][-1]))
    if not apart:
        return []
    called = ", ".join(dict.fromkeys(name for name, _, _ in apart))
    low, high = min(a for _, a, _ in apart), max(b for _, _, b in apart)
    return [f"The parameters of all replicas are equal with {called}, but the local accuracies "
            f"differ ({percent(low)} to {percent(high)}): each replica keeps its own statistics of "
            "BatchNorm (running mean and variance of its minibatches), which are not parameters "
            "and are not averaged."]


def why(by_gap: list[Result]) -> list[str]:
    """Return whether disagreement decreases with the spectral gap; empty with fewer than two
    different gaps."""
    if len({round(r.gap, 6) for r in by_gap}) < 2:
        return []
    gaps = listed([(r.name, f"{number(r.gap, 2)} (distance {number(r.distance, 2)})")
                   for r in by_gap])
    falls = all(a.distance >= b.distance for a, b in zip(by_gap, by_gap[1:]))
    meaning = ("A larger gap means that averaging brings the replicas together faster, and these "
               "runs agree with that" if falls else
               "A larger gap should mean less disagreement, but that alone does not explain these "
               "runs")
    return [f"Spectral gaps of the graphs: {gaps}. {meaning}."]
