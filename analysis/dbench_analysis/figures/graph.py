"""Draws a communication graph: links, matrix, spectrum and disagreement; or the disagreement of
several graphs."""

import itertools
import textwrap
from collections.abc import Iterator
from typing import Protocol

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, FancyArrowPatch
from matplotlib.ticker import MaxNLocator

from ..basics.formatting import counted, number
from ..graphs.graph import KEPT, Graph, comparing
from ..graphs.matrices import disagreement, eigenvalues, links, product, symmetric
from . import style

LABELLED = 64  # replicas, above which they are not numbered
DRAWN_ROUNDS = 10
DRAWN_LINKS = 30_000
PIXELS = 256
ROUNDS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9",
          "#6A3D9A", "#8C6D1F", "#7F7F7F", "#000000")
MATRIX = "viridis_r"
GREY = "#555555"
FOLD = 30  # characters in a line of a title on a page, above a square panel


def portrait(graph: Graph, rounds: int | None = None):
    """Draw everything about one graph."""
    width = style.figure_width(11.0)
    rows, columns = (4, 1) if width < 7 else (2, 2)
    figure = Figure(figsize=(width, width / columns * rows * 0.87))
    pad = 0.04 if style.has_page_width() else 0.12
    figure.set_layout_engine("constrained", w_pad=pad, h_pad=pad, wspace=0.04, hspace=0.04)
    first, second, third, fourth = figure.add_gridspec(rows, columns)
    curve = disagreement(graph.matrices(rounds or graph.horizon), graph.n)
    drawing(figure.add_subplot(first), graph)
    weights(figure, second, graph)
    spectrum(figure.add_subplot(third), graph)
    mixing(figure.add_subplot(fourth), graph, curve)
    figure.suptitle(heading(graph), fontsize=style.font_size(11))
    return figure


def heading(graph: Graph) -> str:
    """Return the name of the graph, and its certificate in short."""
    c = graph.certificate
    facts = [f"rho {number(c['rho'])}"]
    if graph.period is None:
        facts += ["random sequence", f"expected rho {number(c['rho_expected'])}"]
    elif graph.static:
        facts += ["period 1 (static)"]
    else:
        facts += [f"period {graph.period}", f"rho over a period {number(c['rho_period'])}"]
    exact = c["finite_time"]
    facts += [f"exact after {counted(exact, 'round')}" if exact is not None else "no finite time"]
    parameters = "".join(f", {key} = {value}" for key, value in graph.keys.items())
    name = style.renamed(graph.label)
    name = f"{graph.type}{parameters}" if name == graph.label else name
    return f"{name}, n = {graph.n}\n" + " · ".join(facts)


class Links(Protocol):
    """A graph of which the links can be drawn."""

    @property
    def n(self) -> int: ...

    @property
    def period(self) -> int | None:
        """Return after how many rounds the graph repeats; None if it does not."""

    def matrices(self, count: int) -> Iterator[np.ndarray]:
        """Yield the matrices of the first rounds."""
        ...


def rounds_shown(graph: Links, most: int) -> int:
    """Return how many rounds are shown, at most `most`."""
    return min(graph.period or most, most)


