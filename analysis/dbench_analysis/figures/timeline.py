"""The timeline of traced iterations: a panel for each run, a lane for each thread of each rank."""

from dataclasses import dataclass
from functools import cached_property

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..basics.formatting import seconds
from ..naming import names
from ..quantities import timeline
from ..reading.run import Run
from ..reading.trace import PROGRAM, Span, Trace
from . import page_layout

COLOURS = {"forward": "#56B4E9", "backward": "#0072B2", "update": "#009E73", "exchange": "#D55E00",
           "wait": "#CFCFCF", "load": "#E69F00", "record": "#CC79A7", "measure": "#6A3D9A",
           "evaluate": "#8C6D1F"}
OF_KIND = {"compute": "#0072B2", "exchange": "#D55E00", "wait": "#CFCFCF", "data": "#E69F00"}
OTHER = "#7F7F7F"
INK = "#222222"
THICK, THIN = 0.72, 0.2  # heights of lanes: the program's thread, other threads
ARROWS = 300  # most messages of a panel that are drawn
UNITS = ((2e6, 1e-6, "s"), (2e3, 1e-3, "ms"), (0.0, 1.0, "us"))


@dataclass(frozen=True)
class Panel:
    """The timeline of one run, and its title."""

    trace: Trace
    title: str

    @cached_property
    def spans(self) -> list[Span]:
        """Return the spans that are drawn."""
        return timeline.drawn(self.trace)

    def lanes(self) -> dict[tuple[int, int], tuple[float, float]]:
        """Return {(rank, thread): (middle, height)}; rank by rank from 0 down."""
        threads = sorted({(span.rank, span.thread) for span in self.spans}
                         | {end for message in self.trace.messages
                            for end in (message.sender, message.receiver)}
                         | {(rank, PROGRAM) for rank in self.trace.ranks})
        places, row = {}, {rank: i for i, rank in enumerate(self.trace.ranks)}
        for rank, thread in threads:
            place = float(row[rank])
            places[rank, thread] = ((place, THICK) if thread == PROGRAM
                                    else (place + (THICK + THIN) / 2, THIN))
        return places

    def arrows(self) -> bool:
        """Return whether the messages are few enough to be drawn."""
        return len(self.trace.messages) <= ARROWS

    def numbers(self) -> dict[int, float]:
        """Return {iteration: its start on the first rank}, which numbers the iterations."""
        return timeline.starts(self.trace, self.trace.ranks[0]) if self.trace.ranks else {}


def colour(span: Span) -> str:
    """Return the colour of a span."""
    return COLOURS.get(span.name) or OF_KIND.get(span.kind, OTHER)


def title(run: Run, trace: Trace) -> str:
    """Return a run's communication in words, and its time per iteration."""
    kind, spec = names.algorithm(run), run.spec.get("algorithm")
    parts = [f"{run.name}: {kind}"]
    if names.graph(run) != "none":
        parts.append(f"graph {names.graph_label(run)}")
    if isinstance(spec, dict) and spec.get("order"):
        parts.append(str(spec["order"]).replace("_", " "))
    elif kind == "dsgd":
        parts.append("adapt then combine")
    elif kind == "centralized":
        parts.append("all-reduce of gradients")
    return f"{', '.join(parts)}: {seconds(timeline.iteration_time(trace) / 1e6)} per iteration"


def length(panel: Panel) -> float:
    """Return the microseconds from the first span to the end of the last."""
    return max((span.end for span in panel.trace.spans), default=0.0) - timeline.beginning(
        panel.trace)


def unit(panels: list[Panel]) -> tuple[float, str]:
    """Return the factor from microseconds to the unit of the common time axis, and its name."""
    longest = max(map(length, panels), default=0.0)
    return next((factor, name) for least, factor, name in UNITS if longest >= least)


def used(panels: list[Panel]) -> dict[str, str]:
    """Return {name of a span: its colour} for the legend."""
    found = {span.name: colour(span) for panel in panels for span in panel.spans}
    order = [*COLOURS, *sorted(found)]
    return {name: found[name] for name in dict.fromkeys(order) if name in found}


