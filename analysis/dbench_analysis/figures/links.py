"""The communication graphs of runs, as their result files recorded them: a panel for each."""

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..basics.formatting import number
from ..naming import differences, names
from ..quantities import fields
from ..reading.run import Run
from . import style
from .graph import drawing

MOST = 12  # graphs of a figure


@dataclass(frozen=True)
class Recorded:
    """The graph of a run, as `figures.graph` draws it."""

    run: Run

    @property
    def n(self) -> int:
        return self.run.replicas

    @property
    def period(self) -> int | None:
        """Return after how many rounds the graph repeats; None if it does not."""
        return self.run.certificate.get("period")

    def matrices(self, rounds: int) -> Iterator[np.ndarray]:
        """Yield the matrices of the first averagings, at most `rounds`."""
        rows = self.run.iterations["graph"][:]
        for row in (rows[rows >= 0] if len(rows) else np.zeros(1, dtype=int))[:rounds]:
            yield self.run.matrix(int(row))

    @property
    def label(self) -> str:
        return f"{names.graph_label(self.run)}, n = {self.n}"


def figure(runs: list[Run]):
    """Draw the links of each distinct graph of the runs."""
    found: dict[str, tuple[Recorded, dict[str, None]]] = {}
    for run, used_by in zip(runs, differences.communications(runs)):
        if len(run.graphs):
            graph = Recorded(run)
            found.setdefault(graph.label, (graph, {}))[1][style.renamed(used_by)] = None
    shown = list(found.values())[:MOST]
    columns = min(4, max(2, len(shown)))
    rows = max(1, -(-len(shown) // columns))
    picture, axes = style.panels(rows, columns, 2.9 * columns, 3.3 * rows, least=2.9)
    for axis, (graph, users) in zip(axes.flat, shown):
        drawing(axis, graph)
        _, *remarks = axis.get_title("left").split("\n")
        gap = 1 - fields.rho(graph.run)
        words = [", ".join(users), f"{graph.label}, gap {number(float(gap), 3)}"]
        axis.set_title("\n".join([*(textwrap.fill(line, 34) for line in words), *remarks]),
                       fontsize=style.font_size(9))
    for axis in list(axes.flat)[len(shown):]:
        axis.set_axis_off()
    if len(found) > len(shown):
        picture.supxlabel(f"and {len(found) - len(shown)} more graphs",
                          fontsize=style.font_size(8))
    return picture
