"""Comparisons of two selections of runs for notebooks: `da.compare`."""

from __future__ import annotations

from collections.abc import Sequence

from ..basics.errors import AnalysisError
from ..quantities import fields
from ..statistics.outcome import Outcome, outcome, parse_margin
from . import selection
from .selection import RunSource


def compare(a: RunSource, b: RunSource, metric: str = "accuracy_mean_model", *,
            pair: str | Sequence[str] = "seed", margin: float | str | None = None,
            alpha: float = 0.05, seed: int = 0, unfinished: bool = False,
            where: str | Sequence[str] = ()) -> Outcome:
    """Compare two selections of runs by `metric`, over the seeds that both have.

    pair         the fields that the runs of a pair have in common
    margin       the largest difference that counts as none: 0.005, or "0.5%" for half a point of
                 accuracy
    alpha, seed  level of the tests; seed of the random numbers
    unfinished   include runs that are not complete

    The outcome prints as `dbench-analyze compare` does: pairs, interval, p, verdict.
    """
    field = fields.one_metric(metric, "metric")
    if not 0 < alpha < 0.5:
        raise AnalysisError(f"alpha {alpha}", "out of range", "give 0 to 0.5, such as 0.05")
    if seed < 0:
        raise AnalysisError(f"seed {seed}", "is negative", "give 0 or more")
    of_pair = selection.keys(pair, (), "pair")
    keys = [field.key, *of_pair, "status", "file", *["time_note"] * field.timed]
    sides = [selection.collection(side, keys, where) for side in (a, b)]
    if not unfinished:
        sides = [selection.complete(side, name) for side, name in zip(sides, "AB")]
    limit = None if margin is None else parse_margin(str(margin), field)
    return outcome(sides[0], sides[1], field, of_pair, limit, alpha, seed)
