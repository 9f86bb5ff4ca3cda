"""From Promise to Practice: its tables next to our runs, and its claims about methods, at whatever
scale was run."""

import math
from collections.abc import Callable

import numpy as np

from ..basics.formatting import counted
from ..naming import differences, names
from ..quantities import fields
from ..quantities.comparability import caveats
from ..reading.run import Run
from ..statistics import power, significance, symmetry
from .cases import Case
from .finding import CONTRADICTED, SUPPORTED, UNDECIDED, Finding, Terms
from .judgement import (
    ASSUMED,
    POINTS,
    TYPICAL,
    Judged,
    few_seeds,
    judged,
    more_seeds,
    seeds_text,
)
from .published import TABLES, TIMES, Row, Table
from .settings import PROMISE as SETTINGS  # noqa: F401 (read by the command)

SWEEP = ""
LEAST = 3  # runs that a mean with an error requires; the paper has 3
NAMES = {"all_reduce": "All-Reduce", "dadam": "DAdam", "accum_adam": "AccumAdam"}
METHOD_KEYS = (*differences.COMMUNICATION, "/optimizer")


def judge(found: list[Case], terms: Terms, runs: list[Run]) -> list[Finding]:
    """Return a finding for each table, and the findings on methods."""
    whole = [run for run in runs if run.status == "complete"]
    return [*(table(t, whole, terms) for t in TABLES), accumulation(whole, terms),
            parity(whole, terms), times(whole, terms)]


def method(run: Run) -> tuple[str, str] | None:
    """Return (method, graph) in the paper's words; None for any other run."""
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
    """Return the name of a table's row."""
    return NAMES[row.method] + f", {row.graph}" * bool(row.graph)


def table(published: Table, runs: list[Run], terms: Terms) -> Finding:
    """Compare each cell with the runs of the same model, data, replicas, method and graph."""
    rows, verdicts, missing = [], [], []
    percent = published.metric == "accuracy"
    unit, factor = ("%", 100) if percent else (published.metric, 1)
    level = terms.alpha / len(published.rows)
    for row in published.rows:
        ours = [run for run in runs if (names.type_of(run.spec.get("model")),
                                        names.type_of(run.spec.get("data")), run.replicas)
                == (published.model, published.data, published.replicas)
                and method(run) == (row.method, row.graph)]
        values = np.array(accuracies(ours) if percent else [])
        verdict, summary = against_published(values, row, factor, terms.alpha, level)
        several = len(differences.by_setting(ours))
        if several > 1:
            verdict, summary = UNDECIDED, f"{summary}, of {several} settings"
        kind = "2 sigma" if row.spread else "own choice"
        rows.append([called(row), f"{factor * row.value:.2f} {unit}",
                     f"± {factor * row.tolerance:.2f} ({kind})", summary, verdict])
        verdicts.append(verdict)
        if verdict == UNDECIDED and percent:
            apart = f" in {several} settings: runs of one decide" * (several > 1)
            missing.append(f"{called(row)}: {LEAST} runs with different seeds, here {len(values)}"
                           f"{apart}; {power_of(values, row, terms.alpha)}")
    if not percent:
        missing.append(f"runs on {published.data}, which is no data set of dbench; and its "
                       f"{published.metric} is that of greedy translations, where the paper "
                       "searches with beams")
    verdict = (CONTRADICTED if CONTRADICTED in verdicts else SUPPORTED
               if set(verdicts) == {SUPPORTED} else UNDECIDED)
    why = (f"{verdicts.count(SUPPORTED)} of {len(rows)} cells reached, "
           f"{verdicts.count(CONTRADICTED)} missed")
    rule = (f"A cell is supported where Student's {100 * (1 - terms.alpha):g} % interval of our "
            f"mean, from {LEAST} seeds or more of one setting, lies within the tolerance of the "
            f"published value, contradicted where that of {100 * (1 - level):g} % (level / number "
            "of cells) lies outside altogether. The table is supported where all cells are, "
            "contradicted where one is. Accuracy is the median of the local models: the published "
            "script evaluates them, not their mean.")
    return Finding(published.key, published.title, rule, verdict, why,
                   ["method", "published", "tolerance", "ours", "verdict"], rows, missing,
                   "Student's interval assumes that the accuracies of seeds are independent and "
                   "nearly normal; with skewed ones, or if one run in twenty fails, it covers "
                   "less, and no interval of a mean holds for so few seeds.")


def accuracies(runs: list[Run]) -> list[float]:
    """Return the finite final accuracies. If runs repeat a setting and seed, the first counts."""
    first: dict[tuple, Run] = {}
    for group in differences.by_setting(runs):
        for run in group:
            first.setdefault((id(group), str(names.seed(run))), run)
    values = [fields.last(run, "accuracy", "median") for run in first.values()]
    return [value for value in values if math.isfinite(value)]


