"""The interactive curves of a report: the numbers of all runs, the library Plotly that draws them,
and the controls. Library and numbers are part of the page, compressed, so it loads nothing.
"""

import base64
import functools
import gzip
import importlib.util
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..basics.errors import AnalysisError
from ..figures.style import FIXED, Look, settings
from ..figures.thinning import thin
from ..naming import differences
from ..naming.measures import TITLES, UNITS
from ..quantities import fields, series
from ..quantities.comparability import caveats, statement
from ..quantities.progress import X, progress
from ..reading.metrics import METRICS
from ..reading.run import Run
from ..reading.schema import MEASURES
from . import html

POINTS = 300  # most points of a curve
EVERY = 90_000  # most points of all curves of a page
MANY = 60  # runs above which curves of dispersion are left out: reading them takes long
LABELS = {"iterations": "iterations", "epochs": "epochs", "bytes": "bytes sent",
          "seconds": "seconds of steps"}


@dataclass(frozen=True)
class Quantity:
    """A quantity of which runs have curves. `read(run)` returns (iterations completed, values);
    `log`: the page begins with a logarithmic axis."""

    key: str
    title: str
    help: str
    read: Callable[[Run], tuple[np.ndarray, np.ndarray]]
    fraction: bool = False
    log: bool = False


def quantities(runs: list[Run]) -> list[Quantity]:
    """Return the quantities of which some run may have a curve."""
    found = []
    for prefix, place in (("", "test"), ("validation_", "validation")):
        for m in METRICS.values():
            if not any(f"{prefix}mean_{m.name}" in run.evaluations for run in runs):
                continue
            found.append(Quantity(
                f"{prefix}{m.name}", f"{place} {m.title}, mean model",
                f"{m.title} on the {place} set of the model with the averaged parameters",
                evaluated(m.name, "mean", prefix), m.unit == "fraction", m.low))
            if prefix:
                continue
            low, high = ("best", "worst") if m.low else ("worst", "best")
            for column, word in (("median", "median"), ("min", low), ("max", high)):
                found.append(Quantity(
                    f"{m.name}_{column}", f"{place} {m.title}, {word} local model",
                    f"{m.title} on the {place} set: {word} of the evaluated replicas",
                    evaluated(m.name, column), m.unit == "fraction", m.low))
    for name in ("loss", "accuracy"):
        found.append(Quantity(
            f"train_{name}", f"minibatch {name}", f"{name} on the minibatches, before the update: "
            "median over the replicas", trained(name), name == "accuracy", name == "loss"))
    found.append(Quantity(
        "consensus", TITLES["consensus"], "root mean square distance of the replicas' parameters "
        "from their mean, just before averaging; 0 if all replicas are equal",
        spread("consensus"), log=True))
    found.append(Quantity(
        "variance", TITLES["variance"], "consensus distance squared, divided by the number of "
        "parameters", spread("variance"), log=True))
    for measure in MEASURES if len(runs) <= MANY else ():
        found.append(Quantity(
            measure, f"{TITLES[measure]} of the norms", f"{UNITS[measure]}: how unequal the "
            "replicas' tensor norms are, median over the weight tensors", spread(measure)))
    found.append(Quantity("degree", "neighbours", "mean number of neighbours of a replica in the "
                          "iteration", degree))
    return found


def evaluated(metric: str, column: str, prefix: str = ""):
    def read(run: Run):
        if f"{prefix}mean_{metric}" not in run.evaluations:
            return np.empty(0), np.empty(0)
        found = series.evaluations(run, metric, prefix)
        return found["iteration"].to_numpy(), found[column].to_numpy(dtype=float)

    return read


def trained(what: str):
    def read(run: Run):
        found = series.training(run, what)
        return found["iteration"].to_numpy(), found["median"].to_numpy(dtype=float)

    return read


def spread(measure: str):
    def read(run: Run):
        found = series.spread(run, measure)
        return found["iteration"].to_numpy(), found["value"].to_numpy(dtype=float)

    return read


def degree(run: Run):
    found = run.iterations["degree"][:]
    return np.arange(len(found)), found.astype(float)


