"""`dbench-analyze compare`: whether two selections of runs differ, paired over their seeds."""

import json
import sys

from ..basics.errors import AnalysisError
from ..basics.formatting import counted
from ..naming.pointers import refuse_unknown
from ..quantities import fields
from ..selection import conditions
from ..selection.collection import Collection, collect, selected
from ..selection.conditions import Condition
from ..statistics.outcome import outcome, parse_margin
from ..statistics.pairing import FEW

HELP = ("two selections of runs, paired over seeds: difference, interval, permutation test, "
        "equivalence")
EXAMPLES = f"""examples:
  dbench-analyze compare 'results/ring-s*.h5' 'results/torus-s*.h5' --margin 0.5%
  dbench-analyze compare results/ --where graph=ring --against graph=torus --where replicas=16
  dbench-analyze compare runs.csv --where graph=ring --against graph=torus --pair seed,replicas
  dbench-analyze compare old/ new/ --metric loss_mean_model --margin 0.01 --json
A and B are one file, folder, quoted glob pattern or table of `collect` each. With --against, they
are two parts of all named runs: A satisfies --where; B satisfies --against, and --where for all
other fields. Differences are A - B over the runs that have the same seed (--pair) on both sides.
  p            two-sided, by flipping signs of the differences: all patterns of up to 16 pairs,
               else 100,000 at random
  interval     the mean differences that this test does not reject, with its coverage: exact where
               differences are independent and symmetric about their mean
  equivalence  two one-sided paired t-tests at the margin that you state
  median       its interval, the sign test, and equivalence by two one-sided sign tests
The first three are about the mean and assume that differences are independent and symmetric about
it (equivalence: nearly normal). Skewed differences and collapsed runs make them wrong several times
as often as stated; warnings name what the pairs show of it. The median's numbers hold for all
independent differences.
Random numbers are seeded: the same runs give the same output. With fewer than {FEW} pairs, nothing
is called equivalent. If no outcome could have been significant, the output says so, with the
smallest p that can be attained (6 pairs: 0.031).
"""


WHERE = "for A, and for B unless --against says otherwise: " + conditions.HELP


def declare(parser):
    parser.add_argument("--against", action="append", default=[], metavar="FIELD=VALUE",
                        help="B: runs like A except for this field")
    parser.add_argument("--metric", default="accuracy_mean_model", metavar="KEY",
                        help="a column of `table` (default: accuracy_mean_model)")
    parser.add_argument("--pair", default="seed", metavar="KEY,...",
                        help="what the runs of a pair have in common (default: seed)")
    parser.add_argument(
        "--margin", metavar="M",
        help="differences up to M count as equivalent: 0.005, or 0.5%% for half a point of "
             "accuracy")
    parser.add_argument("--alpha", type=float, default=0.05,
                        help="level of the tests; the interval's is 1 - alpha (default: 0.05)")
    parser.add_argument("--seed", type=int, default=0,
                        help="seed of the random numbers (default: 0)")
    parser.add_argument("--unfinished", action="store_true",
                        help="include runs that are not complete")
    parser.add_argument("--json", action="store_true", help="the numbers as JSON")


def run(arguments) -> int:
    metric = fields.one_metric(arguments.metric, "--metric")
    margin = parse_margin(arguments.margin, metric) if arguments.margin is not None else None
    if not 0 < arguments.alpha < 0.5:
        raise AnalysisError(f"--alpha {arguments.alpha}", "out of range",
                            "give 0 to 0.5, such as 0.05")
    if arguments.seed < 0:
        raise AnalysisError(f"--seed {arguments.seed}", "is negative", "give 0 or more")
    pair = [f.key for f in fields.chosen(arguments.pair, place="--pair")]
    a, b, faults = sides(arguments, metric, pair)
    found = outcome(a, b, metric, pair, margin, arguments.alpha, arguments.seed)
    print(json.dumps(found.to_dict(), indent=2) if arguments.json else found)
    return 1 if faults else 0


def sides(arguments, metric, pair: list[str]) -> tuple[Collection, Collection, list[str]]:
    """Return A and B, and the errors that occurred while they were read."""
    where, against = ([Condition(text) for text in texts]
                      for texts in (arguments.where, arguments.against))
    apart = {condition.key for condition in against}
    if not apart <= {condition.key for condition in where}:
        raise AnalysisError("compare", "--against names a field that --where does not set for A",
                            f"add --where {sorted(apart)[0]}=VALUE for A")
    if not against and len(arguments.runs) != 2:
        raise AnalysisError("compare", f"needs two selections, not {len(arguments.runs)}",
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
    refuse_unknown(keys, [spec for found, _ in parts for spec in found.specs])
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
                                "--unfinished includes the others")
        kept.append(found)
    return kept[0], kept[1], faults