def drawing(axis, graph: Links):
    """Draw replicas on a circle and links in the colours of their first rounds: arrows in one
    direction, lines in both directions."""
    angle = np.pi / 2 - 2 * np.pi * np.arange(graph.n) / graph.n
    place = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    small = graph.n <= LABELLED
    radius = min(0.065, 2.1 / graph.n) if small else 0.0
    shown = rounds_shown(graph, DRAWN_ROUNDS)
    seen: set[tuple] = set()
    handles, arrows, omitted = [], False, 0
    for time, w in enumerate(graph.matrices(shown)):
        one_way, both = (unseen(pairs, seen) for pairs in links(w))
        colour = GREY if shown == 1 else ROUNDS[time]
        one_way, both, left_out = thinned(one_way, both, DRAWN_LINKS // shown)
        omitted += left_out
        arrows |= bool(len(one_way))
        width, alpha = stroke(len(one_way) + len(both))
        lines = both if small else np.concatenate([one_way, both])
        axis.add_collection(LineCollection(place[lines], colors=colour, linewidths=width,
                                           alpha=alpha,
                                           rasterized=len(lines) > 5000))
        for source, to in one_way if small else ():
            axis.add_patch(arrow(place[source], place[to], radius, colour, width, alpha,
                                 bent=shown > 1))
        if len(one_way) + len(both):
            handles.append(Line2D([], [], color=colour, linewidth=2, label=f"round {time}"))
    if small:
        away = 1.0 if graph.n <= 32 else 1.09
        for replica, (x, y) in enumerate(place):
            axis.add_patch(Circle((x, y), radius, facecolor="white", edgecolor="#333333", zorder=3))
            if graph.n <= 32 or not style.has_page_width():
                axis.text(away * x, away * y, str(replica), ha="center", va="center",
                          fontsize=style.font_size(7.5 if graph.n <= 24 else 6), zorder=4)
    else:
        axis.plot(*place.T, linewidth=0, marker="o", markersize=max(1.0, 160 / graph.n),
                  color="#333333")
    if shown > 1:
        place_legend(axis, 2, handles=handles, handlelength=1.4)
    axis.set(xlim=(-1.18, 1.18), ylim=(-1.18, 1.18), aspect="equal", xticks=[], yticks=[])
    axis.spines[:].set_visible(False)
    axis.grid(False)
    axis.set_title("\n".join(["links", *remarks(graph, shown, arrows and small, omitted)]))


def remarks(graph: Links, shown: int, arrows: bool, omitted: int) -> list[str]:
    """Return the lines under the title of the links."""
    lines = []
    if shown > 1:
        of = f" of {graph.period}" if graph.period and graph.period > shown else ""
        part = of or not graph.period
        lines.append(f"first {shown}{of} rounds" if part else f"all {shown} rounds of a period")
    lines += ["arrows one way, lines both ways"] * arrows + [f"{omitted:,} more not drawn"] * bool(
        omitted)
    return [style.wrapped(", ".join(lines), FOLD)] if lines else []


def unseen(pairs: np.ndarray, seen: set) -> np.ndarray:
    """Return the pairs that no earlier round had."""
    fresh = [pair for pair in map(tuple, pairs.tolist()) if pair not in seen]
    seen.update(fresh)
    return np.array(fresh, dtype=int).reshape(-1, 2)


def thinned(one_way, both, most: int):
    """Return a random selection of the links if there are too many to tell apart, and how many were
    left out."""
    total, generator = len(one_way) + len(both), np.random.default_rng(0)
    if total <= most:
        return one_way, both, 0
    kept = [pairs[generator.random(len(pairs)) < most / total] for pairs in (one_way, both)]
    return *kept, total - sum(map(len, kept))


def stroke(count: int) -> tuple[float, float]:
    """Return the width and opacity at which `count` lines remain readable."""
    steps = ((100, (1.3, 0.9)), (600, (0.8, 0.6)), (5000, (0.4, 0.35)))
    return next((look for most, look in steps if count <= most), (0.2, 0.12))


def arrow(start, end, radius: float, colour, width: float, alpha: float, bent: bool):
    """Return an arrow, which is bent if another round may have the opposite link."""
    along = (end - start) / np.linalg.norm(end - start) * radius
    head = 8 if width > 1 else 5
    return FancyArrowPatch(start + along, end - along, arrowstyle="-|>", mutation_scale=head,
                           shrinkA=0,
                           shrinkB=0, connectionstyle=f"arc3,rad={0.12 * bent}", color=colour,
                           linewidth=width, alpha=alpha, zorder=2)


def weights(figure, cell, graph: Graph):
    """Draw W of round 0; of a sequence the first rounds (one round on a page), and their mean."""
    if graph.static:
        pictures = [("weights W", graph.matrix())]
    else:
        count = rounds_shown(graph, 1 if style.has_page_width() else 3)
        pictures = [(f"W, round {time}", graph.matrix(time)) for time in range(count)]
        every = rounds_shown(graph, DRAWN_ROUNDS)
        mean = np.mean(list(graph.matrices(every)), axis=0)
        pictures.append(
            ("mean over a period" if every == graph.period else f"mean of {every} rounds", mean))
    shape = (1, 1) if graph.static else (1, 2) if style.has_page_width() else (2, 2)
    low, high = min(0.0, *(w.min() for _, w in pictures)), max(w.max() for _, w in pictures)
    cells, axes = cell.subgridspec(*shape), []
    for where, (title, w) in zip(itertools.product(*map(range, shape)), pictures):
        axes.append(figure.add_subplot(cells[where]))
        image = picture(axes[-1], w, low, high)
        block = block_side(len(w))
        note = (f", points are the largest of {block} x {block}" if block > 1
                and graph.static else "")
        axes[-1].set_title(style.wrapped(title + note, FOLD if graph.static else 12),
                           fontsize=style.font_size(10 if graph.static else 9))
        axes[-1].set_xlabel("of replica j" if graph.static else "")
        axes[-1].set_ylabel("used by replica i" if graph.static else "")
    figure.colorbar(image, ax=axes, shrink=0.85, aspect=30).outline.set_visible(False)


def block_side(n: int) -> int:
    """Return how many entries per side share a point of the picture."""
    return -(-n // PIXELS)


def picture(axis, w: np.ndarray, low: float, high: float):
    """Draw a matrix with white zeros. A point of a large matrix is the entry of largest modulus in
    its block, so that no link is lost."""
    n, block = len(w), block_side(len(w))
    padding = -n % block
    tiles = np.pad(w, (0, padding)).reshape((n + padding) // block, block, -1, block).swapaxes(1, 2)
    tiles = tiles.reshape(*tiles.shape[:2], -1)
    shown = np.take_along_axis(tiles, np.abs(tiles).argmax(axis=2)[..., None], axis=2)[..., 0]
    negative = low < -1e-12
    scale = {"cmap": "RdBu", "vmin": -max(-low, high), "vmax": max(-low, high)} if negative \
        else {"cmap": MATRIX, "vmin": 0, "vmax": high}
    edge = len(shown) * block - 0.5
    image = axis.imshow(np.ma.masked_equal(shown, 0), interpolation="nearest",
                        extent=(-0.5, edge, edge, -0.5), **scale)
    axis.set(xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5))
    axis.grid(False)
    axis.spines[:].set_visible(True)
    for scale in (axis.xaxis, axis.yaxis):
        scale.set_major_locator(MaxNLocator(5, integer=True))
    return image


def spectrum(axis, graph: Graph):
    """Draw the eigenvalues: moduli in order if W is symmetric, else points in the complex plane."""
    period = graph.period or 0
    whole = 1 < period <= KEPT
    w = product(graph.matrices(period), graph.n) if whole else graph.matrix()
    of = "W" if graph.static else "W, round 0"
    of = f"the product of the {graph.period} rounds of a period" if whole else of
    found = eigenvalues(w)
    size = 22 if graph.n <= 128 else 8
    bound = graph.certificate["rho_period" if whole else "rho"]
    if symmetric(w):
        sorted_moduli(axis, found.real, size)
        if bound and bound > 1e-12:
            axis.axhline(bound, color=GREY, linestyle="--", linewidth=1.0, zorder=1,
                         label=f"rho = {number(bound)}")
        axis.set_title(f"spectrum of {of}")
        axis.legend(loc="best")
        return
    turn = np.exp(1j * np.linspace(0, 2 * np.pi, 400))
    axis.plot(turn.real, turn.imag, color="#999999", linewidth=1.0, label="unit circle")
    if bound and bound > 1e-12:
        axis.plot(bound * turn.real, bound * turn.imag, color=GREY, linestyle="--", linewidth=1.0,
                  label=f"rho = {number(bound)}")
    axis.scatter(found.real, found.imag, s=size, color=ROUNDS[0], alpha=0.8, linewidths=0, zorder=3,
                 label="eigenvalue")
    axis.set(aspect="equal", xlim=(-1.08, 1.08), ylim=(-1.08, 1.08))
    axis.set(xlabel="real part", ylabel="imaginary part")
    axis.set_title(style.wrapped(f"spectrum of {of}", FOLD))
    place_legend(axis, 1)


def place_legend(axis, columns: int, **how):
    """Place the legend to the right of a panel, or on a page below it, in columns."""
    if style.has_page_width():
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22 if axis.get_xlabel() else 0.02),
                    ncols=columns, **how)
    else:
        axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), **how)


