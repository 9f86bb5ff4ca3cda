"""The trace of a run: spans of each rank and thread, messages between ranks, and their clocks.

Each rank writes RUN.trace-R.json next to RUN.h5, in Chrome's trace event format, one event a line.
A rank that was killed leaves its last line cut.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ..basics.errors import AnalysisError
from .files import regular

PROGRAM, PROGRESS = 0, 1  # numbers of a rank's threads: the program's and the progress thread
REMEDY = 'run it with "profile": {"trace": {"iterations": [a, b]}} in its spec'
TIMED = frozenset("Xsfi")  # kinds of events that have a time

Event = dict[str, Any]


@dataclass(frozen=True)
class Span:
    """A time in which a thread did one thing. Times are in microseconds on the clock of rank 0."""

    rank: int
    thread: int
    name: str  # forward, backward, update, exchange, wait, load, record, measure, evaluate
    kind: str  # compute, exchange, wait, data, record
    start: float
    end: float
    iteration: int | None
    details: dict[str, Any]  # where known: replica, bucket, peer, bytes


@dataclass(frozen=True)
class Message:
    """A message from (rank, thread) to (rank, thread), with its times in microseconds."""

    sender: tuple[int, int]
    sent: float
    receiver: tuple[int, int]
    received: float
    details: dict[str, Any]


@dataclass(frozen=True)
class Trace:
    """The events of a run's ranks, in the order of the files."""

    path: Path
    events: list[Event]
    expected: Collection[int]  # the ranks of which a trace should be there

    @cached_property
    def ranks(self) -> list[int]:
        """Return the ranks that have events."""
        return sorted({event["pid"] for event in self.events})

    @cached_property
    def spans(self) -> list[Span]:
        """Return all spans by their start; a span comes before the spans inside it."""
        found = [Span(e["pid"], e.get("tid", PROGRAM), e["name"], str(e.get("cat", "")), e["ts"],
                      e["ts"] + e["dur"], iteration_of(e), e.get("args", {}))
                 for e in self.events if e["ph"] == "X"]
        return sorted(found, key=lambda span: (span.start, -span.end))

    @cached_property
    def messages(self) -> list[Message]:
        """Return the messages of which both ends were recorded, by the time of sending."""
        return [Message((s["pid"], s.get("tid", PROGRAM)), s["ts"],
                        (f["pid"], f.get("tid", PROGRAM)), f["ts"],
                        {**s.get("args", {}), **f.get("args", {})})
                for s, f in flows(self.events)]

    @cached_property
    def iterations(self) -> list[int]:
        """Return the traced iterations."""
        return sorted({span.iteration for span in self.spans if span.iteration is not None})

    @cached_property
    def hosts(self) -> dict[int, str]:
        """Return the host of each rank, as the rank's process is named."""
        found = {}
        for event in self.metadata("process_name"):
            named = re.search(r"\((.*)\)", str(event.get("args", {}).get("name", "")))
            found[event["pid"]] = named[1] if named else ""
        return found

    @cached_property
    def uncertainties(self) -> dict[int, float]:
        """Return by how many microseconds the clock of each rank may be off after correction."""
        return {event["pid"]: float(stated) for event in self.metadata("clock")
                if is_finite(stated := event.get("args", {}).get("uncertainty_us"))}

    def metadata(self, name: str) -> Iterator[Event]:
        """Yield the metadata events of this name."""
        return (event for event in self.events if event["ph"] == "M" and event.get("name") == name)

    def part(self, iterations: range, ranks: Collection[int] | None = None) -> Trace:
        """Return the trace of these iterations and ranks. An event that names no iteration belongs
        to it if it begins between the first and the last span of the iterations on its rank."""
        kept = [e for e in self.events if ranks is None or e["pid"] in ranks]
        ends: dict[int, tuple[float, float]] = {}
        for e in kept:
            if e["ph"] == "X" and iteration_of(e) in iterations:
                low, high = ends.get(e["pid"], (math.inf, -math.inf))
                ends[e["pid"]] = min(low, e["ts"]), max(high, e["ts"] + e["dur"])

        def belongs(e: Event) -> bool:
            if e["ph"] not in TIMED:
                return True
            if iteration_of(e) is not None:
                return iteration_of(e) in iterations
            low, high = ends.get(e["pid"], (math.inf, -math.inf))
            return low <= e["ts"] <= high

        paired = {id(e) for s, f in flows(kept) if belongs(s) and belongs(f) for e in (s, f)}
        expected = [rank for rank in self.expected if ranks is None or rank in ranks]
        return replace(self, expected=expected, events=[e for e in kept if (
            id(e) in paired if e["ph"] in "sf" else belongs(e))])


