"""`dbench-analyze table`: one row per run, or a pivot over many, in Markdown, LaTeX or CSV."""

import csv
import io
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd

from ..basics import markup
from ..basics.errors import AnalysisError
from ..basics.formatting import counted
from ..figures import page_values
from ..naming import pointers
from ..quantities import fields
from ..quantities.comparability import caveats, refuse_times, statement
from ..reading.run import Run
from ..selection.collection import Collection, collect, selected
from ..selection.conditions import Condition, matching, refuse_unknown, unknown
from ..selection.opening import open_runs
from ..statistics.pivot import Pivot, pivot, replica_notes, shown
from . import page_options

HELP = ("a Markdown, LaTeX or CSV table: one row per run, or a pivot with mean ± deviation over "
        "seeds")
EXAMPLES = """examples:
a row per run:
  dbench-analyze table results/
  dbench-analyze table results/*.h5 --columns name,replicas,accuracy_mean_model,variance
  dbench-analyze table results/ --format csv --columns all -o runs.csv
  dbench-analyze table results/ --sort accuracy_mean_model --where replicas=16
a pivot, if --rows or --metric is given (also from a table that `collect` wrote):
  dbench-analyze table results/ --rows implementation --columns replicas
  dbench-analyze table runs.csv --rows algorithm,graph_label --columns partition --format latex
  dbench-analyze table results/ --metric accuracy_mean_model,bytes --where 'status=complete'
  dbench-analyze table results/ --columns /optimizer/momentum --metric loss_mean_model --best row
columns (and any entry of the spec, by JSON pointer):
""" + "\n".join(f"  {c.key:22}{c.help}" for c in fields.COLUMNS.values())


def declare(parser):
    parser.add_argument("--format", choices=("markdown", "latex", "csv"), default="markdown",
                        help="default: markdown")
    parser.add_argument(
        "--columns", metavar="KEY,...",
        help="which columns, in order, 'all' for every one; for a pivot: the fields of its columns")
    parser.add_argument("--sort", metavar="KEY", help="sort the runs by this column")
    parser.add_argument("--rows", metavar="KEY,...",
                        help="pivot: the fields of its rows (default: implementation)")
    parser.add_argument("--metric", metavar="KEY,...",
                        help="pivot: the metrics in its cells (default: accuracy_mean_model)")
    parser.add_argument("--best", choices=("column", "row", "all", "none"),
                        help="pivot: within what the best value is bold (default: column)")
    parser.add_argument("--unfinished", action="store_true",
                        help="pivot: include runs that are not complete")
    parser.add_argument("--label", action="append", default=[], metavar="NAME=TEXT",
                        help="pivot: another name for a row or a column, such as "
                             "D_ring='our ring'; may be given several times")
    parser.add_argument("-o", "--output", type=page_options.text_target, metavar="FILE",
                        help="write to this file, not to the terminal")


def run(arguments) -> int:
    status = 0
    if arguments.rows or arguments.metric:
        content, status = pivoted(arguments)
    else:
        content = listed(arguments)
    if arguments.output:
        Path(arguments.output).write_text(content, encoding="utf-8")
    else:
        sys.stdout.write(content)
    return status


def listed(arguments) -> str:
    """Return a table with one row per run."""
    for option, given in (("--best", arguments.best), ("--unfinished", arguments.unfinished),
                          ("--label", arguments.label)):
        if given:
            raise AnalysisError(option, "is for a pivot", "name --rows and --metric")
    named = open_runs(arguments.runs)
    runs = matching(named, arguments.where)
    columns = fields.chosen(arguments.columns, fields.default(runs))
    for note in unknown(named, [column.key for column in columns]):
        print(f"dbench-analyze: {note}", file=sys.stderr)
    if arguments.sort:
        key = fields.one(arguments.sort, "--sort")
        refuse_unknown(named, [key.key])
        if key.timed:
            refuse_times([key.key], ["; ".join(caveats(r)) for r in runs], "--sort")
        runs.sort(key=lambda r: sorting(key.value(r)))
    write = {"markdown": as_markdown, "latex": as_latex, "csv": as_csv}[arguments.format]
    return write(runs, columns)


