"""Many runs on a page: a table to filter and sort. Without its script, the table is static."""

import json
import math

import numpy as np

from ..naming import differences
from ..quantities import fields
from ..quantities.comparability import caveats
from ..reading.run import Run
from .html import asset, text

SETTINGS = ("status", "seed", "lr", "replicas", "epochs")

FACTS = ("name", "status", "implementation", "algorithm", "graph", "graph_label", "replicas",
         "seed", "model", "data", "partition", "alpha", "precision", "optimizer", "lr", "momentum",
         "batch_size", "batch", "iterations", "epochs", "degree", "accuracy_min",
         "accuracy_median", "accuracy_max", "accuracy_mean_model", "loss_mean_model", "variance",
         "variance_early", "consensus", "bytes")


def plain(value):
    """Return a value that JSON can represent; None if it is not finite."""
    if isinstance(value, (np.integer, np.floating)):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def groups(runs: list[Run]) -> list[tuple[str, str, str]]:
    """Return the choices (field, title, meaning) by which curves can be grouped: each run alone, by
    setting, or by a fact in which the runs differ and which some of them share."""
    found = [("setting", "setting", "runs that differ in nothing but the seed"),
             ("", "nothing: each run", "one line for each run")]
    if len(differences.by_setting(runs)) == len(runs):
        found.reverse()
    for key in FACTS[1:FACTS.index("degree")]:
        values = {str(fields.COLUMNS[key].value(run)) for run in runs}
        if 1 < len(values) < len(runs):
            found.append((key, fields.COLUMNS[key].title, fields.COLUMNS[key].help))
    return found


def table(runs: list[Run], labels: list[str], files: list[str], detailed: bool = False,
          specs: bool = False) -> str:
    """Return the filter, and a row for each run with all its facts and a link to its file, or to
    its spec if `specs`; if `detailed`, also to its details. Values that all runs share stand once
    above the table."""
    columns, shared = [], []
    for key in ("status", "seed", "lr", *fields.default(runs)):
        if key in ("name", "implementation"):  # the run's label contains it
            continue
        column = fields.COLUMNS[key]
        values = {str(column.value(run)) for run in runs}
        if key in SETTINGS and len(values) == 1 and len(runs) > 1:
            shared.append(f"{column.title} {column.show(column.value(runs[0]))}")
        else:
            columns.append(column)
    heads = [("run", "the settings in which the run differs from the others"),
             *((c.title, c.help) for c in columns)]
    head = "".join(f'<th scope="col" title="{text(hint)}"><button type="button">{text(title)}'
                   "</button></th>" for title, hint in heads)
    rows = []
    for i, (run, label, file) in enumerate(zip(runs, labels, files)):
        name = f'<a href="#run-{i}">{text(label)}</a>' if detailed else text(label)
        word, hint = ("spec", file) if specs else ("file", str(run.path))
        cells = [f'<th scope="row" title="{text(run.name)}">{name} <a class="file" '
                 f'href="{text(file)}" title="{text(hint)}">{word}</a></th>']
        for column in columns:
            value = plain(column.value(run))
            shown = column.show(value) if value is not None else "-"
            dagger = " †" * bool(column.timed and shown != "-" and caveats(run))
            sortable = f' data-value="{text("" if value is None else str(value))}"'
            cells.append(f"<td{sortable}>{text(shown)}{dagger}</td>")
        facts = {key: plain(fields.COLUMNS[key].value(run)) for key in FACTS}
        rows.append(
            f'<tr data-run="{i}" data-facts="{text(json.dumps(facts))}">{"".join(cells)}</tr>')
    common = f"<p>All runs: {text(', '.join(shared))}.</p>" if shared else ""
    return (f'{common}<p class="filter"><input type="search" placeholder="D_ring replicas=16 '
            'lr&gt;=0.1" aria-label="filter runs" aria-describedby="how"> '
            '<span class="count soft" role="status"></span></p>'
            '<details><summary class=soft>how to filter and sort</summary>'
            '<p class=soft id="how">A word keeps the runs that contain it in their row or name '
            "(point at a label to see the name). field=value keeps the runs with this value; "
            "!=, &lt;, &lt;=, &gt; and &gt;= compare; | separates alternatives. Quotes hold words "
            "with spaces together: graph_label=&quot;base_k k=3&quot;. The curves show the runs "
            "that remain. Click the head of a column to sort by it, and point at it to "
            "see its meaning. "
            f'Fields: {text(", ".join(FACTS))}.</p></details>'
            f'<div class="scroll" tabindex="0" role="region" aria-label="runs"><table><thead><tr>'
            f'{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>')


def section(runs: list[Run], labels: list[str], files: list[str], detailed: bool = False,
            specs: bool = False) -> str:
    """Return the table with its style and script."""
    return (f'<style>\n{asset("explorer.css")}</style>'
            f'<div class="explore">{table(runs, labels, files, detailed, specs)}</div>'
            f'<script>\n{asset("explorer.js")}</script>')