def against_published(values: np.ndarray, row: Row, factor: float, alpha: float,
                      level: float) -> tuple[str, str]:
    """Return (verdict, our value in words): supported at alpha, contradicted at `level`."""
    if not len(values):
        return UNDECIDED, "not run"
    mean = float(values.mean())
    if len(values) < LEAST:
        return UNDECIDED, f"{factor * mean:.2f} ({counted(len(values), 'run')})"
    inner, outer = (significance.student_half_width(values, 1 - a) for a in (alpha, level))
    shape = symmetry.signs(values)
    summary = (f"{factor * mean:.2f} ± {factor * inner:.2f} ({counted(len(values), 'run')}"
               + f", {shape}" * bool(shape) + ")")
    off = abs(mean - row.value)
    if off + inner <= row.tolerance:
        return SUPPORTED, summary
    return CONTRADICTED if off - outer > row.tolerance else UNDECIDED, summary


def power_of(values: np.ndarray, row: Row, alpha: float) -> str:
    """Return with which probability the runs would support a cell whose true value is the published
    one, and how many would do so with the wanted power."""
    known = len(values) > 1
    deviation = float(values.std(ddof=1)) if known else TYPICAL

    def supports(n: int) -> float:
        return power.stays_within(n, deviation, row.tolerance, 1 - alpha) if n >= LEAST else 0.0

    count = max(LEAST, len(values))
    return (f"at a standard deviation of {100 * deviation:.2g} points "
            f"({'measured' if known else 'assumed'}) {count} runs support the published value, if "
            f"it is true, with a probability of {100 * supports(count):.0f} % "
            f"({seeds_text(power.seeds_for(supports))})")


def paired(runs: list[Run], a: Callable[[tuple], bool], b: Callable[[tuple], bool],
           value: Callable[[Run], float]) -> dict[str, list[float]]:
    """Return value(a) - value(b) over seeds, by setting and graph, for runs that differ only in
    optimizer, graph and algorithm. `b` has the same graph, or is all-reduce. If a method was run
    with several parameters, every combination is compared."""
    groups: dict[frozenset, dict[str, dict[tuple, Run]]] = {}
    for run in runs:
        kind = method(run)
        if kind:
            spec = {p: v for p, v in differences.flattened(run.spec).items()
                    if not differences.is_ignored(p)} | {"/replicas": str(run.replicas)}
            parts = [frozenset((p, v) for p, v in spec.items() if p.startswith(METHOD_KEYS) == own)
                     for own in (False, True)]
            by_seed = groups.setdefault(parts[0], {})
            by_seed.setdefault(str(names.seed(run)), {}).setdefault((kind, parts[1]), run)
    found: dict[tuple, list[float]] = {}
    for setting, by_seed in groups.items():
        for _, members in sorted(by_seed.items()):
            for one, run in members.items():
                for other, other_run in members.items():
                    if a(one[0]) and b(other[0]) and other[0][1] in ("", one[0][1]):
                        key = (setting, one, other)
                        found.setdefault(key, []).append(value(run) - value(other_run))
    return dict(sorted(zip(distinct_labels(list(found)), found.values())))


def distinct_labels(keys: list[tuple]) -> list[str]:
    """Return words for each (setting, method, other method): application, replicas, graph, and the
    entries that distinguish it from others with the same words."""
    specs = [{**dict(setting), **{f"{kind[0]} {p}": v for kind, own in (one, other)
                                  for p, v in own}, "method ": one[0][0]}
             for setting, one, other in keys]
    words = [f"{type_in(setting, 'model')} on {type_in(setting, 'data')}, "
             f"n = {dict(setting)['/replicas']}, {one[0][1]}" for setting, one, _ in keys]
    found = []
    for spec, label in zip(specs, words):
        like = [other for other, word in zip(specs, words) if word == label]
        apart = [p for p in sorted({p for other in like for p in other})
                 if len({other.get(p) for other in like}) > 1]
        found.append(", ".join([label, *(f"{p}={spec[p]}" for p in apart if p in spec)]))
    return found


def type_in(setting: frozenset, family: str) -> str:
    """Return the type of a family's entry in a flattened spec."""
    spec: dict[str, str] = dict(setting)
    return spec.get(f"/{family}/type") or spec.get(f"/{family}", "?")


def final(run: Run) -> float:
    """Return the final accuracy of the mean model."""
    return fields.last(run, "accuracy", "mean")


def outcomes(found: dict[str, list[float]], terms: Terms) -> dict[str, Judged]:
    """Judge the values of each setting."""
    return {place: judged(values, terms) for place, values in found.items()}


def missing_runs(found: dict[str, Judged], what: str, more=more_seeds) -> list[str]:
    """Return which runs or seeds would decide; `more` says it for one setting."""
    if not found:
        return [f"{what}, order combine_while_adapt, that differ only in optimizer, graph and "
                "algorithm, with the same seeds"]
    return [line for place, outcome in found.items()
            for line in more(place, outcome)]


