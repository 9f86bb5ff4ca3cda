"""Many runs on a page: a table to filter and sort, and curves that show values under the pointer.

The page uses plain SVG and a short script, and loads nothing from anywhere. Without the script, the
table and the curves are static.
"""

import json
import math

import numpy as np

from ..basics.formatting import number, percent
from ..figures.style import settings
from ..quantities import fields, series
from ..quantities.comparability import caveats
from ..reading.metrics import METRICS
from ..reading.run import Run
from .html import asset, text

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 640, 320, 84, 44, 12, 12
POINTS = 120  # most points of a curve
SETTINGS = ("status", "seed", "lr", "replicas", "epochs")

FACTS = ("name", "status", "implementation", "algorithm", "graph", "graph_label", "replicas",
         "seed", "model", "data", "partition", "precision", "optimizer", "lr", "momentum",
         "batch_size", "batch", "iterations", "epochs", "degree", "accuracy_min",
         "accuracy_median", "accuracy_max", "accuracy_mean_model", "loss_mean_model", "variance",
         "variance_early", "consensus", "bytes")


def plain(value):
    """Return a value that JSON can represent; None if it is not finite."""
    if isinstance(value, (np.integer, np.floating)):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def table(runs: list[Run], labels: list[str]) -> str:
    """Return the filter, and a row for each run with all its facts. Values that all runs share
    stand once above the table."""
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
    for i, (run, label) in enumerate(zip(runs, labels)):
        cells = [f'<th scope="row" title="{text(run.name)}">{text(label)}</th>']
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
            "!=, &lt;, &lt;=, &gt; and &gt;= compare; | separates alternatives. The curves show "
            "the runs that remain. Click the head of a column to sort by it. "
            f'Fields: {text(", ".join(FACTS))}.</p></details>'
            f'<div class="scroll" tabindex="0" role="region" aria-label="runs"><table><thead><tr>'
            f'{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>')


def curves(runs: list[Run], labels: list[str]) -> str:
    """Return curves over epochs: accuracy (or loss) of the mean model, its loss, and the consensus
    distance."""
    drawn = settings(runs)
    strokes = {id(run): stroke(setting.look) for setting in drawn for run in setting.runs}
    legend = "".join(
        '<span><svg viewBox="0 0 28 8" aria-hidden="true"><path d="M0 4H28" stroke-width="3" '
        f"{line}/></svg>{text(label)}</span>"
        for label, line in dict.fromkeys((one.look.label, stroke(one.look)) for one in drawn))
    metrics = [METRICS[name] for name in series.compared(runs)]
    wanted = [*((f"{m.title} of the mean model", m.name, m.show, m.low) for m in metrics),
              ("consensus distance", "consensus", number, True)]
    pictures = []
    for title, what, show, log in wanted:
        data = [curve_of(run, what) for run in runs]
        picture = svg(data, labels, [strokes[id(run)] for run in runs], log, show, title)
        pictures.append(f"<figure><figcaption>{text(title)}, each run a line"
                        f"{', logarithmic scale' * log}</figcaption>{picture}</figure>")
    return (f'<p class="legend">{legend}</p><div class="curves">{"".join(pictures)}</div>'
            '<div class="tip" aria-hidden="true"></div>')


def stroke(look) -> str:
    """Return colour and dashes of a `Look` as SVG attributes."""
    dashes = "" if look.dash == "-" else " ".join(f"{2 * length:g}" for length in look.dash[1])
    return f'stroke="{look.colour}"' + f' stroke-dasharray="{dashes}"' * bool(dashes)


