"""The interactive curves of a report: the numbers of all runs, the library Plotly that draws them,
and the controls. Library and numbers are part of the page, compressed, so it loads nothing.
"""

import base64
import functools
import gzip
import importlib.util
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..basics.errors import AnalysisError
from ..figures.style import FIXED, Look, settings
from ..figures.thinning import thin
from ..naming import differences
from ..naming.measures import TITLES, UNITS
from ..quantities import series
from ..quantities.comparability import caveats, statement
from ..quantities.progress import X, progress
from ..reading.metrics import METRICS
from ..reading.run import Run
from ..reading.schema import MEASURES
from .html import asset, text

POINTS = 300  # most points of a curve
EVERY = 60_000  # most points of all curves of a page
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


def rounded(values) -> list[float | None]:
    """Return values with six digits; None in place of those that are not finite."""
    return [float(f"{v:.6g}") if math.isfinite(v) else None for v in values]


def axes(runs: list[Run]) -> dict[str, str]:
    """Return {x axis: the reason why these runs must not be compared on it, or ""}."""
    fair = len(runs) < 2 or all(series.virtual(run) or not caveats(run) for run in runs)
    return {x: "" if x != "seconds" or fair else statement(runs) for x in X}


def numbers(runs: list[Run], labels: list[str]) -> dict:
    """Return what the script draws, as JSON values. Curves of one run that have the same x share
    it: `y` maps a quantity to [index of its x, values]."""
    known = quantities(runs)
    points = max(20, min(POINTS, EVERY // max(1, len(runs) * len(known))))
    shown = [x for x, reason in axes(runs).items() if not reason]
    drawn = settings(runs)
    nth = {id(run): i for i, setting in enumerate(drawn) for run in setting.runs}
    present, found = set(), []
    for run, label in zip(runs, labels):
        places: dict[tuple, int] = {}
        shared: list[dict] = []
        curves: dict[str, list] = {}
        for quantity in known:
            done, values = quantity.read(run)
            if not np.isfinite(values).any():
                continue
            done, values = thin(done, values, points=points)
            if tuple(done) not in places:
                places[tuple(done)] = len(shared)
                shared.append({x: rounded(progress(run, done, x)) for x in shown})
            curves[quantity.key] = [places[tuple(done)], rounded(values)]
            present.add(quantity.key)
        found.append({"label": label, "name": run.name, "setting": nth[id(run)], "x": shared,
                      "y": curves})
    return {
        "quantities": [{"key": q.key, "title": q.title, "help": q.help, "fraction": q.fraction,
                        "log": q.log} for q in known if q.key in present],
        "x": {x: X[x] for x in shown}, "runs": found, "palette": list(FIXED.values()),
        "settings": [{"label": s.look.label, "colour": s.look.colour, "dash": dashes(s.look)}
                     for s in drawn],
        "spec": differences.differences(runs),
    }


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
        f'<option value="{text(value)}" title="{text(hint.removeprefix("!"))}"'
        f'{" disabled" * hint.startswith("!")}>{text(words)}</option>'
        for value, words, hint in entries)


def controls(runs: list[Run], found: dict, groups: list[tuple[str, str, str]]) -> str:
    """Return the controls above the curves. groups: the fields by which runs can be grouped."""
    xs = [(x, LABELS[x] if not reason else f"{LABELS[x]} (not comparable)",
           f"!{reason}" if reason else X[x]) for x, reason in axes(runs).items()]
    metric = options([(q["key"], q["title"], q["help"]) for q in found["quantities"]])
    several = "" if len(runs) < 2 else (
        '<label title="one line for each group: the mean of its runs, with a band from the lowest '
        f'to the highest">group by <select id="group">{options(groups)}</select></label>')
    return (
        f'<div class="controls"><label>show <select id="metric">{metric}</select></label>'
        f'<label>over <select id="x">{options(xs)}</select></label>{several}'
        '<label title="a logarithmic vertical axis; exact zeros have no place on it">'
        '<input type="checkbox" id="log"> log scale</label>'
        '<label title="exponential moving average over the points of each run, before grouping">'
        'smooth <input type="range" id="smooth" min="0" max="0.98" step="0.02" value="0"></label>'
        '<button type="button" id="svg" title="the curves as they are shown">SVG</button>'
        '<button type="button" id="csv" title="the numbers of the curves shown">CSV</button></div>')


def choice(found: dict) -> str:
    """Return the choice of two runs whose specs are compared."""
    runs = options([(str(i), run["label"], run["name"])
                    for i, run in enumerate(found["runs"])])
    return ('<p class="controls"><label>compare the specs of <select id="a"><option value="">pick '
            f'a run</option>{runs}</select></label><label>and <select id="b"><option value="">pick '
            f'a run</option>{runs}</select></label> <span class="soft">or click on two curves or '
            'rows</span></p><div id="difference" class="scroll" role="status"></div>')


def section(runs: list[Run], labels: list[str], groups: list[tuple[str, str, str]]) -> str:
    """Return the curves with their controls, style, script, numbers and library; a sentence if no
    run has a curve."""
    found = numbers(runs, labels)
    if not found["quantities"]:
        return "<p class=soft>Nothing to draw is recorded yet.</p>"
    content = json.dumps(found, separators=(",", ":"), allow_nan=False).encode()
    return (
        f'<style>\n{asset("curves.css")}</style><div class="curves">'
        f'{controls(runs, found, groups)}<p id="definition" class="soft"></p>'
        '<div id="plot" role="img" aria-label="curves of the runs; the table has the final '
        'numbers"></div><p id="note" class="soft" role="status"></p>'
        '<noscript><p class="warn">These curves need JavaScript. `dbench-analyze plot` draws the '
        f'same as files.</p></noscript>{choice(found) if len(runs) > 1 else ""}</div>'
        f'<script type="text/plain" id="curves-numbers">{packed(content)}</script>'
        f'<script type="text/plain" id="curves-library">{library()}</script>'
        f'<script>\n{asset("curves.js")}</script>')
