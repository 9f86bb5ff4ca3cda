"""`dbench-analyze compare`: whether two selections of runs differ, paired over their seeds."""

import json
import math
import sys

from .. import conditions, fields
from ..collected import Collection, collect, selected
from ..comparable import refuse_times
from ..conditions import Condition
from ..differences import differing, is_aside
from ..errors import AnalysisError
from ..paired import FEW, Comparison, compare
from ..textual import aligned, counted, number, percent

HELP = ("two selections of runs, paired over seeds: difference, interval, permutation test, "
        "equivalence")
EXAMPLES = f"""examples:
  dbench-analyze compare 'results/ring-s*.h5' 'results/torus-s*.h5' --margin 0.5%
  dbench-analyze compare results/ --where graph=ring --against graph=torus --where replicas=16
  dbench-analyze compare runs.csv --where graph=ring --against graph=torus --pair seed,replicas
  dbench-analyze compare old/ new/ --metric loss_mean_model --margin 0.01 --json
A and B are files, folders, quoted glob patterns or tables of `collect`, one each; or, with
--against, two parts of all that is named: A is what --where says, B the same but for the fields of
--against. Differences are A - B over the runs that have the same seed (--pair) on both sides.
  p            two-sided, by flipping signs of the differences: all patterns of up to 16 pairs,
               else 100,000 at random
  interval     the mean differences that this test does not reject, with its coverage: exact where
               differences are independent and symmetric about their mean
  equivalence  two one-sided paired t-tests at the margin that you state
Random numbers are seeded: the same runs give the same output. Below {FEW} pairs nothing is called
equivalent; where no outcome could have been significant, that is said with the smallest p that can
be attained (6 pairs: 0.031).
"""


WHERE = "of A, and of B where --against says nothing else: " + conditions.HELP


def declare(parser):
    parser.add_argument("--against", action="append", default=[], metavar="FIELD=VALUE",
                        help="B: runs like A but for this")
    parser.add_argument("--metric", default="accuracy_mean_model", metavar="KEY",
                        help="a column of `table` (default: accuracy_mean_model)")
    parser.add_argument("--pair", default="seed", metavar="KEY,...",
                        help="what the runs of a pair have in common (default: seed)")
    parser.add_argument(
        "--margin", metavar="M",
        help="differences up to M count as equivalent: 0.005, or 0.5%% for half a point")
    parser.add_argument("--alpha", type=float, default=0.05,
                        help="level of the tests; the interval's is 1 - alpha (default: 0.05)")
    parser.add_argument("--seed", type=int, default=0, help="of the random numbers (default: 0)")
    parser.add_argument("--unfinished", action="store_true",
                        help="take in runs that are not complete")
    parser.add_argument("--json", action="store_true", help="the numbers as JSON")


def run(arguments) -> int:
    (metric,) = (fields.chosen(arguments.metric, place="--metric") if "," not in arguments.metric
                 else [None])
    if metric is None:
        raise AnalysisError("--metric", "one metric at a time",
                            "several tests on the same runs need a correction")
    margin = understood_margin(arguments.margin, metric) if arguments.margin is not None else None
    if not 0 < arguments.alpha < 0.5:
        raise AnalysisError(f"--alpha {arguments.alpha}", "out of range",
                            "give 0 to 0.5, such as 0.05")
    pair = [f.key for f in fields.chosen(arguments.pair, place="--pair")]
    a, b, faults = sides(arguments, metric, pair)
    refuse_times([metric.key] * metric.timed,
                 [*a.frame["time_note"], *b.frame["time_note"]] if metric.timed else [], "--metric")
    for side, name in ((a, "A"), (b, "B")):
        if any(not isinstance(v, (int, float)) for v in side.frame[metric.key]):
            raise AnalysisError(f"--metric {metric.key}", f"holds words in {name}, not numbers",
                                "choose a number, such as accuracy_mean_model")
    found, notes = compare(a, b, metric.key, pair, margin, arguments.alpha, arguments.seed)
    both = set(a.frame["file"]) & set(b.frame["file"])
    if both:
        notes.append(f"{counted(len(both), 'run')} on both sides")
    apart = what_differs(a, b)
    if arguments.json:
        print(json.dumps(as_json(found, metric, pair, notes, apart), indent=2))
    else:
        print(as_text(found, metric, pair, notes, apart))
    return 1 if faults else 0


def understood_margin(text: str, metric) -> float:
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        raise AnalysisError(f"--margin {text}", "not a number", "such as 0.005 or 0.5%") from None
    if not (value > 0 and math.isfinite(value)):
        raise AnalysisError(f"--margin {text}", "must be above 0", "such as 0.005 or 0.5%")
    if metric.show is percent and value >= 0.5:
        raise AnalysisError(f"--margin {text}",
                            "accuracies are fractions: that is half of all or more",
                            f"write {text.rstrip('%')}% for points")
    return value


