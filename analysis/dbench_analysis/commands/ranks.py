"""`dbench-analyze ranks`: implementations ranked by dispersion and by accuracy, over groups of like
runs."""

import csv
import io
import math
import sys
from pathlib import Path

from .. import layout, stats
from ..errors import AnalysisError
from ..ranks import WINDOWS, Ranking, ranking
from ..schema import MEASURES
from ..select import open_runs
from ..textual import counted, number

HELP = ("implementations ranked by the dispersion of their norms and by accuracy, and how the two "
        "agree")
EXAMPLES = """examples:
  dbench-analyze ranks results/
  dbench-analyze ranks results/ --window 0.05 --format latex -o ranks.tex
  dbench-analyze plot results/ --kind ranks                  the same as a figure
A group is what was run alike but for algorithm and graph: one model, data set, number of replicas,
seed. In each group the implementations are ranked by each dispersion measure (mean over all tensors
and over the early window, or the whole run; rank 1: least) and by the final accuracy of the mean
model (rank 1: best); equal values share the mean of their ranks. Cells are mean ± standard
deviation (n - 1) over the groups. Agreement is Spearman's rho and Kendall's tau-b between the two
rankings in each group, mean over groups, with and without C_complete, whose replicas are identical
by construction.
"""


def declare(parser):
    parser.add_argument("--window", type=float, default=0.1, metavar="SHARE",
                        help="of the iterations that are early (default: 0.1)")
    parser.add_argument("--format", choices=("markdown", "latex", "csv"), default="markdown",
                        help="default: markdown; csv: the ranks of every group")
    parser.add_argument("-o", "--output", metavar="FILE", help="write there, not to the terminal")


def run(arguments) -> int:
    if not 0 < arguments.window <= 1:
        raise AnalysisError(f"--window {arguments.window}", "out of range",
                            "a share of the iterations, such as 0.1")
    found = ranking(open_runs(arguments.runs, arguments.where), arguments.window)
    content = (as_csv(found) if arguments.format == "csv" else as_text(
        found, layout.latex if arguments.format == "latex" else layout.markdown))
    if arguments.output:
        Path(arguments.output).write_text(content + "\n", encoding="utf-8")
    else:
        sys.stdout.write(content + "\n")
    return 0


def mean_ranks(found: Ranking) -> tuple[list[str], list[list[str]]]:
    """Head and rows: the implementations, the best mean rank by performance first."""
    quantities = [(f"{m.replace('_', ' ')}, {w}", found.dispersion[m, w]) for w in WINDOWS
                  for m in MEASURES] + [(found.kind, found.performance)]
    columns = [found.rank(values) for _, values in quantities]

    def cell(mean, deviation):
        return ("-" if math.isnan(mean)
                else f"{mean:.2f}" + (f" ± {deviation:.2f}" if math.isfinite(deviation) else ""))

    order = sorted(range(len(found.implementations)), key=lambda i: columns[-1][0][i])
    rows = [[found.implementations[i],
             *(cell(mean[i], deviation[i]) for mean, deviation in columns)] for i in order]
    return ["implementation", *(title for title, _ in quantities)], rows


def agreements(found: Ranking) -> tuple[list[str], list[list[str]]]:
    rows = []
    for window in WINDOWS:
        for measure in MEASURES:
            row = [f"{measure.replace('_', ' ')}, {window}"]
            for without in (False, True):
                for correlation in (stats.spearman, stats.kendall):
                    value, count = found.agreement(measure, window, correlation, without)
                    row.append(f"{value:+.2f} ({counted(count, 'group')})" if count else "-")
            rows.append(row)
    return ["agreement", "Spearman", "Kendall", "Spearman without C_complete",
            "Kendall without C_complete"], rows


def as_text(found: Ranking, table) -> str:
    about = (f"Mean rank over {counted(len(found.groups), 'group')} (1: least dispersion, best "
             f"{found.kind}): {'; '.join(found.groups)}.")
    notes = [about, *found.notes, "Groups that differ only in the seed repeat the same "
                                  "comparison: they say nothing about other graphs."]
    if table is layout.latex:
        return "\n\n".join([table(*mean_ranks(found), notes=notes), table(*agreements(found))])
    return "\n\n".join([table(*mean_ranks(found)), table(*agreements(found)), " ".join(notes)])


def as_csv(found: Ranking) -> str:
    """A line per group, implementation and quantity: bare ranks."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["group", "implementation", "quantity", "window", "rank"])
    for key, values in {**found.dispersion, (found.kind, "end"): found.performance}.items():
        for group, row in zip(found.groups, values):
            for name, rank in zip(found.implementations, row):
                if math.isfinite(rank):
                    writer.writerow([group, name, *key, number(float(rank))])
    return out.getvalue().rstrip("\n")
