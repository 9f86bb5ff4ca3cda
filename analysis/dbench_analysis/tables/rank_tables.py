"""The ranking of implementations as tables: mean ranks, and how the rankings agree."""

import csv
import io
import math

from ..basics import markup
from ..basics.errors import AnalysisError
from ..basics.formatting import counted, number
from ..reading.run import Run
from ..reading.schema import MEASURES
from ..statistics import significance
from ..statistics.ranking import WINDOWS, Ranking, ranking


def mean_ranks(found: Ranking) -> tuple[list[str], list[list[str]]]:
    """Return (head, rows), a row for each implementation, the best mean rank by performance
    first."""
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
    """Return (head, rows) of the rank correlations between dispersion and performance."""
    rows = []
    for window in WINDOWS:
        for measure in MEASURES:
            row = [f"{measure.replace('_', ' ')}, {window}"]
            for without in (False, True):
                for correlation in (significance.spearman, significance.kendall):
                    value, count = found.agreement(measure, window, correlation, without)
                    row.append(f"{value:+.2f} ({counted(count, 'group')})" if count else "-")
            rows.append(row)
    return ["agreement", "Spearman", "Kendall", "Spearman without C_complete",
            "Kendall without C_complete"], rows


def as_text(found: Ranking, table) -> str:
    """Return both tables with their notes; `table` is `markup.markdown` or `markup.latex`."""
    about = (f"Mean rank over {counted(len(found.groups), 'group')} (1: least dispersion, best "
             f"{found.kind}): {'; '.join(found.groups)}.")
    notes = [about, *found.notes, "Groups that differ only in the seed repeat the same "
                                  "comparison: they say nothing about other graphs."]
    if table is markup.latex:
        return "\n\n".join([table(*mean_ranks(found), notes=notes), table(*agreements(found))])
    return "\n\n".join([table(*mean_ranks(found)), table(*agreements(found)), " ".join(notes)])


def as_csv(found: Ranking) -> str:
    """Return a line with the rank for each group, implementation and quantity."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["group", "implementation", "quantity", "window", "rank"])
    for key, values in {**found.dispersion, (found.kind, "end"): found.performance}.items():
        for group, row in zip(found.groups, values):
            for name, rank in zip(found.implementations, row):
                if math.isfinite(rank):
                    writer.writerow([group, name, *key, number(float(rank))])
    return out.getvalue().rstrip("\n")


def text(runs: list[Run], window: float = 0.1) -> str:
    """Return both tables as Markdown, or the reason why the runs cannot be ranked."""
    try:
        return as_text(ranking(runs, window), markup.markdown)
    except AnalysisError as error:
        return f"note: {error}"
