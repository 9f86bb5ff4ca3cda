"""The page of results of a study, as Markdown: what was run, figures, tables and verdicts."""

import math
import textwrap
from collections.abc import Sequence

import pandas as pd

from ..basics.formatting import bytes_, counted, number
from ..basics.markup import markdown
from ..quantities import fields
from .family import SEEDS, Statement, Terms, with_several_references
from .runs import Study, commit
from .tables import seeds


def signed(value: float) -> str:
    """Return a fraction as points with its sign; a dash for NaN."""
    return f"{100 * value:+.2f}" if math.isfinite(value) else "-"


def p_text(value: float) -> str:
    return f"{value:.2g}" if math.isfinite(value) else "-"


def spread(mean: float, deviation: float) -> str:
    """Return a mean with its standard deviation in per cent; a dash for NaN."""
    if not math.isfinite(mean):
        return "-"
    return f"{100 * mean:.2f}" + (f" ± {100 * deviation:.2f}" if math.isfinite(deviation) else "")


def lost(row, value: float) -> str:
    """Return by how much the validation set is worse: points of accuracy, or the loss itself."""
    if row.tuned_by == "accuracy":
        return signed(value)
    return f"{value:+.4f}" if math.isfinite(value) else "-"


def loss_text(row) -> str:
    deviation = row.loss_mean_model_deviation
    if not row.seeds:
        return "-"
    return f"{row.loss_mean_model:.4f}" + (f" ± {deviation:.4f}" if math.isfinite(deviation)
                                           else "")


def rate_text(row) -> str:
    edge = f" ({row.at_edge} of the grid)" if row.at_edge else ""
    return f"{number(row.lr)}{edge}"


def methods_table(methods: pd.DataFrame) -> str:
    """Return the table of methods: a method with its trials and sensitivity in each row."""
    head = ["cell", "method", "seeds", "mean model, %", "its loss", "worst local model, %",
            "sent", "early variance", "lr", "trials", "lost at half lr", "lost at twice lr"]
    rows = [[row.cell, row.method, f"{row.seeds}" + f" ({row.lost} lost)" * (row.lost > 0),
             spread(row.accuracy_mean_model, row.accuracy_mean_model_deviation),
             loss_text(row), spread(row.accuracy_min, row.accuracy_min_deviation),
             bytes_(row.bytes), number(row.variance_early, 3), rate_text(row), number(row.trials),
             lost(row, row.loss_at_half), lost(row, row.loss_at_twice)]
            for row in methods.itertuples()]
    return markdown(head, rows)


def margin_text(terms: Terms) -> str:
    """Return the margin with its unit."""
    column = fields.find(terms.metric)
    return (f"{100 * terms.margin:g} points" if column.is_fraction
            else f"{terms.margin:g} ({column.title})")


def statements_table(made: list[Statement]) -> str:
    """Return the table of statements with their verdicts."""
    points = bool(made) and fields.find(made[0].terms.metric).is_fraction
    factor, digits, unit = (100, 2, ", points") if points else (1, 4, "")
    head = ["cell", "method", "pairs", f"difference to all-reduce{unit} (interval)", "p", "Holm",
            "sign flips", "sign test", "p of equivalence", "Holm", "power", "verdict"]
    rows = [[s.cell, s.method, str(len(s.d)),
             "-" if not len(s.d) else f"{factor * s.mean:+.{digits}f}" + (
                 f" ({factor * s.interval[0]:+.{digits}f} to {factor * s.interval[1]:+.{digits}f})"
                 if s.interval[2] >= 1 - s.terms.alpha else ""),
             p_text(s.p), p_text(s.p_family), p_text(s.flips_p), p_text(s.sign_p),
             p_text(s.equivalence_p), p_text(s.equivalence_family), f"{100 * s.power:.0f} %",
             s.verdict] for s in made]
    return markdown(head, rows)


def correlations_table(found: pd.DataFrame) -> str:
    """Return the table of rank correlations."""
    rows = [[row.cell, row.when, f"{100 * row.window:g} %", str(row.settings),
             *([f"{row.rho:+.2f}", f"{row.interval_low:+.2f} to {row.interval_high:+.2f}"]
               if math.isfinite(row.rho) else ["-", "-"])]
            for row in found.itertuples()]
    return markdown(["cell", "variance", "window", "methods", "rho", "interval (95 %)"], rows)