def accumulation(runs: list[Run], terms: Terms) -> Finding:
    """Judge whether AccumAdam is more accurate than DAdam."""
    found = outcomes(paired(runs, lambda m: m[0] == "accum_adam", lambda m: m[0] == "dadam", final),
                    terms)
    worse = [place for place, o in found.items() if o.below(len(found)) or o.equivalent(len(found))]
    verdict, why = UNDECIDED, "neither better nor equivalent beyond chance"
    if found and all(o.above() for o in found.values()):
        verdict, why = SUPPORTED, f"higher accuracy: {'; '.join(found)}"
    elif worse:
        verdict, why = CONTRADICTED, f"no higher accuracy: {'; '.join(worse)}"
    rule = ("Final accuracy of the mean model, AccumAdam minus DAdam on the same graph, paired "
            "over seeds. Supported: higher in every setting run (sign flips, p <= "
            f"{terms.alpha:g}). Contradicted: lower, or equivalent within {100 * terms.margin:g} "
            f"points, in one (p <= {terms.alpha:g} / number of settings). Otherwise undecided.")
    return Finding("accumulation",
                   "AccumAdam is more accurate than DAdam (at whatever scale was run).", rule,
                   verdict, why, ["setting", *POINTS],
                   [[place, *o.points()] for place, o in found.items()],
                   missing_runs(found, "runs with adam and with accum_adam")
                   if verdict == UNDECIDED else [], ASSUMED)


def parity(runs: list[Run], terms: Terms) -> Finding:
    """Judge whether AccumAdam reaches the accuracy of all-reduce Adam."""
    found = outcomes(paired(runs, lambda m: m[0] == "accum_adam", lambda m: m[0] == "all_reduce",
                           final), terms)
    lower = [place for place, o in found.items() if o.below_margin(len(found))]
    verdict, why = UNDECIDED, "neither equivalent nor less accurate beyond chance"
    if found and all(o.above() or o.equivalent() for o in found.values()):
        verdict, why = SUPPORTED, f"as accurate or more: {'; '.join(found)}"
    elif lower:
        verdict, why = CONTRADICTED, f"less accurate: {'; '.join(lower)}"
    rule = ("Final accuracy of the mean model, AccumAdam minus all-reduce Adam, paired over "
            f"seeds. Supported: higher, or equivalent within {100 * terms.margin:g} points, in "
            f"every setting run (p <= {terms.alpha:g}). Contradicted: lower by more than "
            f"{100 * terms.margin:g} points in one (sign flips, p <= {terms.alpha:g} / number of "
            "settings).")
    return Finding("parity",
                   "AccumAdam reaches the accuracy of all-reduce Adam (at whatever scale was run).",
                   rule, verdict, why, ["setting", *POINTS],
                   [[place, *o.points()] for place, o in found.items()],
                   missing_runs(found, "runs with accum_adam, and centralized runs with "
                                "adam")
                   if verdict == UNDECIDED else [], ASSUMED)


def times(runs: list[Run], terms: Terms) -> Finding:
    """Judge the ratio of step times, all-reduce over AER. Published ratios are listed but not
    judged, because they belong to other machines."""
    fit = [run for run in runs if not caveats(run)]
    found = outcomes(paired(fit, lambda m: m[1] == "aer", lambda m: m[0] == "all_reduce",
                           lambda run: -math.log(fields.step(run))), terms)
    rows = [[f"published: {cluster}, {gpus} GPUs", "1", f"{reduced / aer:.2f}", "-"]
            for cluster, gpus, reduced, aer in TIMES]
    rows += [[place, str(o.count), o.ratio(), f"{o.p:.3g}"]
             for place, o in found.items() if o.count]
    verdict, why = UNDECIDED, "no difference of step times is shown"
    if found and all(o.above() for o in found.values()):
        verdict, why = SUPPORTED, f"an iteration takes less time: {'; '.join(found)}"
    elif any(o.below(len(found)) for o in found.values()):
        verdict, why = CONTRADICTED, "an iteration takes more time in one setting"
    rule = ("Median step time of all-reduce over that of AER, paired over seeds, of runs whose "
            "times can be compared. Supported: above 1 in every setting (sign flips of the "
            f"logarithm, p <= {terms.alpha:g}); contradicted: below 1 in one "
            f"(p <= {terms.alpha:g} / number of settings). Published ratios are shown but "
            "not judged: they belong to other machines.")
    missing = missing_runs(found, "runs over aer and centralized runs, with comparable "
                                         "times (reduction library, a rank for each replica, a "
                                         "core or GPU for each rank)", few_seeds)
    left = len(runs) - len(fit)
    if left:
        missing.append(f"{counted(left, 'run')} left out whose times cannot be compared")
    return Finding("times", "An iteration over AER takes less time than one with all-reduce.", rule,
                   verdict, why, ["setting", "pairs", "ratio (interval)", "p"], rows,
                   missing if verdict == UNDECIDED else [], ASSUMED)