def axes(runs: list[Run]) -> dict[str, str]:
    """Return {x axis: the reason why these runs must not be compared on it, or ""}."""
    fair = len(runs) < 2 or all(series.virtual(run) or not caveats(run) for run in runs)
    return {x: "" if x != "seconds" or fair else statement(runs) for x in X}


class Pool:
    """Arrays of numbers that traces name by their index: traces share equal arrays."""

    def __init__(self):
        self.arrays: list[list[float]] = []
        self.places: dict[tuple, int] = {}
        self.exact: dict[bytes, int] = {}  # many traces have the same x

    def place(self, values: np.ndarray) -> int:
        """Return the index of these values, rounded to five digits."""
        values = np.asarray(values, dtype=float)
        exact = values.tobytes()
        if exact not in self.exact:
            shown = [float(f"{value:.5g}") for value in values.tolist()]
            place = self.places.setdefault(tuple(shown), len(self.arrays))
            if place == len(self.arrays):
                self.arrays.append(shown)
            self.exact[exact] = place
        return self.exact[exact]


@dataclass
class Line:
    """One entry of the legend: one run, or the mean over several with a band."""

    name: str
    colour: str
    dash: str
    runs: list[int]


def lines_of(runs: list[Run], labels: list[str], groups: list[tuple[str, str, str]]
             ) -> dict[str, list[Line]]:
    """Return the lines of each grouping (see `explorer.groups`); "" has one line for each run."""
    drawn = settings(runs)
    index = {id(run): i for i, run in enumerate(runs)}
    by_setting = [Line(s.look.label, s.look.colour, dashes(s.look), [index[id(r)] for r in s.runs])
                  for s in drawn]
    setting = {differences.whole_setting(s.runs[0]): line for s, line in zip(drawn, by_setting)}
    looks = [setting[differences.whole_setting(run)] for run in runs]
    found = {"": [Line(label, looks[i].colour, looks[i].dash, [i])
                  for i, label in enumerate(labels)]}
    for key, title, _ in groups:
        if key == "setting":
            found[key] = by_setting
        elif key:
            members: dict[str, list[int]] = {}
            for i, run in enumerate(runs):
                members.setdefault(str(fields.COLUMNS[key].value(run)), []).append(i)
            found[key] = [Line(f"{title} {value}", colour, "solid", those)
                          for (value, those), colour in zip(members.items(),
                                                            itertools.cycle(FIXED.values()))]
    return found


def together(curves: list[tuple[np.ndarray, np.ndarray]], points: int) -> np.ndarray:
    """Return the rows x, lowest, highest and mean of several curves (x, y) where all of them have a
    value. Between two points of a curve its value is on the line through them."""
    start, end = max(x[0] for x, _ in curves), min(x[-1] for x, _ in curves)
    x = np.unique(np.concatenate([x for x, _ in curves]))
    x = x[(x >= start) & (x <= end)]
    if len(x) > points:
        x = x[np.linspace(0, len(x) - 1, points).round().astype(int)]
    values = np.array([np.interp(x, *curve) for curve in curves])
    return np.array([x, values.min(axis=0), values.max(axis=0), values.mean(axis=0)])


def traces(line: Line, number: str, curves: dict[str, dict[str, list]], points: int, pool: Pool
           ) -> list[dict]:
    """Return a line as Plotly's traces: the two ends of its band if it has several runs, then the
    line. `at` maps a quantity and an x axis to the indices of x and y; `uid` is a name by which
    Plotly keeps what the legend hides. curves: (x, y) of each of its runs, by quantity and axis."""
    shape: dict[str, Any] = {"name": line.name, "legendgroup": line.name, "meta": line.runs}
    bare = {**shape, "hoverinfo": "skip", "showlegend": False}
    found = [{**shape, "uid": number, "line": {"color": line.colour, "dash": line.dash,
                                               "width": 1.8}, "at": {}}]
    if len(line.runs) > 1:
        band = {"line": {"color": line.colour, "width": 0}, "fillcolor": f"{line.colour}26"}
        found = [{**bare, **band, "name": f"{line.name}, lowest", "uid": f"{number}l", "at": {}},
                 {**bare, **band, "name": f"{line.name}, highest", "uid": f"{number}h",
                  "fill": "tonexty", "at": {}}, *found]
    for quantity, by_axis in curves.items():
        for axis, those in by_axis.items():
            x, *ys = together(those, points) if len(line.runs) > 1 and those else (
                those[0] if those else (np.empty(0), np.empty(0)))
            for trace, y in zip(found, ys):
                trace["at"].setdefault(quantity, {})[axis] = [pool.place(x), pool.place(y)]
    return found