def curve_of(run: Run, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Return x (epochs) and y, finite, thinned to the resolution of a screen."""
    if what == "consensus":
        if "variance" not in run.parameters:
            return np.empty(0), np.empty(0)
        column = run.parameters["consensus_distance"]
        curve = [series.epoch_of(run, column.index), column[:].astype(float)]
    else:
        found = series.evaluations(run, what)
        curve = [found[key].to_numpy(dtype=float) for key in ("epoch", "mean")]
    x, y = curve
    use = np.isfinite(x) & np.isfinite(y)
    x, y = x[use], y[use]
    if len(x) > POINTS:
        keep = np.unique(np.linspace(0, len(x) - 1, POINTS).astype(int))
        x, y = x[keep], y[keep]
    return x, y


def svg(data, labels, strokes, log: bool, show, title: str) -> str:
    """Return lines in a frame. On a logarithmic axis, exact zeros are drawn at the bottom."""
    every = np.concatenate([y for _, y in data]) if data else np.empty(0)
    seen = every[every > 0] if log else every
    if not len(seen):
        return "<p class=soft>nothing recorded, or zero throughout</p>"
    low, high = float(seen.min()), float(seen.max())
    if log:
        low, high = math.log10(low), math.log10(high)
    pad = 0.04 * (high - low) or 0.05
    low, high = low - pad, high + pad
    end = max(float(x.max()) for x, _ in data if len(x)) or 1.0

    def across(x):
        return LEFT + x / end * (WIDTH - LEFT - RIGHT)

    def up(y):
        return TOP + (high - y) / (high - low) * (HEIGHT - TOP - BOTTOM)

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{text(title)} over '
             'epochs; the table has the numbers">']
    for tick in decades(low, high) if log else ticks(low, high):
        factor, unit = (100, " %") if show is percent else (1, "")
        words = f"{10.0**tick:.3g}" if log else f"{factor * tick:g}{unit}"
        parts.append(f'<path class="grid" d="M{LEFT} {up(tick):.1f}H{WIDTH - RIGHT}"/>'
                     f'<text x="{LEFT - 6}" y="{up(tick) + 4:.1f}" text-anchor="end">{text(words)}'
                     '</text>')
    for tick in ticks(0, end):
        parts.append(f'<text x="{across(tick):.1f}" y="{HEIGHT - BOTTOM + 16}" '
                     f'text-anchor="middle">{tick:g}</text>')
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 4}" text-anchor="middle">'
                 f'epochs</text><text transform="translate(12 {middle}) rotate(-90)" '
                 f'text-anchor="middle">{text(title)}</text>')
    visible, hover = [], []
    for i, ((x, y), label, line) in enumerate(zip(data, labels, strokes)):
        if not len(x):
            continue
        height = np.where(y > 0, np.log10(np.where(y > 0, y, 1)), low) if log else y
        points = [(round(float(across(a)), 1), round(float(up(b)), 1)) for a, b in zip(x, height)]
        path = "M" + "L".join(f"{a} {b}" for a, b in points)
        words = json.dumps([[p[0], f"epoch {a:.4g}: {show(float(b))}"]
                           for p, a, b in zip(points, x, y)])
        last = f"{label}: {show(float(y[-1]))} at epoch {x[-1]:.4g}"
        visible.append(f'<path class="c" data-run="{i}" d="{path}" {line}/>')
        hover.append(f'<path class="h" data-run="{i}" d="{path}" data-name="{text(label)}" '
                     f'data-points="{text(words)}"><title>{text(last)}</title></path>')
    frame = f'<path d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}" class="frame"/>'
    return "".join([*parts, frame, *visible, *hover, "</svg>"])


def ticks(low: float, high: float) -> list[float]:
    """Return about five round numbers from low to high."""
    raw = (high - low) / 5
    size = 10 ** math.floor(math.log10(raw))
    step = next(size * k for k in (1, 2, 5, 10) if size * k >= raw)
    first = math.ceil(low / step)
    return [round(k * step, 12) for k in range(first, math.floor(high / step) + 1)]


def decades(low: float, high: float) -> list[float]:
    """Return exponents of ticks: whole decades, at most seven; below two decades also 2 and 5;
    below a third of a decade the round numbers in it."""
    whole = list(range(math.ceil(low), math.floor(high) + 1))
    if len(whole) > 2:
        return [float(k) for k in whole[:: -(-len(whole) // 7)]]
    finer = [k + math.log10(m) for k in range(math.floor(low), math.ceil(high) + 1)
             for m in (1, 2, 5)]
    inside = [tick for tick in finer if low <= tick <= high]
    return inside if len(inside) > 2 else [math.log10(v) for v in ticks(10**low, 10**high)
                                           if v > 0]


def section(runs: list[Run], labels: list[str]) -> str:
    """Return table and curves with their style and script."""
    return (f'<style>\n{asset("explorer.css")}</style>'
            f'<div class="explore">{table(runs, labels)}</div>{curves(runs, labels)}'
            f'<script>\n{asset("explorer.js")}</script>')
