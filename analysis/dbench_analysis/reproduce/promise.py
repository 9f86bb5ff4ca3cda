"""From Promise to Practice: its tables beside our runs, and what it claims of methods, at whatever
scale was run."""

import math
from collections.abc import Callable

import numpy as np

from .. import differences, fields, names, ranks
from ..comparable import caveats
from ..run import Run
from ..textual import counted
from .cases import Case
from .finding import CONTRADICTED, SUPPORTED, UNDECIDED, Finding, Terms
from .judged import POINTS, Judged, judged, more_seeds
from .published import TABLES, TIMES, Row, Table
from .settings import PROMISE as SETTINGS  # noqa: F401 (read by the command)

SWEEP = ""
LEAST = 3  # runs from which a mean has an error; the paper has 3
NAMES = {"all_reduce": "All-Reduce", "dadam": "DAdam", "accum_adam": "AccumAdam"}
METHOD_KEYS = (*ranks.FAMILY, "/optimizer")


def judge(found: list[Case], terms: Terms, runs: list[Run]) -> list[Finding]:
    whole = [run for run in runs if run.status == "complete"]
    return [*(table(t, whole) for t in TABLES), accumulation(whole, terms), parity(whole, terms),
            times(whole, terms)]


def method(run: Run) -> tuple[str, str] | None:
    """(method, graph) in the paper's words; None for anything else."""
    optimizer, kind = names.type_of(run.spec.get("optimizer")), names.algorithm(run)
    if kind == "centralized":
        return ("all_reduce", "") if optimizer in ("adam", "adamw") else None
    spec = run.spec.get("algorithm")
    if kind != "dsgd" or not isinstance(spec, dict) or spec.get("order") != "combine_while_adapt":
        return None
    called = {"adam": "dadam", "adamw": "dadam", "accum_adam": "accum_adam",
              "accum_adamw": "accum_adam"}.get(optimizer)
    return (called, names.graph(run)) if called else None


def called(row: Row) -> str:
    return NAMES[row.method] + f", {row.graph}" * bool(row.graph)


def table(published: Table, runs: list[Run]) -> Finding:
    """Each cell beside the runs of the same model, data, replicas, method and graph."""
    rows, verdicts, missing = [], [], []
    percent = published.metric == "accuracy"
    unit, factor = ("%", 100) if percent else (published.metric, 1)
    for row in published.rows:
        ours = [run for run in runs if (names.type_of(run.spec.get("model")),
                                        names.type_of(run.spec.get("data")), run.replicas)
                == (published.model, published.data, published.replicas)
                and method(run) == (row.method, row.graph)]
        values = (np.array([fields.last(run, "accuracy", "median") for run in ours]) if percent
                  else np.empty(0))
        verdict, said = against_published(values[np.isfinite(values)], row, factor)
        kind = "2 sigma" if row.spread else "own choice"
        rows.append([called(row), f"{factor * row.value:.2f} {unit}",
                     f"± {factor * row.tolerance:.2f} ({kind})", said, verdict])
        verdicts.append(verdict)
        if verdict == UNDECIDED and percent:
            missing.append(f"{called(row)}: {LEAST} runs with different seeds, here {len(values)}")
    if not percent:
        missing.append(f"{published.metric}, which dbench does not record: translations have to be "
                       "scored outside")
    verdict = (CONTRADICTED if CONTRADICTED in verdicts else SUPPORTED
               if set(verdicts) == {SUPPORTED} else UNDECIDED)
    why = (f"{verdicts.count(SUPPORTED)} of {len(rows)} cells reached, "
           f"{verdicts.count(CONTRADICTED)} missed")
    rule = (f"A cell is supported where our mean ± 2 standard errors, of {LEAST} runs or more, "
            "lies within the tolerance of the published value, contradicted where it lies "
            "outside altogether. The table is supported where all cells are, contradicted where "
            "one is. Accuracy is the median of the local models: the published "
            "script evaluates them, not their mean.")
    return Finding(published.key, published.title, rule, verdict, why,
                   ["method", "published", "tolerance", "ours", "verdict"], rows, missing)


def against_published(values: np.ndarray, row: Row, factor: float) -> tuple[str, str]:
    """(verdict, ours in words)."""
    if not len(values):
        return UNDECIDED, "not run"
    mean = float(values.mean())
    if len(values) < LEAST:
        return UNDECIDED, f"{factor * mean:.2f} ({counted(len(values), 'run')})"
    error = 2 * float(values.std(ddof=1)) / math.sqrt(len(values))
    said = f"{factor * mean:.2f} ± {factor * error:.2f} ({counted(len(values), 'run')})"
    off = abs(mean - row.value)
    if off + error <= row.tolerance:
        return SUPPORTED, said
    return CONTRADICTED if off - error > row.tolerance else UNDECIDED, said


def paired(runs: list[Run], a: Callable[[tuple], bool], b: Callable[[tuple], bool],
           value: Callable[[Run], float]) -> dict[str, list[float]]:
    """value(a) - value(b) by application and graph, of runs alike but for optimizer, graph and
    algorithm; `b` is of the same graph, or all-reduce."""
    groups: dict[frozenset, dict[tuple, Run]] = {}
    for run in runs:
        called = method(run)
        if called:
            spec = {p: v for p, v in differences.flattened(run.spec).items()
                    if not differences.is_aside(p) and not p.startswith(METHOD_KEYS)}
            key = frozenset({**spec, "/seed": str(fields.seed(run)),
                             "/replicas": str(run.replicas)}.items())
            groups.setdefault(key, {}).setdefault(called, run)
    told: dict[str, list[float]] = {}
    for members in groups.values():
        for one, run in members.items():
            for other, beside in members.items():
                if a(one) and b(other) and other[1] in ("", one[1]):
                    place = (f"{names.type_of(run.spec.get('model'))} on "
                             f"{names.type_of(run.spec.get('data'))}, n = {run.replicas}, {one[1]}")
                    told.setdefault(place, []).append(value(run) - value(beside))
    return told