def sorting(value) -> tuple:
    """Return a sorting key of a cell: numbers come first, then texts, then values that are not
    known."""
    if isinstance(value, (int, float)):
        return (2, 0) if value != value else (0, value)
    return (2, 0) if value is None else (1, str(value))


def cells(runs: list[Run], columns) -> list[list[str]]:
    """Return cells for readers. Times that must not be compared have a dagger, which a note below
    the table explains."""
    def show(run, column):
        text = column.show(column.value(run))
        return f"{text} †" if column.timed and text != "-" and caveats(run) else text

    return [[show(r, c) for c in columns] for r in runs]


def footnotes(runs: list[Run], columns) -> list[str]:
    """Return the notes below the table."""
    timed = any(c.timed for c in columns)
    notes = [f"† {statement(runs)}"] if timed and statement(runs) else []
    frame = pd.DataFrame({key: [fields.find(key).value(r) for r in runs]
                          for key in ("evaluated", "replicas")})
    return notes + replica_notes(frame, columns)


def as_markdown(runs: list[Run], columns) -> str:
    table = markup.markdown([c.title for c in columns], cells(runs, columns))
    return "\n".join([table, *[f"\n{note}" for note in footnotes(runs, columns)]]) + "\n"


def as_latex(runs: list[Run], columns) -> str:
    return markup.latex([c.title for c in columns], cells(runs, columns),
                        notes=footnotes(runs, columns)) + "\n"


def as_csv(runs: list[Run], columns) -> str:
    """Return bare numbers (fractions, seconds, bytes) under the columns' keys; `time_note` follows
    if there are times."""
    noted = any(c.timed for c in columns)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([c.key for c in columns] + ["time_note"] * noted)
    for r in runs:
        note = ["not comparable: " + "; ".join(caveats(r)) if caveats(r) else ""] * noted
        values = [c.value(r) for c in columns]
        writer.writerow([c.show(v) if isinstance(v, str) else v for c, v in zip(columns, values)]
                        + note)
    return out.getvalue()


def pivoted(arguments) -> tuple[str, int]:
    """Return the pivot as text, and the exit status: 1 if a file could not be read."""
    if arguments.sort:
        raise AnalysisError("--sort", "is for a table with a row per run",
                            "a pivot orders its rows by their fields")
    rows = fields.chosen(arguments.rows, ("implementation",), "--rows")
    across = fields.chosen(arguments.columns, ())
    metrics = fields.chosen(arguments.metric, ("accuracy_mean_model",), "--metric")
    conditions = [Condition(text) for text in arguments.where]
    timed = [m.key for m in metrics if m.timed]
    keys = [f.key for f in (*rows, *across, *metrics)] + [c.key for c in conditions] + [
        "status", "seed", "file"] + ["time_note"] * bool(timed)
    found = collect(arguments.runs, keys, optional=("graph_label", "replicas", "evaluated"))
    for fault in found.faults:
        print(f"dbench-analyze: left out {fault}", file=sys.stderr)
    pointers.refuse_unknown(keys, found.specs)
    found, left = countable(selected(found, conditions), arguments.unfinished)
    for metric in metrics:
        if any(isinstance(v, str) and not number_like(v) for v in found.frame[metric.key]):
            raise AnalysisError(f"--metric {metric.key}", "holds words, not numbers",
                                "choose a number, such as accuracy_mean_model")
    if timed:
        refuse_times(timed, list(found.frame["time_note"]), "--metric")
    result = pivot(found, rows, across, metrics)
    result.notes = left + result.notes
    if arguments.label:
        result = renamed(result, arguments.label)
    write = {"markdown": pivot_markdown, "latex": pivot_latex, "csv": pivot_csv}[arguments.format]
    return write(result, arguments.best or "column"), 1 if found.faults else 0


