"""Draws the kinds of figures, and saves them."""

import re
from collections.abc import Callable, Iterator

import matplotlib
from matplotlib.figure import Figure

from ..basics.errors import reading
from ..naming.names import ALL_REDUCE
from ..reading.run import Run
from . import (
    accuracy,
    across,
    adaptation,
    communication,
    convergence,
    early,
    links,
    page_layout,
    ranks,
    speed,
    spread,
    style,
    tensors,
    timing,
    variance_accuracy,
)
from .kinds import KINDS, Kind
from .page_layout import ANYWHERE, Page

DRAW: dict[str, Callable[..., Figure]] = {
    "variance-accuracy": variance_accuracy.figure,
    "accuracy": accuracy.evaluated,
    "training": accuracy.training,
    "consensus": spread.consensus,
    "dispersion": spread.aggregated,
    "tensors": tensors.heat_maps,
    "communication": communication.cost,
    "adaptation": adaptation.figure,
    "convergence": convergence.figure,
    "early": early.figure,
    "connections": across.connections,
    "scale": across.scale,
    "ranks": ranks.figure,
    "timing": timing.breakdown,
    "speed": speed.scaling,
    "break-even": speed.break_even,
    "cost": speed.cost,
    "graphs": links.figure,
}
LONGEST = 100  # letters of a label in a file name, which has at most 255 bytes
assert DRAW.keys() == KINDS.keys(), "each row of KINDS needs its function in DRAW"


def drawn(kind: Kind, runs: list[Run], each: bool = False, page: Page = ANYWHERE,
          **options) -> Iterator[tuple[str, Figure]]:
    """Yield (name, figure): one figure of all runs, or one for each setting if the kind requires
    it. Runs that differ in nothing but the seed are drawn as one, unless `each` is true."""
    if kind.single_runs:
        options["each"] = each
    with drawing_settings(page):
        settings = style.settings(runs, each, full=True) if kind.per_setting else []
        stems = distinct([f"{kind.name}-{stem(setting.look.label)}" for setting in settings])
        groups = ([(name, (setting.runs, setting.look.label))
                   for name, setting in zip(stems, settings)]
                  if kind.per_setting else [(kind.name, (runs,))])
    for name, arguments in groups:
        files = ", ".join(str(run.path) for run in runs)
        with drawing_settings(page), reading(files, f"what the figure {name} is made from"):
            figure = DRAW[kind.name](*arguments, **options)
            page_layout.finish(figure)
        yield name, figure


def stem(label: str) -> str:
    """Return a label as a part of a file name."""
    text = re.sub(r"[^\w.=+-]+", "-", label.replace(f" ({ALL_REDUCE})", "")).strip("-")
    return text[:LONGEST].strip("-")


def distinct(stems: list[str]) -> list[str]:
    """Return the stems; those that occur several times, in letters of either case, get a number, so
    that each figure has a file of its own."""
    found: list[str] = []
    for name in stems:
        taken, candidate, count = {one.casefold() for one in found}, name, 1
        while candidate.casefold() in taken:
            count += 1
            candidate = f"{name}-{count}"
        found.append(candidate)
    return found


def drawing_settings(page: Page = ANYWHERE):
    """Return a context manager that sets Matplotlib's settings for figures of this page."""
    return page_layout.on(page, style.SETTINGS)


def save(figure: Figure, target, form: str, dpi: int = 150, page: Page = ANYWHERE,
         text_as_text: bool = False):
    """Write a figure to a path or stream, without dates: the same runs give the same file.
    `text_as_text`: an SVG contains its text as text in place of outlines, which makes it small."""
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)
    with drawing_settings(page):
        if text_as_text:
            matplotlib.rcParams["svg.fonttype"] = "none"
        figure.savefig(target, format=form, dpi=dpi, metadata=metadata)
