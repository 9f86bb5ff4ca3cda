"""Runs as cases: the few numbers of each run by which claims are judged."""

from dataclasses import dataclass

import numpy as np

from ..basics.errors import names_the_run
from ..basics.formatting import counted
from ..naming import differences, names
from ..quantities import fields, series
from ..reading.run import Run

CONTROLS = {"budget": "equal bytes, mixed evenly", "ring_lattice": "a fixed lattice",
            "base_k": "Base-(k+1)", "simple_base_k": "Base-(k+1)",
            "hyper_hypercube": "Base-(k+1)"}

DECIDED = ("ada", "ada_variance", "consensus_control", "budget", "participation")


@dataclass(frozen=True)
class Case:
    """One complete run with accuracies.

    role     centralized, fixed, ada, control, or other (an algorithm outside these claims)
    what     what a control controls for
    group    what it shares with comparable runs: settings, replicas, seed; not the communication
    line     the settings without communication, replicas and seed
    curve    mean accuracy over the evaluations after the first
    early, late   mean variance in the first `window` and in the second half of the iterations
    """

    name: str
    role: str
    what: str
    application: str
    group: frozenset
    line: frozenset
    fixed_batch: bool
    replicas: int
    seed: str
    degree: float
    accuracy: float
    curve: float
    early: float
    late: float

    @property
    def setting(self) -> tuple:
        """Return everything except communication and seed, in words first."""
        return self.application, self.replicas, tuple(sorted(self.line))


def role(run: Run) -> tuple[str, str]:
    """Return (role, what a control controls for)."""
    graph = run.spec.get("graph")
    kind, reversed_ = names.graph(run), isinstance(graph, dict) and bool(graph.get("reversed"))
    if names.algorithm(run) == "centralized":
        return "centralized", ""
    if names.algorithm(run) != "dsgd":
        return "other", ""
    if kind in ("ada", "ada_variance"):
        return ("control", "the reverse schedule") if reversed_ else ("ada", "")
    if kind in CONTROLS:
        return "control", CONTROLS[kind]
    return ("other" if decided_while_running(graph) else "fixed"), ""


def decided_while_running(graph) -> bool:
    """Return whether a graph of the spec is a list of graphs, or contains a controller or a choice
    of participants at any depth, so that the graph is not known from the start."""
    if isinstance(graph, list):
        return True
    if isinstance(graph, dict):
        return any(decided_while_running(value) for value in graph.values())
    return graph in DECIDED


@names_the_run
def late_variance(run: Run) -> float:
    """Return the mean variance over the second half of the iterations; NaN if it was not
    recorded."""
    if "consensus_distance" not in run.parameters:
        return float("nan")
    column = run.parameters["consensus_distance"]
    value = series.squared_per_parameter(run, "variance", column[:].astype(float))
    return (float(series.nan_safe(np.nanmean, value[column.index >= len(run.iterations) / 2]))
            if len(value) else float("nan"))


@names_the_run
def case_of(run: Run, name: str, window: float) -> Case:
    """Return the case of a complete run."""
    (kind, what), local, data = role(run), fields.local_batch(run), run.spec.get("data")
    curve = series.evaluations(run, "accuracy")["mean"].to_numpy(dtype=float)
    whole = isinstance(data, dict) and isinstance(data.get("batch_size"), dict)
    return Case(
        name, kind, what, f"{names.type_of(run.spec.get('model'))} on {names.type_of(data)}",
        differences.group_of(run), differences.without_replicas(run),
        not whole and not isinstance(local, str), run.replicas,
        str(names.seed(run)), fields.mean(run, "degree"), float(curve[-1]),
        float(series.nan_safe(np.nanmean, curve[1:])) if len(curve) > 1 else float("nan"),
        series.early_spread(run, "variance", window), late_variance(run))


def unequal_curves(runs: list[Run]) -> list[str]:
    """Return a warning if runs of one setting and seed were evaluated at different intervals."""
    intervals: dict[frozenset, set[frozenset]] = {}
    for run in runs:
        intervals.setdefault(differences.group_of(run), set()).add(frozenset(
            (p, v) for p, v in differences.flattened(run.spec).items()
            if differences.is_interval(p)))
    count = sum(len(found) > 1 for found in intervals.values())
    return [f"{counted(count, 'setting')} with runs that differ in {differences.INTERVAL}: their "
            "means over evaluations are not of the same iterations."] if count else []


def cases(runs: list[Run], window: float) -> tuple[list[Case], list[str]]:
    """Return (cases, notes on what was left out). If runs repeat a setting and seed, the first
    counts."""
    whole = [run for run in runs if run.status == "complete"
             and np.isfinite(fields.last(run, "accuracy", "mean"))]
    notes = [f"{len(runs) - len(whole)} of {len(runs)} runs left out: not complete, or without "
             "accuracies."] if len(whole) < len(runs) else []
    found: dict[tuple, Case] = {}
    for run, name in zip(whole, differences.communications(whole)):
        case = case_of(run, name, window)
        found.setdefault((name, case.group), case)
    if len(found) < len(whole):
        notes.append(
            f"{len(whole) - len(found)} runs left out because another run has the same setting "
            "and seed.")
    notes += unequal_curves(whole)
    others = sum(case.role == "other" for case in found.values())
    if others:
        notes.append(f"{others} runs of other algorithms than dsgd and gradient all-reduce, or "
                     "over graphs that are decided while a run goes on, are not judged here.")
    return list(found.values()), notes


def settings(found: list[Case]) -> dict[tuple, str]:
    """Return the settings of the cases, each with a distinct name."""
    words: dict[tuple, str] = {}
    for setting in sorted({case.setting for case in found}):
        name = f"{setting[0]}, n = {setting[1]}"
        like = sum(other.startswith(name) for other in words.values())
        words[setting] = name + f" ({like + 1})" * (like > 0)
    return words


def by_group(found: list[Case]) -> list[dict[str, Case]]:
    """Return groups of comparable cases, by name."""
    groups: dict[frozenset, dict[str, Case]] = {}
    for case in found:
        groups.setdefault(case.group, {})[case.name] = case
    return list(groups.values())
