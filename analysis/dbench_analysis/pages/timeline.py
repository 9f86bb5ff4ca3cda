"""The page of a timeline: the figure of Plotly as plain values, and the shares of the time. The
library and the figure are part of the page, compressed, so it loads nothing."""

import json
from typing import Any

from ..basics.formatting import bytes_, seconds
from ..figures.timeline import ARROWS, INK, Panel, by_depth, colour, unit, used
from ..quantities import timeline
from ..reading.trace import PROGRAM, Message, Span
from ..tables import timeline as tables
from . import html
from .curves import library, packed

LANE, HEAD, FOOT = 34, 62, 110  # pixels: a rank, the space above a panel, axis and legend
NUMBERS = 60  # most iterations of a panel that are numbered
COLOURS_OF_PAGE = "page"  # marks what has the colour of the page's text

Values = dict[str, Any]


def figure(panels: list[Panel]) -> Values:
    """Return data and layout of a Plotly figure with a panel for each run, the first on top."""
    factor, name = unit(panels)
    heights = [HEAD + LANE * max(1, len(panel.trace.ranks)) for panel in panels]
    total, top, data = sum(heights) + FOOT, 0, []
    seen: set[str] = set()
    layout: Values = {
        "height": total, "barmode": "overlay", "bargap": 0, "hovermode": "closest",
        "margin": {"l": 70, "r": 15, "t": 5, "b": FOOT}, "annotations": [],
        "legend": {"orientation": "h", "y": -55 / sum(heights), "yanchor": "top"}}
    for k, (panel, height) in enumerate(zip(panels, heights)):
        axis = "" if k == 0 else str(k + 1)
        ends = [1 - (top + height) / sum(heights), 1 - (top + HEAD - 30) / sum(heights)]
        ranks = panel.trace.ranks
        layout[f"yaxis{axis}"] = {
            "domain": [max(0.0, ends[0]), ends[1]], "range": [len(ranks) - 0.4, -1.0],
            "tickvals": list(range(len(ranks))), "ticktext": [f"rank {rank}" for rank in ranks],
            "fixedrange": True, "showgrid": False, "zeroline": False, "anchor": f"x{axis}"}
        layout[f"xaxis{axis}"] = {"anchor": f"y{axis}", "zeroline": False,
                                  "showticklabels": k == len(panels) - 1,
                                  **({"matches": "x"} if k else {}),
                                  **({"title": {"text": f"time ({name})",
                                                "font": {"size": 13}, "standoff": 8}}
                                     if k == len(panels) - 1 else {})}
        layout["annotations"].append({
            "text": f"<b>{html.text(panel.title)}</b>", "xref": "paper", "yref": "paper", "x": 0,
            "y": ends[1], "xanchor": "left", "yanchor": "bottom", "showarrow": False})
        for trace in [*bars(panel, factor), *marks(panel, factor, arrows_at_first(panels))]:
            group = trace.get("legendgroup", "")
            data.append({**trace, "xaxis": f"x{axis}", "yaxis": f"y{axis}",
                         "showlegend": bool(group) and group not in seen})
            seen.add(group)
        top += height
    order = [*used(panels), "message", "start of an iteration"]
    for trace in data:
        trace["legendrank"] = order.index(trace["legendgroup"]) if trace["showlegend"] else 1000
    return {"data": data, "layout": layout}


def bars(panel: Panel, factor: float) -> list[Values]:
    """Return the spans as bars: those inside others come later, and are drawn on them."""
    lanes, zero = panel.lanes(), timeline.beginning(panel.trace)
    found = []
    for spans in by_depth(panel.spans):
        groups: dict[str, list[Span]] = {}
        for span in spans:
            groups.setdefault(span.name, []).append(span)
        for name, members in groups.items():
            places = [lanes[span.rank, span.thread] for span in members]
            found.append({
                "type": "bar", "orientation": "h", "name": html.text(name), "legendgroup": name,
                "base": [rounded((span.start - zero) * factor) for span in members],
                "x": [rounded((span.end - span.start) * factor) for span in members],
                "y": [middle for middle, _ in places], "width": [height for _, height in places],
                "marker": {"color": colour(members[0]), "line": {"width": 0}},
                "hovertext": [words(span) for span in members],
                "hovertemplate": "%{hovertext}<extra></extra>"})
    return found


def arrows_at_first(panels: list[Panel]) -> bool:
    """Return whether the page shows messages before the reader asks for them."""
    return sum(len(panel.trace.messages) for panel in panels) <= ARROWS


