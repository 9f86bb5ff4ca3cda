"""`dbench-analyze show`: what ran and how it ended, as text."""

import sys

from ..basics.errors import AnalysisError
from ..basics.formatting import aligned, number
from ..naming import differences
from ..quantities import fields
from ..quantities.comparability import statement
from ..quantities.verification import verify
from ..reading.run import Run
from ..selection.opening import open_runs
from ..tables import overview

HELP = "what ran, final accuracies, variance, timing"
EXAMPLES = """examples:
  dbench-analyze show results/ring.h5
  dbench-analyze show results/                 every result in and below a folder, one line each
  dbench-analyze show 'results/*-n16.h5' --full
  dbench-analyze show results/ring.h5 --verify recompute the dispersion measures from the norms
"""


def declare(parser):
    parser.add_argument("--full", action="store_true",
                        help="print every section even for several runs")
    parser.add_argument("--verify", action="store_true",
                        help="check the dispersion measures against the norms")


def run(arguments) -> int:
    runs = open_runs(arguments.runs, arguments.where)
    if len(runs) == 1 or arguments.full:
        print("\n\n".join(single(r) for r in runs))
    else:
        print(several(runs))
    return check(runs) if arguments.verify else 0


def single(run: Run) -> str:
    """Return the sections of one run."""
    lines = [str(run.path)]
    for title, rows in overview.sections(run):
        lines += ["", f"{title}:"]
        width = max(len(label) for label, _ in rows)
        lines += [f"  {label.ljust(width)}  {value}" for label, value in rows]
    events = run.last_events(5)
    if len(events):
        lines += ["", f"events ({events.index[-1] + 1}), the last ones:"]
        lines += [f"  iteration {e.iteration}  {e.kind}: {e.text}" for e in events.itertuples()]
    return "\n".join(lines)


def several(runs: list[Run]) -> str:
    """Return one line for each run, then the differences of their specs."""
    columns = [fields.COLUMNS[key] for key in fields.default(runs)]
    rows = [[c.title for c in columns]] + [[c.show(c.value(r)) for c in columns] for r in runs]
    lines = [aligned(rows)]
    odd = [f"{r.path}: {r.state}{': ' * bool(r.error)}{r.error}"
           for r in runs if r.status != "complete"]
    odd += [f"{r.path}: {text}" for r in runs for _, text in overview.final_events(r)]
    lines += ["", *odd] if odd else []
    found = differences.differences(runs)
    if found:
        titles = ["specs differ in", *differences.labels(runs)]
        table = aligned([titles] + [[pointer, *values] for pointer, values in found])
        lines += ["", table if len(table.splitlines()[0]) < 160 else in_words(found)]
    if statement(runs):
        lines += ["", statement(runs)]
    return "\n".join(lines)


def in_words(found) -> str:
    """Return the differences of the specs, a line each."""
    return "\n".join(["specs differ in"] + [f"  {pointer}: {', '.join(dict.fromkeys(values))}"
                                            for pointer, values in found])


def check(runs: list[Run]) -> int:
    """Print the verification. Return 1 if a recorded measure does not follow from the norms; else 2
    if a run cannot be verified; else 0."""
    agree, verified = True, True
    for run in runs:
        try:
            found = verify(run)
            if found.empty:
                raise AnalysisError(run.path, "no norms recorded, nothing to verify",
                                    'set "profile": {"norms": true}')
        except AnalysisError as error:  # the other runs are verified all the same
            print(f"dbench-analyze: {error}", file=sys.stderr)
            verified = False
            continue
        print(f"\n{run.path}: recorded dispersion against the recorded norms")
        rows = [["measure", "values", "not finite", "largest difference", "largest value",
                 "agrees"]]
        for row in found.itertuples():
            rows.append([row.measure, str(row.values), str(row.skipped), number(row.difference, 2),
                         number(row.largest, 3), "yes" if row.agrees else "NO"])
        print(aligned(rows))
        agree &= bool(found["agrees"].all())
    return 1 if not agree else 0 if verified else 2
