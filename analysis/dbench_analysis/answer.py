"""What several runs say about decentralizing, in about three sentences: what each reached, what
agreeing less costs in accuracy and bytes, and whether the graphs' spectral gaps explain it."""

from dataclasses import dataclass

import numpy as np

from . import differences, names, series
from .run import Run
from .textual import bytes_, number, percent

# What else would answer for a difference.
SHARED = ("model", "data", "optimizer", "schedule", "length")
PICTURE = "variance-accuracy"  # the figure that shows how far replicas disagree against accuracy


@dataclass
class Result:
    """Runs of one communication, seeds averaged."""

    name: str
    accuracy: float  # of the mean model, last evaluation
    worst: float  # local model
    distance: float  # the largest consensus distance
    sent: float  # bytes an iteration, all replicas
    gap: float  # 1 - rho of the first graph; NaN without one
    runs: int


def results(runs: list[Run]) -> list[Result]:
    """One for each communication; empty where the runs do not answer the question."""
    settings = [[run.replicas, *(run.spec.get(key) for key in SHARED)] for run in runs]
    if any(other != settings[0] for other in settings):
        return []
    if any(len(run.evaluations) == 0 for run in runs):
        return []
    found: dict[str, list[Run]] = {}
    for run, name in zip(runs, differences.communications(runs)):
        found.setdefault(names.marked(name), []).append(run)
    return [of_like(name, like) for name, like in found.items()] if len(found) > 1 else []


def of_like(name: str, runs: list[Run]) -> Result:
    ends = [series.evaluations(run, "accuracy").iloc[-1] for run in runs]
    distances = [largest_distance(run) for run in runs]
    rho = runs[0].certificate.get("rho")
    return Result(
        name=name,
        accuracy=float(np.mean([end["mean"] for end in ends])),
        worst=float(np.min([end["min"] for end in ends])),
        distance=float(np.mean(distances)),
        sent=float(np.mean([sent(run) for run in runs])),
        gap=1 - rho if isinstance(rho, (int, float)) else float("nan"),
        runs=len(runs))


def sent(run: Run) -> float:
    """Bytes an iteration; NaN before the first."""
    found = series.bytes_sent(run)
    return float(found.mean()) if len(found) else float("nan")


def largest_distance(run: Run) -> float:
    """Consensus distance; NaN where it was not recorded."""
    found = series.variance(run)
    if found.empty:
        return float("nan")
    return float(series.quiet(np.nanmax, found["consensus"].to_numpy(dtype=float)))


def sentences(runs: list[Run]) -> list[str]:
    found = results(runs)
    if not found or not all(np.isfinite([r.accuracy for r in found])):
        return []
    reached = listed([(r.name, percent(r.accuracy)) for r in found])
    said = ["Test accuracy of the model with the averaged parameters at the end: "
            f"{reached}{chance(found)}."]
    decentralized = [r for r in found if r.distance > 0]
    together = [r for r in found if r.distance == 0]
    if not decentralized:
        return said
    apart = max(decentralized, key=lambda r: r.distance)
    said.append(cost(apart, together[0] if together else None))
    said += why([r for r in decentralized if np.isfinite(r.gap)])
    return said


def listed(told: list[tuple[str, str]]) -> str:
    """Names, each with what is said of it; set apart more clearly where names hold commas."""
    if any("," in name for name, _ in told):
        return "; ".join(f"{name}: {value}" for name, value in told)
    return ", ".join(f"{name} {value}" for name, value in told)


def chance(found: list[Result]) -> str:
    fewest = min(r.runs for r in found)
    if fewest == 1:
        return " (one seed each: small differences may be chance)"
    return f" (mean of {fewest} runs or more)"


def cost(apart: Result, together: Result | None) -> str:
    told = (f"The replicas disagree most with {apart.name}: up to a distance of "
            f"{number(apart.distance, 2)} from their mean, and the worst evaluated replica ends "
            f"at {percent(apart.worst)}")
    if together is None or not (together.sent > 0 and np.isfinite(apart.sent)):
        return told + "."
    ratio = apart.sent / together.sent
    return (f"{told}, where {together.name} keeps all replicas equal; it sends "
            f"{bytes_(apart.sent)} an iteration, {number(ratio, 2)} times as much as "
            f"{together.name}.")


def why(found: list[Result]) -> list[str]:
    """Whether disagreement falls as the spectral gap grows, where two graphs can be compared."""
    if len({round(r.gap, 6) for r in found}) < 2:
        return []
    by_gap = sorted(found, key=lambda r: r.gap)
    gaps = listed([(r.name, f"{number(r.gap, 2)} (distance {number(r.distance, 2)})")
                   for r in by_gap])
    falls = all(a.distance >= b.distance for a, b in zip(by_gap, by_gap[1:]))
    meaning = ("A larger gap means that averaging brings the replicas together faster, and these "
               "runs agree with that" if falls else
               "A larger gap should mean less disagreement, but that alone does not explain these "
               "runs")
    return [f"Spectral gaps of the graphs: {gaps}. {meaning}."]