def sides(arguments, metric, pair: list[str]) -> tuple[Collection, Collection, list[str]]:
    """A and B, and the faults met in reading them."""
    where, against = ([Condition(text) for text in texts]
                      for texts in (arguments.where, arguments.against))
    apart = {condition.key for condition in against}
    if not apart <= {condition.key for condition in where}:
        raise AnalysisError("compare", "--where says what A is, --against what B is instead",
                            f"say of A, too, what its {', '.join(sorted(apart))} is")
    if not against and len(arguments.runs) != 2:
        raise AnalysisError("compare", f"needs two selections, here {len(arguments.runs)}",
                            "quote glob patterns, or use --where and --against")
    keys = [metric.key, *pair, *(c.key for c in (*where, *against)), "status", "file",
            *["time_note"] * metric.timed]
    if against:
        everything = collect(arguments.runs, keys)
        other = [condition for condition in where if condition.key not in apart] + against
        parts, faults = [(everything, where), (everything, other)], everything.faults
    else:
        parts = [(collect([item], keys), where) for item in arguments.runs]
        faults = [fault for found, _ in parts for fault in found.faults]
    for fault in faults:
        print(f"dbench-analyze: left out {fault}", file=sys.stderr)
    kept = []
    for name, (found, wanted) in zip("AB", parts):
        found = selected(found, wanted)
        if not arguments.unfinished:
            complete = found.where([status == "complete" for status in found.frame["status"]])
            if len(complete.frame) < len(found.frame):
                print(f"dbench-analyze: {counted(len(found.frame) - len(complete.frame), 'run')} "
                      f"of {name} not complete, left out", file=sys.stderr)
            found = complete
        if found.frame.empty:
            raise AnalysisError(name, "no complete run in this selection",
                                "--unfinished takes in the others")
        kept.append(found)
    return kept[0], kept[1], faults


def what_differs(a: Collection, b: Collection) -> list[tuple[str, str, str]]:
    """(pointer, values in A, values in B) of the entries that set the sides apart; seeds, names and
    the like aside."""
    specs = [[s for s in side.specs if s is not None] for side in (a, b)]
    if not all(specs):
        return []
    return [row for row in differing(*specs) if not is_aside(row[0])]


def amount(value: float, metric, signed: bool = True) -> str:
    """A difference: accuracies in percentage points."""
    if metric.show is percent:
        return f"{100 * value:{'+' if signed else ''}.2f} points"
    return f"{value:{'+' if signed else ''}.4g}"


def verdict(found: Comparison, metric) -> list[str]:
    """The outcome in plain sentences."""
    d, n = found.differences, counted(len(found.a), "pair")
    said = []
    if not d.any():
        said.append(f"A and B are equal in every pair ({n}).")
    elif found.few:
        said.append(f"Too few seeds to tell whether A and B differ: with {n} p cannot be below "
                    f"{found.smallest_p:.3g}, whatever the runs show.")
    elif found.p <= found.alpha:
        sense = {"high": ("better", "worse"),
                 "low": ("worse", "better")}.get(metric.better, ("higher", "lower"))
        said.append(f"A is {sense[0 if d.mean() > 0 else 1]} than B: {amount(d.mean(), metric)} (p "
                    f"= {found.p:.3g}).")
    else:
        said.append(
            f"No difference shown (p = {found.p:.3g}), which does not show that there is none.")
    if found.margin is None:
        said.append("Equivalence was not tested: state a --margin.")
    elif found.equivalent is None:
        said.append(f"Equivalence is not judged from fewer than {FEW} pairs.")
    else:
        within = f"within ± {amount(found.margin, metric, False)} (p = {found.equivalence_p:.3g})"
        said.append(f"A and B are equivalent {within}." if found.equivalent
                    else f"Equivalence is not shown {within}.")
    return said


def as_text(found: Comparison, metric, pair: list[str], notes: list[str], apart) -> str:
    rows = [[", ".join(pair), "A", "B", "A - B"]]
    for key, a, b in zip(found.keys, found.a, found.b):
        rows.append([", ".join(map(str, key)), metric.show(float(a)), metric.show(float(b)),
                     amount(a - b, metric)])
    rows.append(["mean", metric.show(float(found.a.mean())), metric.show(float(found.b.mean())),
                 amount(found.differences.mean(), metric)])
    n, (*ends, coverage) = len(found.a), found.interval
    low, high = (amount(v, metric) for v in ends)
    how = (f"exact, smallest attainable {found.smallest_p:.3g}" if found.exact
           else "100,000 random sign patterns")
    lines = [f"{metric.title}: {metric.help}",
             *(f"{pointer}: {a} | {b}" for pointer, a, b in apart), "", aligned(rows), ""]
    widest = f", the most that {counted(n, 'pair')} can give" * (coverage < 1 - found.alpha - 1e-9)
    interval = f", {100 * coverage:.3g} % interval {low} to {high}{widest}" if n > 1 else ""
    lines.append(f"difference    {amount(found.differences.mean(), metric)}{interval}")
    lines.append(f"sign flips    p = {found.p:.3g} ({how})")
    if found.margin is not None:
        lines.append(f"equivalence   p = {number(found.equivalence_p, 3)} for a margin of "
                     f"{amount(found.margin, metric, False)} (two one-sided t-tests)")
    lines += [f"note          {note}" for note in notes]
    return "\n".join([*lines, "", *verdict(found, metric)])


def as_json(found: Comparison, metric, pair: list[str], notes: list[str], apart) -> dict:
    def finite(value):
        return value if value is not None and math.isfinite(value) else None

    return {
        "metric": metric.key, "pairs": [{**dict(zip(pair, key)), "a": float(a), "b": float(b)}
                                        for key, a, b in zip(found.keys, found.a, found.b)],
        "difference": float(found.differences.mean()),
        "interval": [finite(v) for v in found.interval[:2]], "coverage": found.interval[2],
        "alpha": found.alpha, "p": found.p,
        "smallest_p": found.smallest_p, "exact": found.exact, "too_few": found.few,
        "margin": found.margin,
        "equivalence_p": finite(found.equivalence_p), "equivalent": found.equivalent,
        "differ_in": [{"pointer": pointer, "a": a, "b": b} for pointer, a, b in apart],
        "notes": notes, "verdict": verdict(found, metric),
    }