def sorted_moduli(axis, found: np.ndarray, size: float):
    """Draw the moduli of real eigenvalues in decreasing order."""
    moduli, negative = np.abs(found), found < 0
    moduli = np.where(moduli < 1e-12, 0.0, moduli)
    order = np.arange(1, len(found) + 1)
    for which, colour, marker, label in ((~negative, ROUNDS[0], "o", "eigenvalue"),
                                         (negative & (moduli > 0), ROUNDS[1], "D",
                                          "negative eigenvalue"),
                                         (negative & (moduli == 0), ROUNDS[0], "o", None)):
        if which.any():
            axis.scatter(order[which], moduli[which], s=size, color=colour, marker=marker,
                         linewidths=0,
                         label=label, zorder=3)
    axis.set(xlabel="rank", ylabel="modulus", ylim=(-0.03, 1.05 * max(1.0, moduli.max())))
    axis.xaxis.set_major_locator(MaxNLocator(6, integer=True))


def mixing(axis, graph: Graph, curve: np.ndarray):
    """Draw the disagreement from a random start, and the rate that the certificate gives."""
    axis.set_title("disagreement, from a random start")
    axis.set(xlabel="iteration", ylabel="‖x - mean‖ / ‖x$_0$ - mean‖")
    if graph.n == 1:
        style.empty_panel(axis, "one replica always agrees with itself")
        return
    scale = style.Logarithmic([curve])
    line(axis, scale, curve, color=ROUNDS[0], label="disagreement")
    rate = graph.rate
    if rate and 1e-12 < rate:
        certified = rate ** np.arange(len(curve))
        certified = np.where(certified > scale.floor, certified, np.nan)
        axis.plot(certified, color=GREY, linestyle="--", linewidth=1.1,
                  label=f"certificate: {number(rate)}$^t$")
    exact = graph.certificate["finite_time"]
    if exact is not None and exact < len(curve):
        axis.axvline(exact, color=ROUNDS[2], linestyle=":", linewidth=1.3,
                     label=f"exact after {counted(exact, 'round')}")
    scale.apply(axis, "y")
    axis.xaxis.set_major_locator(MaxNLocator(7, integer=True))
    axis.legend(loc="best")