def renamed(result: Pivot, labels: list[str]) -> Pivot:
    """Return the pivot with other names for values of its rows and columns."""
    keys = [*result.row_keys, *result.column_keys]
    called = page_values.labels_by_name(
        labels, list(dict.fromkeys(str(value) for key in keys for value in key)))

    def new(key: tuple) -> tuple:
        return tuple(called.get(str(value), value) for value in key)

    for key in (result.row_keys, result.column_keys):
        if len({*map(new, key)}) < len(key):
            raise AnalysisError(f"--label {labels[-1]}", "two rows or columns would have one name",
                                "give each a name of its own")
    cells = {new(row): {(new(column), metric): cell for (column, metric), cell in found.items()}
             for row, found in result.cells.items()}
    return replace(result, row_keys=[*map(new, result.row_keys)],
                   column_keys=[*map(new, result.column_keys)], cells=cells)


def number_like(text: str) -> bool:
    """Return whether the text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def countable(found: Collection, unfinished: bool) -> tuple[Collection, list[str]]:
    """Return the complete runs, or all runs if `unfinished` is true, and a note on how many were
    left out."""
    complete = [status == "complete" for status in found.frame["status"]]
    if unfinished or all(complete):
        return found, []
    if not any(complete):
        raise AnalysisError("table", "no run is complete", "--unfinished includes the others")
    return found.where(complete), [f"{counted(complete.count(False), 'run')} not complete left out "
                                   "(--unfinished includes them)."]


def caption(result: Pivot) -> tuple[str, bool]:
    """Return the sentence below the table, and whether each cell shows its own n."""
    counts = result.counts()
    if counts == {1}:
        return "One run in each cell.", False
    if len(counts) == 1:
        return f"Mean ± standard deviation over n = {counts.pop()} runs in each cell.", False
    return "Mean ± standard deviation over n runs (one run: no deviation).", True


def arranged(result: Pivot, best: str):
    """Return (head, spanning heads, rows, bold cells, notes)."""
    sentence, each = caption(result)
    several = len(result.metrics) > 1
    places = [(column, metric) for column in result.column_keys for metric in result.metrics]
    names = {column: ", ".join(str(v) for v in column) for column in result.column_keys}
    title = ", ".join(f.title for f in result.columns)
    if result.columns:
        head = [metric.title if several else names[column] for column, metric in places]
        above = ([(f"{title} {names[c]}", len(result.metrics)) for c in result.column_keys]
                 if several else [(title, len(places))])
    else:
        head, above = [metric.title for _, metric in places], []
    top, rows, bold = result.best(best), [], set()
    for i, row in enumerate(result.row_keys):
        line = [f.show(v) if isinstance(v, str) else str(v) for f, v in zip(result.rows, row)]
        for column, metric in places:
            cell = result.cell(row, column, metric.key)
            if (row, column, metric.key) in top:
                bold.add((i, len(line)))
            line.append(shown(cell, metric, with_count=each) if cell else "-")
        rows.append(line)
    about = [] if several else [f"{result.metrics[0].title}: {result.metrics[0].help}."]
    notes = [*about, sentence, *result.notes]
    return [f.title for f in result.rows] + head, above, rows, bold, notes


def pivot_markdown(result: Pivot, best: str) -> str:
    head, above, rows, bold, notes = arranged(result, best)
    if above:  # Markdown has one line of heads
        spans = [text for text, width in above for _ in range(width)]
        several = len(result.metrics) > 1
        words = len(result.rows)
        head = head[:words] + [f"{span}: {h}" if several else f"{span} {h}"
                               for span, h in zip(spans, head[words:])]
    return markup.markdown(head, rows, bold) + "\n\n" + " ".join(notes) + "\n"


def pivot_latex(result: Pivot, best: str) -> str:
    head, above, rows, bold, notes = arranged(result, best)
    return markup.latex(head, rows, bold, len(result.rows), above, notes) + "\n"


def pivot_csv(result: Pivot, best: str) -> str:
    """Return a line per cell and metric with bare numbers; `best` marks what other formats print in
    bold."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*(f.key for f in (*result.rows, *result.columns)), "metric", "mean",
                     "deviation", "n", "best"])
    top = result.best(best)
    for row in result.row_keys:
        for (column, key), cell in result.cells[row].items():
            deviation = cell.deviation if cell.count > 1 else ""
            writer.writerow([*row, *column, key, cell.mean, deviation, cell.count,
                             int((row, column, key) in top)])
    for note in result.notes:
        print(f"dbench-analyze: {note}", file=sys.stderr)
    return out.getvalue()
