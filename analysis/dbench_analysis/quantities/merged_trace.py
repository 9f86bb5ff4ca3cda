"""The traces of several runs as one Chrome trace."""

import json
from typing import Any

from ..reading.trace import Event, Trace, flows
from .timeline import beginning


def merged(traces: list[Trace], titles: list[str]) -> list[Event]:
    """Return the events of all traces: metadata first, then the others by their time.

    Each run has its own processes: the k-th run's ranks begin at k times a power of ten. Runs after
    the first are moved in time, so that all begin together. Messages are numbered anew.
    """
    stride = 10
    while stride <= max((rank for trace in traces for rank in trace.ranks), default=0):
        stride *= 10
    heads: list[Event] = []
    timed: list[Event] = []
    number = 0
    for k, (trace, title) in enumerate(zip(traces, titles)):
        shift = beginning(traces[0]) - beginning(trace)
        ids: dict[int, int] = {}
        for pair in flows(trace.events):
            number += 1
            ids |= dict.fromkeys(map(id, pair), number)
        for event in trace.events:
            moved: dict[str, Any] = {**event, "pid": k * stride + event["pid"]}
            if event["ph"] == "M":
                moved.pop("ts", None)
                if len(traces) > 1 and event.get("name") == "process_name":
                    name = event.get("args", {}).get("name", f"rank {event['pid']}")
                    moved["args"] = {"name": f"{title}: {name}"}
                if event.get("name") == "process_sort_index":
                    moved["args"] = {"sort_index": moved["pid"]}
                heads.append(moved)
                continue
            if "ts" not in event or event["ph"] in "sf" and id(event) not in ids:
                continue
            moved["ts"] = round(event["ts"] + shift, 3)
            if id(event) in ids:
                moved["id"] = ids[id(event)]
            timed.append(moved)
    return heads + sorted(timed, key=lambda e: (e["ts"], -e.get("dur", 0.0), e["ph"] == "f"))


def as_json(events: list[Event]) -> str:
    """Return events as a file in Chrome's trace format, one event a line."""
    lines = ",\n".join(json.dumps(event, separators=(",", ":")) for event in events)
    return f'{{"displayTimeUnit": "ms", "traceEvents": [\n{lines}\n]}}\n'