def figure(panels: list[Panel]) -> Figure:
    """Draw the panels below each other with the same time axis. A message is an arrow, a black tick
    is the start of an iteration."""
    factor, name = unit(panels)
    ranks = [max(1, len(panel.trace.ranks)) for panel in panels]
    drawn, axes = page_layout.panels(
        len(panels), 1, 10.0, sum(0.9 + 0.34 * count for count in ranks) + 0.5,
        least=0.9 + 0.26 * max(ranks), sharex=True, height_ratios=[1.2 + n for n in ranks])
    for panel, axis in zip(panels, axes[:, 0]):
        draw(axis, panel, factor)
        letters = 0 if page_layout.has_page_width() else 105
        axis.set_title(panel.title if not letters else shortened(panel.title, letters))
    longest = max(map(length, panels))
    axes[-1, 0].set_xlim(0, 1.02 * longest * factor if longest else 1.0)
    axes[-1, 0].set_xlabel(f"time ({name})")
    handles: dict[str, object] = {word: Patch(color=shade) for word, shade in used(panels).items()}
    if any(panel.arrows() and panel.trace.messages for panel in panels):
        handles["message"] = Line2D([], [], color=INK, linewidth=0.8, marker=">", markersize=4)
    if any(panel.numbers() for panel in panels):
        handles["start of an iteration"] = Line2D([], [], color=INK, marker="|", markersize=9,
                                                  markeredgewidth=1.2, linestyle="none")
    if handles:
        page_layout.legend(drawn, handles)
    return drawn


def shortened(text: str, letters: int) -> str:
    """Return a title that is cut in its middle if it is longer."""
    return text if len(text) <= letters else f"{text[:letters - 30]} ... {text[-25:]}"


def draw(axis, panel: Panel, factor: float):
    """Draw one panel. Spans inside others are drawn on them."""
    lanes, zero = panel.lanes(), timeline.beginning(panel.trace)
    for depth, spans in enumerate(by_depth(panel.spans)):
        groups: dict[tuple[int, int, str], list[tuple[float, float]]] = {}
        for span in spans:
            groups.setdefault((span.rank, span.thread, colour(span)), []).append(
                ((span.start - zero) * factor, (span.end - span.start) * factor))
        for (rank, thread, shade), bars in groups.items():
            middle, height = lanes[rank, thread]
            axis.broken_barh(bars, (middle - height / 2, height), facecolors=shade, linewidth=0,
                             zorder=2 + 0.01 * depth)
    for rank in panel.trace.ranks:
        middle, height = lanes[rank, PROGRAM]
        began = [(at - zero) * factor for at in timeline.starts(panel.trace, rank).values()]
        axis.vlines(began, middle - height / 2 - 0.08, middle + height / 2, colors=INK,
                    linewidth=0.9, zorder=4)
    if panel.arrows():
        for message in panel.trace.messages:
            axis.annotate("", ((message.received - zero) * factor, lanes[message.receiver][0]),
                          ((message.sent - zero) * factor, lanes[message.sender][0]),
                          arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 0.5,
                                      "mutation_scale": 5, "shrinkA": 0, "shrinkB": 0}, zorder=5)
    axis.set_yticks(range(len(panel.trace.ranks)), [f"rank {r}" for r in panel.trace.ranks])
    axis.set_ylim(len(panel.trace.ranks) - 0.4, -1.0)
    axis.grid(axis="y", visible=False)
    axis.tick_params(axis="y", length=0)
    number(axis, {t: (at - zero) * factor for t, at in panel.numbers().items()},
           max((s.end - zero for s in panel.trace.spans), default=0.0) * factor)


def number(axis, began: dict[int, float], end: float):
    """Write the numbers of iterations above the first lane, as many as have space."""
    letters = page_layout.figure_width(10.0) * 0.8 / page_layout.LETTER
    space = end / max(1.0, letters) * (max((len(str(t)) for t in began), default=1) + 1)
    free = -space
    for t, at in sorted(began.items(), key=lambda pair: pair[1]):
        if at >= free and at + space <= max(end * 1.03, space):
            axis.text(at, -0.52, str(t), ha="left", va="bottom", color=INK,
                      fontsize=page_layout.font_size(8), zorder=6)
            free = at + space


def by_depth(spans: list[Span]) -> list[list[Span]]:
    """Return the spans by the number of spans of the same thread around them."""
    threads: dict[tuple[int, int], list[Span]] = {}
    for span in spans:
        threads.setdefault((span.rank, span.thread), []).append(span)
    found: list[list[Span]] = []
    for members in threads.values():
        for span, outer in zip(members, timeline.around(members)):
            found += [[] for _ in range(len(outer) + 1 - len(found))]
            found[len(outer)].append(span)
    return found
