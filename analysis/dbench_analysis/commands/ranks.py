"""`dbench-analyze ranks`: implementations ranked by dispersion and by accuracy."""

import sys
from pathlib import Path

from ..basics import markup
from ..basics.errors import AnalysisError
from ..selection.opening import opened
from ..statistics.ranking import ranking
from ..tables.rank_tables import as_csv, as_text
from . import page_options

HELP = ("implementations ranked by the dispersion of their norms and by accuracy, and how the two "
        "rankings agree")
EXAMPLES = """examples:
  dbench-analyze ranks results/
  dbench-analyze ranks results/ --window 0.05 --format latex -o ranks.tex
  dbench-analyze plot results/ --kind ranks                  the same as a figure
A group holds the runs that differ only in algorithm and graph: they share the model, the data set,
the number of replicas and the seed. In each group the implementations are ranked by each dispersion
measure (mean over all tensors and over the early window, or over the whole run; rank 1: least) and
by the final accuracy of the mean model (rank 1: best). Equal values share the mean of their ranks.
Cells are mean ± standard deviation (n - 1) over the groups. Agreement is Spearman's rho and
Kendall's tau-b between the two rankings in each group, averaged over the groups, with and without
C_complete, whose replicas are identical by construction.
"""


def declare(parser):
    parser.add_argument("--window", type=float, default=0.1, metavar="SHARE",
                        help="share of the iterations that counts as early (default: 0.1)")
    parser.add_argument("--format", choices=("markdown", "latex", "csv"), default="markdown",
                        help="default: markdown; csv: the ranks of every group")
    parser.add_argument("-o", "--output", type=page_options.text_target, metavar="FILE",
                        help="write to this file, not to the terminal")


def run(arguments) -> int:
    if not 0 < arguments.window <= 1:
        raise AnalysisError(f"--window {arguments.window}", "out of range",
                            "a share of the iterations, such as 0.1")
    runs, faults = opened(arguments.runs, arguments.where)
    found = ranking(runs, arguments.window)
    content = (as_csv(found) if arguments.format == "csv" else as_text(
        found, markup.latex if arguments.format == "latex" else markup.markdown))
    if arguments.output:
        Path(arguments.output).write_text(content + "\n", encoding="utf-8")
    else:
        sys.stdout.write(content + "\n")
    return 1 if faults else 0