def line(axis, scale, curve, **how):
    axis.plot(scale.place(curve), marker="." if len(curve) <= 60 else None, markersize=5, **how)


def comparison(graphs: list[Graph], rounds: int | None = None):
    """Draw the disagreement of several graphs over iterations, and below it, except on a page, a
    table of their numbers."""
    shared = min(100, max(graph.horizon for graph in graphs))
    curves = [disagreement(graph.matrices(rounds or shared), graph.n) for graph in graphs]
    if style.has_page_width():
        figure, ((axis,),) = style.panels(1, 1, 10.0, 5.4, least=2.4)
    else:
        figure = Figure(figsize=(10.0, 5.4 + 0.26 * len(graphs)), layout="constrained")
        axis, below = figure.subplots(2, 1, height_ratios=[4.6, 0.6 + 0.26 * len(graphs)])
    scale = style.Logarithmic(curves)
    free = itertools.cycle([c for c in style.OTHERS if c not in {fixed(g.type) for g in graphs}])
    seen: dict[str, int] = {}
    colours: dict[str, str] = {}
    for graph, curve in zip(graphs, curves):
        colour = colours.setdefault(graph.type, fixed(graph.type) or next(free))
        nth = seen[graph.type] = seen.get(graph.type, -1) + 1
        dash = style.DASHES[nth % len(style.DASHES)]
        line(axis, scale, curve, color=colour, linestyle=dash, label=style.renamed(graph.label))
    if not style.has_page_width():
        facts(below, graphs, colours)
    if graphs[0].n == 1:
        style.empty_panel(axis, "one replica always agrees with itself")
    else:
        scale.apply(axis, "y")
        axis.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        if style.has_page_width():
            style.legend(figure, [axis], len(graphs))
        else:
            place_legend(axis, 1)
    axis.set_title(f"disagreement from a random start, n = {graphs[0].n}")
    axis.set(xlabel="iteration", ylabel="‖x - mean‖ / ‖x$_0$ - mean‖")
    return figure


def fixed(kind: str) -> str | None:
    """Return the fixed colour of a graph type; None if it has none."""
    return style.FIXED.get(kind) or style.FIXED.get(f"D_{kind}")


def facts(axis, graphs: list[Graph], colours: dict[str, str]):
    """Draw the rows of `comparing` as a table in the figure."""
    heads, *rows = comparing(graphs)
    rows = [[style.renamed(name), *cells] for name, *cells in rows]
    axis.axis("off")
    widths = [0.30, *[0.7 / (len(heads) - 1)] * (len(heads) - 1)]
    heads = [textwrap.fill(head, 14) for head in heads]
    found = axis.table(rows, colLabels=heads, cellLoc="right", colWidths=widths, bbox=(0, 0, 1, 1))
    found.auto_set_font_size(False)
    found.set_fontsize(8.5)
    for (row, column), cell in found.get_celld().items():
        cell.visible_edges = "B" if row == 0 else ""
        cell.set_edgecolor("#666666")
        if column == 0:
            cell.set_text_props(ha="left", color=colours[graphs[row - 1].type] if row else "black")
        if row == 0:
            cell.set_height(1.6 * found[1, column].get_height())
            cell.set_text_props(weight="bold")
