"""Many runs on a page: a table to filter and sort, and curves to hover over. Plain SVG and a little
script.

Without script the table and the curves stand there as they are; nothing is loaded from anywhere.
"""

import json
import math

import numpy as np

from . import fields, series
from .comparable import caveats
from .page import asset, text
from .run import Run
from .textual import number, percent

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 640, 300, 62, 36, 12, 12
POINTS = 120  # of a curve

FACTS = ("name", "status", "implementation", "algorithm", "graph", "graph_label", "replicas",
         "seed", "model", "data", "partition", "precision", "optimizer", "lr", "momentum",
         "batch_size", "batch", "iterations", "epochs", "degree", "accuracy_min",
         "accuracy_median", "accuracy_max", "accuracy_mean_model", "loss_mean_model", "variance",
         "variance_early", "consensus", "bytes")


def plain(value):
    """A value as JSON knows it."""
    if isinstance(value, (np.integer, np.floating)):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def table(runs: list[Run], labels: list[str]) -> str:
    """The filter, and a row for each run that bears all its facts."""
    columns = [fields.COLUMNS[key] for key in ("status", "seed", "lr", *fields.DEFAULT)
               if key != "name"]
    head = "".join(f"<th title=\"{text(c.help)}\">{text(c.title)}</th>" for c in columns)
    rows = []
    for i, (run, label) in enumerate(zip(runs, labels)):
        cells = [f"<td>{text(label)}</td>"]
        for column in columns:
            value = plain(column.value(run))
            shown = column.show(value) if value is not None else "-"
            dagger = " †" * bool(column.timed and shown != "-" and caveats(run))
            sortable = f' data-value="{text("" if value is None else str(value))}"'
            cells.append(f"<td{sortable}>{text(shown)}{dagger}</td>")
        facts = {key: plain(fields.COLUMNS[key].value(run)) for key in FACTS}
        rows.append(
            f'<tr data-run="{i}" data-facts="{text(json.dumps(facts))}">{"".join(cells)}</tr>')
    keys = ", ".join(FACTS)
    return ('<p><input type="search" placeholder="filter: D_ring replicas=16 lr&gt;=0.1 '
            'accuracy_median&lt;0.6" aria-label="filter runs"> '
            '<span class="count soft"></span></p>'
            '<details><summary class=soft>how to filter</summary>'
            '<p class=soft>Words must stand in the row; '
            "field=value, !=, &lt;, &lt;=, &gt;, &gt;= compare, with alternatives by |. Curves "
            "follow the filter; a click on a head sorts. "
            f'Fields: {text(keys)}.</p></details>'
            f'<div class="scroll"><table><thead><tr><th>run</th>{head}</tr></thead>'
            f'<tbody>{"".join(rows)}</tbody></table></div>')


def curves(runs: list[Run], labels: list[str]) -> str:
    """Accuracy (or loss) of the mean model, its loss, and the consensus distance, each over
    epochs."""
    from .figures.style import looks  # matplotlib, only where something is drawn

    colours = [look.colour for look in looks(runs)]
    wanted = [("accuracy of the mean model", "accuracy", percent),
              ("loss of the mean model", "loss", number),
              ("consensus distance", "consensus", number)]
    pictures = []
    for title, what, show in wanted:
        data = [curve_of(run, what) for run in runs]
        drawn = svg(data, [f"{label}" for label in labels], colours, what != "accuracy", show)
        pictures.append(
            f"<figure><figcaption>{text(title)}, over epochs</figcaption>{drawn}</figure>")
    return f'<div class="curves">{"".join(pictures)}</div><div class="tip"></div>'


def curve_of(run: Run, what: str) -> tuple[np.ndarray, np.ndarray]:
    """x (epochs) and y, finite, thinned to what a screen can show."""
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


def svg(data, labels, colours, log: bool, show) -> str:
    """Lines in a frame. On a logarithmic axis exact zeros lie on its foot."""
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

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img">']
    for tick in ticks(low, high):
        value = 10**tick if log else tick
        said = show(value) if show is percent else number(value, 2)
        parts.append(f'<path d="M{LEFT} {up(tick):.1f}H{WIDTH - RIGHT}" stroke="#e4e4e4"/>'
                     f'<text x="{LEFT - 6}" y="{up(tick) + 4:.1f}" text-anchor="end">{text(said)}'
                     '</text>')
    for tick in ticks(0, end):
        parts.append(f'<text x="{across(tick):.1f}" y="{HEIGHT - BOTTOM + 16}" '
                     f'text-anchor="middle">{tick:g}</text>')
    visible, hover = [], []
    for i, ((x, y), label, colour) in enumerate(zip(data, labels, colours)):
        if not len(x):
            continue
        height = np.where(y > 0, np.log10(np.where(y > 0, y, 1)), low) if log else y
        points = [(round(float(across(a)), 1), round(float(up(b)), 1)) for a, b in zip(x, height)]
        path = "M" + "L".join(f"{a} {b}" for a, b in points)
        said = json.dumps([[p[0], f"epoch {a:.4g}: {show(float(b))}"]
                           for p, a, b in zip(points, x, y)])
        last = f"{label}: {show(float(y[-1]))} at epoch {x[-1]:.4g}"
        visible.append(f'<path class="c" data-run="{i}" d="{path}" stroke="{colour}"/>')
        hover.append(f'<path class="h" data-run="{i}" d="{path}" data-name="{text(label)}" '
                     f'data-points="{text(said)}"><title>{text(last)}</title></path>')
    frame = f'<path d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}" fill="none" stroke="#666"/>'
    return "".join([*parts, frame, *visible, *hover, "</svg>"])


def ticks(low: float, high: float) -> list[float]:
    """About five round numbers from low to high."""
    raw = (high - low) / 5
    size = 10 ** math.floor(math.log10(raw))
    step = next(size * k for k in (1, 2, 5, 10) if size * k >= raw)
    first = math.ceil(low / step)
    return [round(k * step, 12) for k in range(first, math.floor(high / step) + 1)]


def section(runs: list[Run], labels: list[str]) -> str:
    return (f'<style>\n{asset("explorer.css")}</style>'
            f'<div class="explore">{table(runs, labels)}</div>{curves(runs, labels)}'
            f'<script>\n{asset("explorer.js")}</script>')
