"""`dbench-analyze prediction`: predicted step times compared with measured ones, of many runs."""

import json

from ..basics.errors import AnalysisError
from ..basics.formatting import aligned, counted
from ..quantities import prediction
from ..quantities.comparability import statement
from ..selection.opening import opened
from ..tables import predictions

HELP = "predicted step times compared with measured ones"
EXAMPLES = """examples:
  dbench-analyze prediction results/
  dbench-analyze prediction results/ --where replicas=8 --json
A run has a prediction if it was started with `dbench run SPEC --calibration FILE`. Times are those
of an iteration of one rank, over all iterations but the first and over all ranks. The error is that
of the predicted median. If a prediction is right, 50 % of the measured steps are below the
predicted median, and 95 % below the predicted 95 % quantile.
Runs that differ only in graph and algorithm form a group. The fastest of a group, and those that
cannot be told from it, are compared: correct; within noise (neither the prediction nor the
measurement can tell those apart that are named); undecided (only the measurement can); wrong.
"""


def declare(parser):
    parser.add_argument("--json", action="store_true", help="everything as JSON, in seconds")


def run(arguments) -> int:
    runs, faults = opened(arguments.runs, arguments.where)
    compared = [found for run in runs if (found := prediction.comparison(run))]
    if not compared:
        raise AnalysisError(
            " ".join(arguments.runs), "no run has a prediction", "`dbench calibrate SPEC --output "
            "costs.json` and `dbench run SPEC --calibration costs.json` store one")
    groups = prediction.groups(compared)
    total = prediction.summary(compared, groups)
    if arguments.json:
        print(json.dumps(predictions.as_json(compared, groups, total), indent=2, allow_nan=False))
        return 1 if faults else 0
    parts = [aligned(predictions.runs(compared))]
    parts += [aligned(predictions.groups(groups))] if groups else []
    notes = predictions.sentences(total)
    if len(compared) < len(runs):
        notes.append(f"{counted(len(runs) - len(compared), 'run')} without a prediction: left out.")
    unfinished = sum(one.run.status != "complete" for one in compared)
    if unfinished:
        notes.append(f"{unfinished} of {counted(len(compared), 'run')} not complete: their steps "
                     "so far are compared.")
    if groups and statement([one.run for one in compared]):
        notes.append(statement([one.run for one in compared]))
    print("\n\n".join([*parts, "\n".join(notes)]))
    return 1 if faults else 0