def marks(panel: Panel, factor: float, arrows_shown: bool) -> list[Values]:
    """Return starts of iterations, their numbers, and messages as arrows."""
    lanes, zero = panel.lanes(), timeline.beginning(panel.trace)
    line: Values = {"type": "scatter", "mode": "lines", "hoverinfo": "skip",
                    "meta": COLOURS_OF_PAGE}
    starts: Values = {"x": [], "y": []}
    for rank in panel.trace.ranks:
        middle, height = lanes[rank, PROGRAM]
        for at in timeline.starts(panel.trace, rank).values():
            starts["x"] += [rounded((at - zero) * factor)] * 2 + [None]
            starts["y"] += [middle - height / 2 - 0.08, middle + height / 2, None]
    numbers = sorted(panel.numbers().items())
    numbers = numbers[::-(-len(numbers) // NUMBERS) or 1]
    found = [
        {**line, **starts, "name": "start of an iteration",
         "legendgroup": "start of an iteration", "line": {"width": 1.5, "color": INK}},
        {**line, "mode": "text", "x": [rounded((at - zero) * factor) for _, at in numbers],
         "y": [-0.72] * len(numbers), "text": [str(t) for t, _ in numbers],
         "textposition": "middle right"}]
    if not panel.trace.messages:
        return found
    arrows: Values = {"x": [], "y": [], "hovertext": []}
    for message in panel.trace.messages:
        arrows["x"] += [rounded((message.sent - zero) * factor),
                        rounded((message.received - zero) * factor), None]
        arrows["y"] += [lanes[message.sender][0], lanes[message.receiver][0], None]
        arrows["hovertext"] += [of_message(message)] * 2 + [""]
    found.append({
        **line, **arrows, "mode": "lines+markers", "hoverinfo": "text", "name": "message",
        "legendgroup": "message", "line": {"width": 0.8, "color": INK},
        "marker": {"symbol": "arrow", "angleref": "previous", "color": INK,
                   "size": [0, 8, 0] * len(panel.trace.messages)},
        "visible": True if arrows_shown else "legendonly"})
    return found


def words(span: Span) -> str:
    """Return what the page says about a span under the mouse."""
    where = f"rank {span.rank}" + ", progress thread" * (span.thread != PROGRAM)
    at = "" if span.iteration is None else f", iteration {span.iteration}"
    return "<br>".join(filter(None, [
        f"<b>{html.text(span.name)}</b> {seconds((span.end - span.start) / 1e6)}", where + at,
        details(span.details, "for rank" if span.kind == "wait" else "peer: rank")]))


def of_message(message: Message) -> str:
    """Return what the page says about a message under the mouse."""
    took = seconds((message.received - message.sent) / 1e6)
    at = message.details.get("iteration")
    return "<br>".join(filter(None, [
        f"<b>message</b> {took}", f"from rank {message.sender[0]} to rank {message.receiver[0]}"
        + (f", iteration {at}" if at is not None else ""),
        details({k: v for k, v in message.details.items() if k != "peer"}, "")]))


def details(known: Values, peer: str) -> str:
    """Return replica, bucket, peer and bytes of an event in words, as far as they are known."""
    return ", ".join(f"{called} {bytes_(known[key]) if key == 'bytes' else known[key]}".strip()
                     for key, called in (("replica", "replica"), ("bucket", "bucket"),
                                         ("peer", peer), ("bytes", ""))
                     if isinstance(known.get(key), (int, float)))


def rounded(value: float) -> float:
    """Return a time with the digits that the page shows."""
    return round(value, 6)


def page(panels: list[Panel]) -> str:
    """Return the whole page."""
    content = json.dumps(figure(panels), separators=(",", ":"), allow_nan=False).encode()
    hidden = not arrows_at_first(panels)
    parts = [
        "<h1>Timeline of traced iterations</h1><p class=soft>A lane is a rank: its wide part is "
        "the thread that computes, the narrow part below it the thread that moves messages. Drag "
        "to zoom, double click to see everything. A click on an entry of the legend hides or "
        "shows it" + ("; the messages are hidden at first, because they are many" if hidden else "")
        + ".</p>",
        f"<style>\n{html.asset('timeline.css')}</style>",
        '<div class="scroll"><div id="timeline" role="img" aria-label="timeline of the ranks; the '
        'tables below have the shares of the time"></div></div>'
        '<p id="note" class="soft" role="status"></p><noscript><p class="warn">The timeline needs '
        "JavaScript. `dbench-analyze timeline RUN -o FILE.pdf` draws the same as a file.</p>"
        "</noscript>",
    ]
    for panel in panels:
        head, *rows = tables.shares(panel.trace)
        remarks = "".join(f"<p>{html.text(words)}</p>" for words in tables.remarks(panel.trace))
        parts.append(f"<h2>{html.text(panel.title)}</h2>{html.table(head, rows)}{remarks}")
    parts.append(f'<script type="text/plain" id="timeline-figure">{packed(content)}</script>'
                 f'<script type="text/plain" id="timeline-library">{library()}</script>'
                 f"<script>\n{html.asset('timeline.js')}</script>")
    return html.page("Timeline", "".join(parts))
