"""Forms the number of a run that is compared with a published one.

    below       the first tested iteration at which the value is below `threshold`
    plateau     the first tested iteration at which the last `count` tested values are within
                `within` of their mean, and the last one is below `threshold`
    evaluation  the mean of the last `last` evaluations of each replica, then `over_replicas`

The value of the first two is `scale` times (column - `minus`). `minus` is a number, or the name of
one that the reproduction's script wrote to values.json. Tested iterations are the rounded values of
`points` points from 1 to `until`, evenly spaced in their logarithm; without `tested`, all.
"""

from typing import Any

import numpy as np

from ..basics.errors import AnalysisError
from ..reading.run import Run
from .checking import COUNT, NUMBER, OBJECT, TEXT, Key, checked

OVER = {"mean": np.mean, "min": np.min, "max": np.max, "median": np.median}
MINUS = ("a number, or the name of one", lambda value: NUMBER[1](value) or TEXT[1](value))
CURVE = {"column": Key(*TEXT, True), "minus": Key(*MINUS), "scale": Key(*NUMBER),
         "threshold": Key(*NUMBER, True), "tested": Key(*OBJECT)}
TESTED = {"until": Key(*COUNT, True), "points": Key(*COUNT, True)}
KINDS = {
    "below": CURVE,
    "plateau": CURVE | {"count": Key(*COUNT, True), "within": Key(*NUMBER, True)},
    "evaluation": {"column": Key(*TEXT, True), "last": Key(*COUNT), "scale": Key(*NUMBER),
                   "over_replicas": Key(f"one of {', '.join(OVER)}", lambda value: value in OVER)},
}


def check(where: str, metric: dict[str, Any]):
    """Raise AnalysisError if this is not a metric."""
    kind = metric.get("type") if isinstance(metric, dict) else None
    if kind not in KINDS:
        raise AnalysisError(f"{where}/type", "no such metric", f"there are: {', '.join(KINDS)}")
    checked(where, metric, {"type": Key(*TEXT), **KINDS[kind]})
    if "tested" in metric:
        checked(f"{where}/tested", metric["tested"], TESTED)


def tested(iterations: np.ndarray, metric: dict[str, Any]) -> np.ndarray:
    """Return which of these iterations are tested."""
    if "tested" not in metric:
        return np.ones(len(iterations), bool)
    until, points = metric["tested"]["until"], metric["tested"]["points"]
    exponents = np.log2(until) * np.arange(points) / max(1, points - 1)
    return np.isin(iterations, [round(2 ** each) for each in exponents])


def value(run: Run, metric: dict[str, Any], values: dict[str, float]) -> float | None:
    """Return the number of a run; None if the run never reaches what is counted, or if its number
    is not finite."""
    rows = run.evaluations
    if metric["column"] not in rows:
        raise AnalysisError(run.path, f"has no evaluations/{metric['column']}",
                            "its metric needs this column")
    column = np.asarray(rows[metric["column"]][:], float)
    if metric["type"] == "evaluation":
        last = column[-metric.get("last", 1):].mean(axis=0)
        over = OVER[metric.get("over_replicas", "mean")]
        number = metric.get("scale", 1) * float(over(last))
        return number if np.isfinite(number) else None
    minus = metric.get("minus", 0)
    if isinstance(minus, str):
        if minus not in values:
            raise AnalysisError(run.path, f"no value '{minus}' in values.json",
                                "the reproduction's script writes it")
        minus = values[minus]
    iterations = np.asarray(rows["iteration"][:])
    chosen = tested(iterations, metric)
    iterations, above = iterations[chosen], metric.get("scale", 1) * (column[chosen] - minus)
    reached = above < metric["threshold"]
    if metric["type"] == "plateau":
        reached &= flat(above, metric["count"], metric["within"])
    return float(iterations[np.argmax(reached)]) if reached.any() else None


def flat(values: np.ndarray, count: int, within: float) -> np.ndarray:
    """Return at which positions the last `count` values are within `within` of their mean."""
    found = np.zeros(len(values), bool)
    if len(values) >= count:
        windows = np.lib.stride_tricks.sliding_window_view(values, count)
        spread = np.abs(windows - windows.mean(axis=1, keepdims=True)).max(axis=1)
        found[count - 1:] = spread < within
    return found
