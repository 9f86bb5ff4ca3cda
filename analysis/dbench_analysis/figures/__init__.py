"""The figures: one table of kinds, from which `plot`, `report` and the documentation come."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from matplotlib.figure import Figure

from ..errors import reading
from ..names import ALL_REDUCE
from ..run import Run
from . import (
    accuracy,
    across,
    adaptation,
    communication,
    convergence,
    early,
    paper,
    ranks,
    spread,
    style,
    tells,
    tensors,
    timing,
    variance_accuracy,
)
from .paper import ANYWHERE, Page


@dataclass(frozen=True)
class Kind:
    """A figure: how it is called, headed, read and drawn (from all runs, or, `each`, a picture for
    each setting).

    `words` says what `plot` prints beside it; `many`: it stays readable, and quick to draw, of
    hundreds of runs; `seeds`: it draws single runs if asked to; `rows`: a table of `collect` is
    enough for it, without result files; `tells`: whether it says something of given runs.
    """

    name: str
    title: str
    reading: str
    draw: Callable[..., Figure]
    each: bool = False
    words: Callable[..., str] | None = None
    many: bool = False
    seeds: bool = True
    rows: bool = False
    tells: Callable[[list[Run]], bool] = tells.always


KINDS = {
    kind.name: kind
    for kind in (
        Kind("variance-accuracy", "Variance versus accuracy",
             "Each setting moves through training from its small points to its open marker. "
             "Further left means that the replicas agree more, higher means that they are more "
             "accurate; with several settings the second panel sets the variance of the first "
             "tenth of the iterations against the final accuracy.", variance_accuracy.figure,
             tells=tells.spread, many=True, rows=True),
        Kind("accuracy", "Accuracy and loss",
             "Lines are the median of the evaluated local models, bands run from the worst to the "
             "best of them, open markers are the model with the averaged parameters. A wide band, "
             "or markers far above the line, means that the replicas differ.",
             accuracy.evaluated,
             tells=tells.evaluated),
        Kind("training", "Training accuracy and loss",
             "The replicas' minibatches, at the point where the gradient is taken: median and "
             "range over the replicas.",
             accuracy.training),
        Kind("consensus", "Consensus distance and variance",
             "How far the replicas are from their mean just before averaging: the root mean square "
             "distance in parameter space, and the same squared per parameter. Exactly zero if "
             "all replicas are identical.",
             spread.consensus,
             tells=tells.spread),
        Kind("dispersion", "Dispersion of the parameter norms",
             "Four measures of how unequal the replicas' tensor norms are just before averaging: "
             "the median over the weight tensors, the band from quartile to quartile. Zero means "
             "equal norms.",
             spread.aggregated,
             tells=tells.norms),
        Kind("tensors", "Dispersion tensor by tensor",
             "Rows are parameter tensors from input to output, colour is the measure: bright rows "
             "are the layers in which the replicas differ most. Grey is "
             "zero.", tensors.heat_maps, each=True, seeds=False,
             tells=tells.tensors),
        Kind("communication", "Communication",
             "How many neighbours a replica sends to in each iteration, and what accuracy was "
             "reached for the bytes sent.",
             communication.cost,
             tells=tells.communications),
        Kind("adaptation", "Graphs that change",
             "What a controller of the graph sets (neighbours), what it may look at (dispersion of "
             "the norms, consensus distance) and the result, over the same epochs. Static "
             "graphs are flat lines in the first panel.",
             adaptation.figure,
             tells=tells.changes),
        Kind("convergence", "Convergence",
             "How fast the model with the averaged parameters learns. The band goes from the "
             "lowest seed to the highest.", convergence.figure,
             tells=tells.several, many=True),
        Kind("early", "Early spread and final accuracy",
             "Each setting is a point: how far the replicas lie apart in the first part of the "
             "run, and its final accuracy. The rank correlations are printed above, with and "
             "without C_complete, whose replicas are always identical.", early.figure,
             words=early.words, many=True,
             tells=tells.points),
        Kind("connections", "Accuracy against connections",
             "Final accuracy against the mean number of neighbours. Filled: median of the local "
             "models, bar from worst to best; open: the mean model, bar: standard deviation over "
             "seeds.", across.connections, many=True, rows=True,
             tells=tells.communications),
        Kind("scale", "Accuracy against scale",
             "Final accuracy against the number of replicas. Solid lines and filled markers join "
             "runs with the same batch per replica, dashed lines and open markers those with the "
             "same batch of all replicas. Markers are means, bars go "
             "from the lowest run to the highest.", across.scale, many=True, rows=True,
             tells=tells.sizes),
        Kind("ranks", "Ranks of the implementations",
             "In every group of runs that are alike but for algorithm and graph, the "
             "implementations are ranked by how unequal the replicas' norms are (1: least) and by "
             "final accuracy (1: best). Marks are mean ranks over the groups, bars their standard "
             "deviation. Marks along the line mean that less dispersion and more accuracy go "
             "together.", ranks.figure,
             words=ranks.words, many=True, seeds=False,
             tells=tells.communications),
        Kind("timing", "Where the time goes",
             "Mean time of an iteration by part. Exchange is only what was not hidden behind "
             "computation; profiling is not part of "
             "the step.", timing.breakdown),
    )
}


def drawn(kind: Kind, runs: list[Run], each: bool = False, page: Page = ANYWHERE,
          **how) -> Iterator[tuple[str, Figure]]:
    """(name, figure) of a kind: one of all runs, or one for each setting. Runs that differ in
    nothing but the seed are drawn as one, unless `each`."""
    if kind.seeds:
        how["each"] = each
    with look(page):
        groups = ([(kind.name, (runs,))] if not kind.each else
                  [(f"{kind.name}-{stem(setting.look.label)}", (setting.runs, setting.look.label))
                   for setting in style.settings(runs, each)])
    for name, arguments in groups:
        files = ", ".join(str(run.path) for run in runs)
        with look(page), reading(files, f"what the figure {name} is made from"):
            figure = kind.draw(*arguments, **how)
            paper.finish(figure)
        yield name, figure


def stem(label: str) -> str:
    """A label as part of a file name."""
    return re.sub(r"[^\w.=+-]+", "-", label.replace(f" ({ALL_REDUCE})", "")).strip("-")


def look(page: Page = ANYWHERE):
    """The settings under which figures are drawn."""
    return paper.on(page, style.SETTINGS)


def save(figure: Figure, target, form: str, dpi: int = 150, page: Page = ANYWHERE):
    """Writes a figure to a path or stream; without dates, so that the same run gives the same
    file."""
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)
    with look(page):
        figure.savefig(target, format=form, dpi=dpi, metadata=metadata)