def final(run: Run) -> float:
    return fields.last(run, "accuracy", "mean")


def outcomes(told: dict[str, list[float]], terms: Terms) -> dict[str, Judged]:
    return {place: judged(values, terms) for place, values in sorted(told.items())}


def wanting(told: dict[str, Judged], terms: Terms, what: str) -> list[str]:
    if not told:
        return [f"{what}, order combine_while_adapt, alike but for optimizer, graph and algorithm, "
                "with the same seeds"]
    return [line for place, outcome in told.items()
            for line in more_seeds(place, outcome.count, terms)]


def accumulation(runs: list[Run], terms: Terms) -> Finding:
    told = outcomes(paired(runs, lambda m: m[0] == "accum_adam", lambda m: m[0] == "dadam", final),
                    terms)
    worse = [place for place, o in told.items() if o.below(len(told)) or o.equivalent(len(told))]
    verdict, why = UNDECIDED, "neither better nor equivalent beyond chance"
    if told and all(o.above() for o in told.values()):
        verdict, why = SUPPORTED, f"higher accuracy: {'; '.join(told)}"
    elif worse:
        verdict, why = CONTRADICTED, f"no higher accuracy: {'; '.join(worse)}"
    rule = ("Final accuracy of the mean model, AccumAdam minus DAdam on the same graph, paired "
            "over seeds. Supported: higher in every setting run (sign flips, p <= "
            f"{terms.alpha:g}). Contradicted: lower, or equivalent within {100 * terms.margin:g} "
            f"points, in one (p <= {terms.alpha:g} / number of settings). Else undecided.")
    return Finding("accumulation",
                   "AccumAdam is more accurate than DAdam (at whatever scale was run).", rule,
                   verdict, why, ["setting", *POINTS],
                   [[place, *o.points()] for place, o in told.items()],
                   wanting(told, terms, "runs with adam and with accum_adam")
                   if verdict == UNDECIDED else [])


def parity(runs: list[Run], terms: Terms) -> Finding:
    told = outcomes(paired(runs, lambda m: m[0] == "accum_adam", lambda m: m[0] == "all_reduce",
                           final), terms)
    lower = [place for place, o in told.items() if o.below(len(told))
             and o.interval[1] < -terms.margin]
    verdict, why = UNDECIDED, "neither equivalent nor less accurate beyond chance"
    if told and all(o.above() or o.equivalent() for o in told.values()):
        verdict, why = SUPPORTED, f"as accurate or more: {'; '.join(told)}"
    elif lower:
        verdict, why = CONTRADICTED, f"less accurate: {'; '.join(lower)}"
    rule = ("Final accuracy of the mean model, AccumAdam minus all-reduce Adam, paired over "
            f"seeds. Supported: higher, or equivalent within {100 * terms.margin:g} points, in "
            f"every setting run (p <= {terms.alpha:g}). Contradicted: lower in one (p <= "
            f"{terms.alpha:g} / number of settings) with the interval below "
            f"-{100 * terms.margin:g} points.")
    return Finding("parity",
                   "AccumAdam reaches the accuracy of all-reduce Adam (at whatever scale was run).",
                   rule, verdict, why, ["setting", *POINTS],
                   [[place, *o.points()] for place, o in told.items()],
                   wanting(told, terms, "runs with accum_adam, and centralized ones with adam")
                   if verdict == UNDECIDED else [])


def times(runs: list[Run], terms: Terms) -> Finding:
    """The ratio of step times, all-reduce over AER; the published ones stand beside and are not
    judged: other machines."""
    fit = [run for run in runs if not caveats(run)]
    told = outcomes(paired(fit, lambda m: m[1] == "aer", lambda m: m[0] == "all_reduce",
                           lambda run: -math.log(fields.step(run))), terms)
    rows = [[f"published: {cluster}, {gpus} GPUs", "1", f"{reduced / aer:.2f}", "-"]
            for cluster, gpus, reduced, aer in TIMES]
    rows += [
        [place, str(o.count),
         f"{math.exp(o.mean):.2f} ({math.exp(o.interval[0]):.2f} to {math.exp(o.interval[1]):.2f})",
         f"{o.p:.3g}"] for place, o in told.items() if o.count]
    verdict, why = UNDECIDED, "no difference of step times is shown"
    if told and all(o.above() for o in told.values()):
        verdict, why = SUPPORTED, f"an iteration takes less time: {'; '.join(told)}"
    elif any(o.below(len(told)) for o in told.values()):
        verdict, why = CONTRADICTED, "an iteration takes more time in one setting"
    rule = ("Median step time of all-reduce over that of AER, paired over seeds, of runs whose "
            "times compare. Supported: above 1 in every setting (sign flips of the logarithm, "
            f"p <= {terms.alpha:g}); contradicted: below 1 in one. Published ratios stand beside: "
            "they hold for their machines and are not judged.")
    missing = wanting(told, terms, "runs over aer and centralized ones, whose times compare "
                                   "(reduction library, a rank for each replica, a core or GPU for "
                                   "each rank)")
    left = len(runs) - len(fit)
    if left:
        missing.append(f"{counted(left, 'run')} left out whose times do not compare")
    return Finding("times", "An iteration over AER takes less time than one with all-reduce.", rule,
                   verdict, why, ["setting", "pairs", "ratio (interval)", "p"], rows,
                   missing if verdict == UNDECIDED else [])