def numbers(runs: list[Run], labels: list[str], groups: list[tuple[str, str, str]]) -> dict:
    """Return what the script draws, as JSON values: the traces of each grouping, the arrays of
    their numbers, and the layouts."""
    known = quantities(runs)
    lines = lines_of(runs, labels, groups)
    arrays = sum(1 if len(line.runs) == 1 else 3 for those in lines.values() for line in those)
    points = max(20, min(POINTS, EVERY // (arrays * len(known))))
    shown = [x for x, reason in axes(runs).items() if not reason]
    curves: list[dict[str, dict[str, tuple]]] = []
    for run in runs:
        curves.append({})
        reached: dict[tuple[str, bytes], np.ndarray] = {}  # quantities share their iterations
        for quantity in known:
            done, values = quantity.read(run)
            if not np.isfinite(values).any():
                continue
            done, values = thin(done, values, points=points)
            curves[-1][quantity.key] = {}
            for x in shown:
                key = x, done.tobytes()
                if key not in reached:
                    reached[key] = progress(run, done, x)
                places = reached[key]
                kept = np.isfinite(places) & np.isfinite(values)
                if kept.any():
                    curves[-1][quantity.key][x] = (places[kept], values[kept])
    pool, drawn = Pool(), {}
    for group, those in lines.items():
        drawn[group] = [{"runs": line.runs, "traces": traces(line, f"{group or 'run'}-{n}", {
            q.key: {x: [curves[i][q.key][x] for i in line.runs if x in curves[i].get(q.key, {})]
                    for x in shown}
            for q in known if any(q.key in curves[i] for i in line.runs)}, points, pool)}
            for n, line in enumerate(those)]
    return {
        "quantities": {q.key: described(q) for q in known if any(q.key in c for c in curves)},
        "x": {x: X[x] for x in shown}, "lines": drawn, "arrays": pool.arrays,
        "names": [html.text(label) for label in labels],
        "spec": [[html.text(pointer), [html.text(value) for value in values]]
                 for pointer, values in differences.differences(runs)],
        "layout": LAYOUT, "axis": AXIS, "config": CONFIG,
    }


AXIS = {"zeroline": False, "automargin": True}
LAYOUT = {
    "font": {"family": "system-ui, sans-serif", "size": 13}, "hovermode": "closest",
    "paper_bgcolor": "transparent", "plot_bgcolor": "transparent", "uirevision": "kept",
    "margin": {"l": 60, "r": 10, "t": 34, "b": 45},
    "modebar": {"bgcolor": "transparent", "color": "#888"},
    "legend": {"orientation": "h", "yref": "container", "yanchor": "bottom", "y": 0}}
CONFIG = {
    "responsive": True, "displaylogo": False, "displayModeBar": True,
    "toImageButtonOptions": {"format": "svg", "filename": "curves"},
    "modeBarButtons": [["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d", "toImage"]]}


def described(quantity: Quantity) -> dict:
    """Return how a quantity is drawn: its axis, the axis's scale at first, and what the pointer
    shows."""
    value = "%{y:.2%}" if quantity.fraction else "%{y:.4~g}"
    return {
        "help": f"{quantity.title}: {quantity.help}.", "scale": "log" if quantity.log else "linear",
        "axis": {"title": {"text": quantity.title}, "tickformat": "~%" if quantity.fraction
                 else "~g"},
        "template": {"data": {"scatter": [{
            "hovertemplate": f"{value} at %{{x:.5~g}}<extra>%{{fullData.name}}</extra>"}]}}}


def dashes(look: Look) -> str:
    """Return the line style of a `Look` as Plotly names it."""
    if not isinstance(look.dash, tuple):
        return "solid"
    return ",".join(f"{2 * length:g}px" for length in look.dash[1])


@functools.cache
def library() -> str:
    """Return Plotly for browsers (MIT licence, from the Python package plotly), compressed."""
    package = importlib.util.find_spec("plotly")
    file = Path(package.origin).parent / "package_data" / "plotly.min.js" if (
        package and package.origin) else None
    if file is None or not file.exists():
        raise AnalysisError("report", "the package plotly, which draws curves in the page, is not "
                            "installed", "pip install ./analysis")
    return packed(file.read_bytes())


def packed(content: bytes) -> str:
    """Return bytes compressed, as text; the same bytes give the same text."""
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode("ascii")


def options(entries: list[tuple[str, str, str]]) -> str:
    """Return the options (value, words, hint) of a choice. A hint that begins with "!" disables the
    option and gives the reason."""
    return "".join(
        f'<option value="{html.text(value)}" title="{html.text(hint.removeprefix("!"))}"'
        f'{" disabled" * hint.startswith("!")}>{html.text(words)}</option>'
        for value, words, hint in entries)


def controls(runs: list[Run], found: dict, groups: list[tuple[str, str, str]]) -> str:
    """Return the controls above the curves. groups: the fields by which runs can be grouped."""
    xs = [(x, LABELS[x] if not reason else f"{LABELS[x]} (not comparable)",
           f"!{reason}" if reason else X[x]) for x, reason in axes(runs).items()]
    metric = options([(key, one["axis"]["title"]["text"], one["help"])
                      for key, one in found["quantities"].items()])
    scales = ["linear", "log"]
    if next(iter(found["quantities"].values()))["scale"] == "log":
        scales.reverse()
    scale = options([(one, one, "") for one in scales])
    several = '<input type="hidden" name="group" value="">' if len(runs) < 2 else (
        '<label title="one line for each group: the mean of its runs, with a band from the lowest '
        f'to the highest">group by <select name="group">{options(groups)}</select></label>')
    return (
        '<form id="choices" class="controls">'
        f'<label>show <select name="metric">{metric}</select></label>'
        f'<label>over <select name="x">{options(xs)}</select></label>{several}'
        '<label title="of the vertical axis; exact zeros have no place on a logarithmic one">'
        f'scale <select name="scale">{scale}</select></label>'
        '<label title="exponential moving average over the points of each line and of its band">'
        'smooth <input type="range" name="smooth" min="0" max="0.98" step="0.02" value="0"></label>'
        '</form>')


def choice(labels: list[str], runs: list[Run]) -> str:
    """Return the choice of two runs whose specs are compared."""
    entries = options([(str(i), label, run.name)
                       for i, (label, run) in enumerate(zip(labels, runs))])
    select = '<select name="{}" form="choices"><option value="">pick a run</option>{}</select>'
    return ('<p class="controls"><label>compare the specs of '
            f'{select.format("a", entries)}</label><label>and {select.format("b", entries)}</label>'
            ' <span class="soft">or click on two curves or rows</span></p>'
            '<div id="difference" class="scroll" role="status"></div>')


def section(runs: list[Run], labels: list[str], groups: list[tuple[str, str, str]]) -> str:
    """Return the curves with their controls, style, script, numbers and library; a sentence if no
    run has a curve."""
    found = numbers(runs, labels, groups)
    if not found["quantities"]:
        return "<p class=soft>Nothing to draw is recorded yet.</p>"
    content = json.dumps(found, separators=(",", ":"), allow_nan=False).encode()
    return (
        f'<style>\n{html.asset("curves.css")}</style><div class="curves">'
        f'{controls(runs, found, groups)}<p id="definition" class="soft"></p>'
        '<div id="plot" role="img" aria-label="curves of the runs; the table has the final '
        'numbers"></div><p id="note" class="soft" role="status">These curves need a browser of '
        '2023 or later.</p><noscript><p class="warn">These curves need JavaScript. '
        '`dbench-analyze plot` draws the same as files.</p></noscript>'
        f'{choice(labels, runs) if len(runs) > 1 else ""}</div>'
        f'<script type="text/plain" id="curves-numbers">{packed(content)}</script>'
        f'<script type="text/plain" id="curves-library">{library()}</script>'
        f'<script>\n{html.asset("curves.js")}</script>')
