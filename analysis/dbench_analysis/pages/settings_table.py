"""The summary of a sweep at the top of its report: a row for each setting, mean and deviation over
its seeds."""

import math
from statistics import fmean, stdev

from ..basics.formatting import counted
from ..naming import differences
from ..quantities import fields
from ..reading.run import Run
from ..statistics.pivot import LOCAL, Cell, shown
from .html import text

METRICS = ("accuracy_mean_model", "accuracy_median", "accuracy_min", "loss_mean_model",
           "variance_early", "variance", "bytes")


def cell(runs: list[Run], metric: fields.Field) -> Cell | None:
    """Return mean and deviation of a metric over runs; None without a finite value."""
    values = [float(metric.value(run)) for run in runs]
    values = [value for value in values if math.isfinite(value)]
    return Cell(fmean(values), stdev(values) if len(values) > 1 else math.nan,
                len(values)) if values else None


def table(runs: list[Run]) -> str:
    """Return the settings, with the best value of each column in bold. Runs that are not complete
    are left out."""
    complete = [run for run in runs if run.status == "complete"]
    groups = differences.by_setting(complete)
    if not groups:
        return "<p class=warn>No run is complete.</p>"
    metrics = [fields.COLUMNS[key] for key in METRICS]
    cells = [[cell(group, metric) for metric in metrics] for group in groups]
    metrics = [metric for i, metric in enumerate(metrics) if any(row[i] for row in cells)]
    cells = [[found for i, found in enumerate(row) if any(other[i] for other in cells)]
             for row in cells]
    # A mean without the runs that diverged says too little to be the best.
    best = [max((sense(metric) * found.mean for group, found in zip(groups, column)
                 if found and found.count == len(group)), default=None)
            for metric, column in zip(metrics, zip(*cells))]
    rows = []
    for group, label, row in zip(groups, differences.setting_labels([g[0] for g in groups]), cells):
        tops = [found and metric.better and len(groups) > 1 and found.count == len(group)
                and sense(metric) * found.mean == top
                for found, metric, top in zip(row, metrics, best)]
        cell_texts = [shown(found, metric, with_count=found.count < len(group)) if found else "-"
                      for found, metric in zip(row, metrics)]
        rows.append(f"<tr><th scope=row>{text(label)}</th><td>{len(group)}</td>" + "".join(
            f"<td>{f'<b>{text(words)}</b>' if top else text(words)}</td>"
            for words, top in zip(cell_texts, tops)) + "</tr>")
    head = "".join(f'<th scope=col title="{text(metric.help)}">{text(metric.title)}</th>'
                   for metric in metrics)
    return ('<div class="scroll"><table class="settings"><thead><tr><th scope=col>setting</th>'
            f'<th scope=col>seeds</th>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
            f"</div><p class=soft>{text(notes(runs, complete, metrics))}</p>")


def lost(runs: list[Run], metrics: list[fields.Field]) -> list[str]:
    """Return for each metric how many runs have no finite value, so that means lack them."""
    found = []
    for metric in metrics:
        count = sum(not math.isfinite(float(metric.value(run))) for run in runs)
        if count:
            found.append(f"{counted(count, 'run')} without a finite {metric.title} left out.")
    return found


def sense(metric: fields.Field) -> int:
    """Return -1 if low values are better, else 1."""
    return -1 if metric.better == "low" else 1


def notes(runs: list[Run], complete: list[Run], metrics: list[fields.Field]) -> str:
    """Return the sentences below the table."""
    remarks = ["Mean ± standard deviation over seeds, at the end of training. The best value of a "
               "column is bold."]
    if any(metric.key.startswith(LOCAL) for metric in metrics):
        counts = sorted({(fields.COLUMNS["evaluated"].value(run), run.replicas)
                         for run in complete})
        remarks.append("Local models: over " + ", ".join(f"{a} of {n} replicas" for a, n in counts)
                    + ", as evaluated.")
    kept = [run for group in differences.by_setting(complete) for run in group]
    remarks += lost(kept, metrics)
    if len(kept) < len(complete):
        remarks.append(differences.repeated_note(complete))
    if len(complete) < len(runs):
        remarks.append(f"{len(runs) - len(complete)} of {len(runs)} runs are not complete and left "
                    "out.")
    return " ".join(remarks)