def verdicts(made: list[Statement], terms: Terms, several: Sequence[str] = ()) -> list[str]:
    """Return the verdicts in sentences, one for each kind of verdict and cell. `several`: the cells
    with several references."""
    found = [f"* {cell}: no verdict, because all-reduce has several settings, such as learning "
             "rates." for cell in several]
    for cell in dict.fromkeys(s.cell for s in made):
        by_verdict: dict[str, list[str]] = {}
        for s in made:
            if s.cell == cell:
                by_verdict.setdefault(s.verdict, []).append(s.method)
        parts = "; ".join(f"**{verdict}**: {', '.join(methods)}"
                          for verdict, methods in by_verdict.items())
        found.append(f"* {cell}: {parts}.")
        found += [f"* {cell}: {s.method} or {s.reference} has no finite value for "
                  f"{counted(s.lost, 'seed')}, so that {s.method} is undecided."
                  for s in made if s.cell == cell and s.lost]
        found += [f"* {cell}: {s.method} or {s.reference} has no complete run for "
                  f"{counted(s.incomplete, 'seed')}, so that {s.method} is undecided."
                  for s in made if s.cell == cell and s.incomplete]
    if not found:
        found = ["* No cell has all-reduce and another method with shared seeds: no verdict."]
    return found


MADE = "`dbench-analyze publish` made this page"  # by which one recognizes the page


def page(study: Study, terms: Terms, methods: pd.DataFrame, made: list[Statement],
         correlations: pd.DataFrame, figures: list[tuple[str, str, str]]) -> str:
    """Return the page. `figures`: (title, file, how to read it)."""
    commits = ", ".join(dict.fromkeys(commit(run) or "unknown" for run in study.finals))
    lines = [
        f"# Results: {study.name}", "",
        f"{MADE} from {counted(len(study.finals), 'final run')} "
        f"(seeds {seeds(study)}) and {counted(len(study.trials), 'trial')}. Commit of the program: "
        f"{commits}. The tables are also beside this page: `runs.csv` has a row for each run, "
        "`methods.csv`, `statements.csv` and `correlations.csv` have those below with all "
        "digits. The rules are those of all [studies](../../studies.md)."
        + f" {len(study.lost)} of {counted(len(study.runs), 'final run')} are not complete and "
        "left out: they are lost." * bool(study.lost), "",
        "## Verdict", "",
        f"Each method is compared with all-reduce in the same cell. Statements of a difference (at "
        f"{terms.alpha:g}, corrected by Holm's method) and of equivalence within ± "
        f"{margin_text(terms)} are a family each. A method with fewer than {SEEDS} pairs "
        "has no verdict.", "", *verdicts(made, terms, with_several_references(study)), "",
        "## Methods", "",
        "Means ± standard deviations over the seeds, test set, last epoch. A rate was chosen on "
        "the validation set; `lost` is by how much the validation set is worse at half and twice "
        "this rate, in points of accuracy, or as a loss if the rate was chosen by the loss.",
        "", methods_table(methods), ""]
    if made:
        lines += [
            "## Statements", "",
            "`p` is that of the paired t-test, which assumes nearly normal differences, as the "
            "equivalence test does. Sign flips assume symmetric differences; with six pairs their "
            "p cannot be below 0.031, which no family of two or more survives, so they are not "
            "corrected. The sign test assumes independence only. `power` is the probability that "
            "the uncorrected test shows equivalence if there is no difference, at the measured "
            "deviation.", "", statements_table(made), ""]
    if len(correlations):
        lines += [
            "## Early variance and final accuracy", "",
            "Spearman's rank correlation over the methods of a cell, without all-reduce; a method "
            "is one point, the mean over its seeds. The windows were fixed in advance. The "
            "interval is approximate for so few methods. A correlation does not show a cause.", "",
            correlations_table(correlations), ""]
    read = set()
    for title, file, reading in figures:
        lines += [f"## {title}", "", *([] if reading in read else [reading, ""]),
                  f"![{title}]({file})", ""]
        read.add(reading)
    return "\n".join(map(wrapped, lines))


def wrapped(line: str) -> str:
    """Return a line of prose in lines of at most 120 columns; headings, tables and pictures as they
    are."""
    if line.startswith(("#", "|", "!")):
        return line
    indent = "  " if line.startswith("* ") else ""
    return textwrap.fill(line, 120, subsequent_indent=indent, break_long_words=False,
                         break_on_hyphens=False)
