"""`dbench-analyze publish`: from folders of finished runs to tables, figures, verdicts and a
page."""

import sys
from pathlib import Path

from ..basics.errors import AnalysisError
from ..quantities import fields
from ..statistics.outcome import parse_margin
from ..studies.family import LOSS, METRIC, Terms, own_metric
from ..studies.publish import INDEX, publish
from ..studies.runs import Study, open_studies
from . import page_options

HELP = "tables, figures and a page of verdicts for each study, and one page to browse all runs"
EXAMPLES = """examples:
  dbench-analyze publish results/studies/heterogeneity -o docs/studies
  dbench-analyze publish results/studies/ada results/studies/adam -o docs/studies
  dbench-analyze publish results/mine -o page --margin 1% --metric accuracy_min
Each folder is a study. Its tables (CSV, and Parquet if pyarrow is installed), figures and the page
results.md are written to the folder of the same name in DIR, with index.html, a page of its final
runs with filters, curves and links to their specs. DIR/index.html is such a page of all given
studies. If it already has runs of a study that is not given, it is left as it is.
If `sweep tune` made the runs, its tables in the folder say which runs are trials, and how rates
were chosen. Methods are compared with all-reduce (C_complete) in the same cell, over shared seeds.
"""


def declare(parser):
    parser.add_argument("-o", "--output", required=True, type=page_options.target, metavar="DIR",
                        help="the folder for the studies and the page")
    parser.add_argument("--margin", default="0.005", metavar="M",
                        help="equivalence: differences below M, such as 1%% for a point of "
                             "accuracy, or 0.02 for a loss (default: 0.005)")
    parser.add_argument("--alpha", type=float, default=0.05,
                        help="level of each family of statements (default: 0.05)")
    parser.add_argument("--metric", metavar="FIELD",
                        help=f"what is compared (default: {METRIC}; {LOSS} in a study whose rates "
                             "were chosen by the loss, or whose runs have no accuracy)")


def run(arguments) -> int:
    target = Path(arguments.output)
    if target.exists() and not target.is_dir():
        raise AnalysisError(target, "is not a folder", "name a folder, such as docs/studies")
    if not 0 < arguments.alpha < 1:
        raise AnalysisError(f"--alpha {arguments.alpha}", "out of range", "give 0.05, for example")
    if arguments.metric and not fields.find(arguments.metric, "--metric").better:
        raise AnalysisError(f"--metric {arguments.metric}", "is neither better high nor better low",
                            f"give {METRIC} or loss_mean_model")
    parse_margin(arguments.margin, fields.find(arguments.metric or METRIC))

    def terms_of(one: Study) -> Terms:
        metric = arguments.metric or own_metric(one)
        return Terms(parse_margin(arguments.margin, fields.find(metric)), arguments.alpha, metric)

    studies, faults = open_studies(arguments.runs, arguments.where)
    paths, lost, removed = publish(studies, target, terms_of)
    for path in paths:
        print(path)
    for path in removed:
        print(f"note: removed {path}, which an earlier publication wrote", file=sys.stderr)
    if lost:
        print(f"note: {target / INDEX} is left as it is. It has runs of studies that were not "
              f"given: {', '.join(sorted(lost))}. Give their folders as well, or remove the page, "
              "to write it anew.", file=sys.stderr)
    return 1 if faults else 0