def iteration_of(event: Event) -> int | None:
    """Return the iteration that an event names."""
    return event.get("args", {}).get("iteration")


def flows(events: list[Event]) -> list[tuple[Event, Event]]:
    """Return (start, end) of each flow of which both are there. If an id is used again, its n-th
    start belongs to its n-th end."""
    ends: dict[Any, tuple[list[Event], list[Event]]] = {}
    for event in events:
        if event["ph"] in "sf":
            ends.setdefault(event["id"], ([], []))[event["ph"] == "f"].append(event)
    pairs = [pair for starts, finals in ends.values()
             for pair in zip(sorted(starts, key=time_of), sorted(finals, key=time_of))]
    return sorted(pairs, key=lambda pair: pair[0]["ts"])


def time_of(event: Event) -> float:
    """Return the time of an event in microseconds."""
    return event["ts"]


def base(run: Path) -> str:
    """Return the name of a result file without .h5, with which the names of its traces begin. The
    program keeps every other ending."""
    return run.name.removesuffix(".h5")


def files(run: Path) -> dict[int, Path]:
    """Return the trace file of each rank of a result file."""
    form = re.compile(re.escape(base(run)) + r"\.trace-(\d+)\.json")
    found = ((form.fullmatch(file.name), file) for file in sorted(run.parent.iterdir()))
    return dict(sorted((int(match[1]), file) for match, file in found if match))


def read_trace(run: Path, ranks: int) -> Trace:
    """Return the trace of a result file whose run has this number of ranks."""
    there = files(run)
    if not there:
        raise AnalysisError(run, f"has no trace: there is no {base(run)}.trace-0.json next to it",
                            REMEDY)
    events = [event for rank, file in there.items() for event in events_of(file, rank)]
    found = Trace(run, events, range(ranks))
    if not found.iterations:
        raise AnalysisError(run, "its trace has no iteration", "did the run reach the iterations "
                            "that its spec traces?")
    return found


def events_of(file: Path, rank: int) -> list[Event]:
    """Return the events of the trace file of a rank, without a last line that was cut."""
    with regular(file, "a trace") as stream:
        head, *lines = stream.read().decode("utf-8", errors="replace").rstrip("\0").split("\n")
    if head.strip() not in ("", "[") or (not head.strip() and any(map(str.strip, lines))):
        raise at_fault(file, 1, "a trace begins with a line [")
    found = []
    for number, line in enumerate(lines, 2):
        words = line.strip().removesuffix(",")
        if words in ("", "]"):
            continue
        try:
            event = json.loads(words)
        except (ValueError, RecursionError) as error:
            if number == len(lines) + 1:  # it does not end with a new line: the rank was killed
                break
            raise at_fault(file, number, f"not an event: {error}") from error
        if reason := wrong(event, rank):
            raise at_fault(file, number, reason)
        found.append(event)
    return found


def at_fault(file: Path, line: int, reason: str) -> AnalysisError:
    """Return the error for a damaged line of a trace."""
    return AnalysisError(f"{file}, line {line}", reason, "is this the file that the run wrote?")


def wrong(event: Any, rank: int) -> str:
    """Return why this is no event of a rank; "" if it is one."""
    if not isinstance(event, dict) or not isinstance(event.get("ph"), str) or len(event["ph"]) != 1:
        return "not an event, which is an object with one letter as ph"
    if event.get("pid") != rank:
        return f"an event of rank {event.get('pid')} in the trace of rank {rank}"
    if not isinstance(event.get("args", {}), dict):
        return "args is not an object"
    if event.get("tid", PROGRAM) not in range(1000):
        return "tid is not the number of a thread"
    if event["ph"] in TIMED and not is_finite(event.get("ts")):
        return "ts is not a number"
    if event["ph"] == "X" and not (is_finite(event.get("dur")) and event["dur"] >= 0):
        return "dur is not a number from 0 up"
    if event["ph"] == "X" and not isinstance(event.get("name"), str):
        return "a span without a name"
    if event["ph"] in "sf" and not isinstance(event.get("id"), (int, str)):
        return "a message without an id"
    iteration = iteration_of(event)
    if iteration is not None and (not isinstance(iteration, int) or iteration < 0):
        return "iteration is not a whole number from 0 up"
    return ""


def is_finite(value: Any) -> bool:
    """Return whether a JSON value is a finite number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
