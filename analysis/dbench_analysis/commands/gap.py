"""`dbench-analyze gap`: how well properties of a graph predict its gap to all-reduce."""

from dataclasses import replace
from pathlib import Path

from ..basics.errors import AnalysisError
from ..basics.formatting import aligned
from ..quantities import fields
from ..studies import gap, gap_page
from ..studies.runs import of_equal_names, of_one_name, open_studies
from . import page_options

HELP = "how well properties of a graph predict by how much it is worse than all-reduce"
METRIC = "loss_mean_model"
FEWEST = 4  # settings below which nothing is compared
EXAMPLES = f"""examples:
  dbench-analyze gap results/studies/variance-accuracy-local-batch-small
  dbench-analyze gap results/studies/* --metric accuracy_mean_model -o docs/studies/gap
Each folder is a study. A setting is a graph in a cell with all-reduce (C_complete): its gap is by
how much {METRIC} (or --metric) is worse, on average over the seeds. Four predictors are compared by
their rank correlation with the gaps: learning rate and gradient noise, lr / batch * (1/n_W - 1/n),
with n_W effective neighbours (docs/graphs.md); effective neighbours alone; rho; degree.
"""


def declare(parser):
    parser.add_argument("-o", "--output", type=page_options.target, metavar="DIR",
                        help="also write gaps.csv, gap.png and results.md to this folder")
    parser.add_argument("--metric", default=METRIC, metavar="FIELD",
                        help=f"what is compared (default: {METRIC})")


def run(arguments) -> int:
    if not fields.find(arguments.metric, "--metric").better:
        raise AnalysisError(f"--metric {arguments.metric}", "is neither better high nor better low",
                            f"give {METRIC} or accuracy_mean_model")
    target = Path(arguments.output) if arguments.output else None
    if target and target.exists() and not target.is_dir():
        raise AnalysisError(target, "is not a folder", "name a folder, such as docs/studies/gap")
    studies, faults = open_studies(arguments.runs, arguments.where)
    alike = of_one_name(studies)
    studies = of_equal_names([replace(one, name=str(one.folder)) if one in alike else one
                              for one in studies])
    found = [setting for one in studies for setting in gap.settings(one, arguments.metric)]
    lost = [name for one in studies for name in gap.lost(one, arguments.metric)]
    if len(found) < FEWEST:
        raise AnalysisError(
            " ".join(arguments.runs),
            f"{len(found)} settings have a gap to all-reduce and known effective neighbours, and "
            f"at least {FEWEST} are needed",
            "give folders with runs of C_complete and of several graphs that differ in nothing "
            "else" + f"; {gap_page.lost_text(lost)[:-1]}" * bool(lost))
    made = gap.agreements(found)
    head, rows = gap_page.agreement_rows(made)
    print(aligned([head, *rows]))
    print("\n" + "\n".join([*gap_page.verdict(made), *[gap_page.lost_text(lost)] * bool(lost)]))
    if target:
        for path in gap_page.write([one.name for one in studies], arguments.metric, found, made,
                                   target, lost):
            print(path)
    return 1 if faults else 0
