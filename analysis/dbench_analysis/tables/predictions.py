"""Predicted and measured step times as rows of text and as JSON."""

import dataclasses
import math
from typing import Any

from ..basics.formatting import counted, seconds
from ..naming import names
from ..quantities.prediction import Comparison, Group, Quantiles, Summary


def quantiles(found: Quantiles) -> str:
    """Return the median with the 5 % and the 95 % quantile."""
    return f"{seconds(found.p50)} ({seconds(found.p05)} to {seconds(found.p95)})"


def error(value: float) -> str:
    """Return a relative error with its sign; a dash for NaN."""
    return "-" if math.isnan(value) else f"{100 * value:+.1f} %"


def share(value: float) -> str:
    """Return a share as per cent; a dash for NaN."""
    return "-" if math.isnan(value) else f"{100 * value:.0f} %"


def runs(compared: list[Comparison]) -> list[list[str]]:
    """Return a head and a row for each run."""
    rows = [["run", "graph", "order", "ranks", "hosts", "predicted 5 %", "50 %", "95 %",
             "measured 5 %", "50 %", "95 %", "error", "steps below 50 %", "below 95 %"]]
    for one in compared:
        measured = one.measured
        rows.append([
            one.run.name, one.name, one.order, str(one.run.rank_count),
            str(one.run.prediction.get("hosts", "-")),
            *(seconds(getattr(one.predicted, key)) for key in ("p05", "p50", "p95")),
            *(seconds(getattr(measured, key) if measured else None)
              for key in ("p05", "p50", "p95")),
            error(one.error), share(one.below_p50), share(one.below_p95)])
    return rows


def groups(found: list[Group]) -> list[list[str]]:
    """Return a head and a row for each group of runs that differ only in graph and algorithm."""
    return [["runs that differ only in graph and algorithm", "predicted fastest",
             "measured fastest", "verdict", "time lost"],
            *([setting(group), " or ".join(group.predicted), " or ".join(group.measured),
               group.verdict, share(max(0.0, group.loss))] for group in found)]


def setting(group: Group) -> str:
    """Return what the runs of a group have in common, in words."""
    run = group.members[0].run
    hosts = run.prediction.get("hosts")
    return (f"{counted(len(group.members), 'run')}: {names.type_of(run.spec.get('model'))} on "
            f"{names.type_of(run.spec.get('data'))}, {counted(run.rank_count, 'rank')}"
            + (f", {counted(hosts, 'host')}" if hosts else ""))


def sentences(found: Summary) -> list[str]:
    """Return the summary of all runs in words."""
    lines = []
    if found.runs:
        lines.append(f"{counted(found.runs, 'run')}: the median error is {share_of(found.median)}, "
                     f"90 % are below {share_of(found.p90)}, the largest is "
                     f"{share_of(found.largest)}.")
        lines.append(f"Of the measured steps {share(found.below_p50)} are below the predicted "
                     f"median, and {share(found.below_p95)} below the predicted 95 % quantile "
                     "(each run counts the same).")
    if found.groups:
        lines.append("The fastest was named correctly, or correctly within noise, in "
                     f"{found.right} of {counted(found.groups, 'group')}.")
    return lines


def share_of(value: float) -> str:
    """Return an absolute error as per cent."""
    return f"{100 * value:.1f} %"


def as_json(compared: list[Comparison], found: list[Group], total: Summary) -> dict[str, Any]:
    """Return everything as JSON values; times in seconds, shares and errors as fractions."""
    return finite({
        "runs": [{
            "file": str(one.run.path), "name": one.run.name, "graph": one.name,
            "order": one.run.prediction["graphs"][0]["order"], "ranks": one.run.rank_count,
            "hosts": one.run.prediction.get("hosts"),
            "predicted": dataclasses.asdict(one.predicted),
            "measured": dataclasses.asdict(one.measured) if one.measured else None,
            "steps": one.steps, "error": one.error,
            "below": {"p50": one.below_p50, "p95": one.below_p95},
            "assumptions": one.assumptions} for one in compared],
        "groups": [{
            "files": [str(one.run.path) for one in group.members], "predicted": group.predicted,
            "measured": group.measured, "verdict": group.verdict, "loss": group.loss}
            for group in found],
        "error": {"median": total.median, "p90": total.p90, "largest": total.largest,
                  "runs": total.runs},
        "below": {"p50": total.below_p50, "p95": total.below_p95},
        "fastest": {"right": total.right, "groups": total.groups}})


def finite(value: Any) -> Any:
    """Return JSON values with null in place of numbers that are not finite."""
    if isinstance(value, dict):
        return {key: finite(below) for key, below in value.items()}
    if isinstance(value, list):
        return [finite(below) for below in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
