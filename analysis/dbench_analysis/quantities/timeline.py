"""How the time of traced iterations divides on each rank, and for which rank the others wait."""

from dataclasses import dataclass

import numpy as np

from ..reading.trace import PROGRAM, Span, Trace

# what a thread does, by the kind of its span; an update is separated from other computing
ACTIVITIES = {"compute": "computing", "update": "updating", "exchange": "exchanging",
              "wait": "waiting", "data": "loading", "record": "recording"}
RECORD = "record"  # kind of a span
RECORDING, WAITING = ACTIVITIES[RECORD], ACTIVITIES["wait"]


@dataclass(frozen=True)
class Shares:
    """The time of a rank's program thread in microseconds, from its first span to its last: by
    activity, and by the rank that it waited for."""

    rank: int
    total: float
    parts: dict[str, float]
    waited_for: dict[int, float]

    def share(self, activity: str) -> float:
        """Return the share of an activity."""
        return self.parts.get(activity, 0.0) / self.total if self.total else 0.0

    @property
    def rest(self) -> float:
        """Return the share of the time in which no span was recorded."""
        return max(0.0, 1 - sum(self.parts.values()) / self.total) if self.total else 0.0


def of_thread(trace: Trace, rank: int, thread: int = PROGRAM) -> list[Span]:
    """Return the spans of a thread by their start, outer ones first."""
    return [span for span in trace.spans if (span.rank, span.thread) == (rank, thread)]


def around(spans: list[Span]) -> list[list[int]]:
    """Return for each span of one thread the indices of the spans around it, from the outermost
    in. The spans are ordered by their start, outer ones first."""
    found: list[list[int]] = []
    stack: list[int] = []
    for i, span in enumerate(spans):
        while stack and spans[stack[-1]].end <= span.start:
            stack.pop()
        found.append(list(stack))
        stack.append(i)
    return found


def own_times(spans: list[Span]) -> list[float]:
    """Return the time of each span of one thread without the spans inside it."""
    own = [span.end - span.start for span in spans]
    for span, outer in zip(spans, around(spans)):
        if outer:
            own[outer[-1]] -= min(span.end, spans[outer[-1]].end) - span.start
    return own


def activities(spans: list[Span]) -> list[str]:
    """Return what the thread does in each of its spans: a value of ACTIVITIES, or the kind if it is
    none. Whatever happens while the thread records, measures or evaluates belongs to that."""
    found = []
    for span, outer in zip(spans, around(spans)):
        kind = "update" if span.name == "update" else span.kind
        recorded = any(spans[i].kind == RECORD for i in outer)
        found.append(ACTIVITIES.get(RECORD if recorded else kind, kind))
    return found


def drawn(trace: Trace) -> list[Span]:
    """Return all spans but those inside a span of recording, which belong to it."""
    found = []
    for rank, thread in sorted({(span.rank, span.thread) for span in trace.spans}):
        spans = of_thread(trace, rank, thread)
        found += [span for span, outer in zip(spans, around(spans))
                  if not any(spans[i].kind == RECORD for i in outer)]
    return found


def shares(trace: Trace) -> list[Shares]:
    """Return the shares of each rank."""
    found = []
    for rank in trace.ranks:
        spans = of_thread(trace, rank)
        parts: dict[str, float] = {}
        peers: dict[int, float] = {}
        for span, what, own in zip(spans, activities(spans), own_times(spans)):
            parts[what] = parts.get(what, 0.0) + own
            if what == WAITING and isinstance(span.details.get("peer"), int):
                peers[span.details["peer"]] = peers.get(span.details["peer"], 0.0) + own
        total = max(s.end for s in spans) - spans[0].start if spans else 0.0
        found.append(Shares(rank, total, parts, peers))
    return found


def median_share(found: list[Shares], activity: str) -> float:
    """Return the share of an activity on the median rank."""
    return float(np.median([one.share(activity) for one in found])) if found else 0.0


def slowest(found: list[Shares]) -> list[Shares]:
    """Return the ranks for which the others wait, because they wait less than half as long as the
    median rank, the slowest first. None if the median rank waits less than a tenth of its time."""
    median = median_share(found, WAITING)
    slow = [one for one in found if one.share(WAITING) < median / 2]
    return sorted(slow, key=lambda one: one.share(WAITING)) if median >= 0.1 else []


def starts(trace: Trace, rank: int) -> dict[int, float]:
    """Return when the program thread of a rank began each iteration. An exchange does not count if
    there is another span, because it may begin at the end of the iteration before."""
    found: dict[int, float] = {}
    for span in sorted(of_thread(trace, rank), key=lambda s: s.kind in ("exchange", "wait")):
        if span.iteration is not None:
            found.setdefault(span.iteration, span.start)
    return found


def iteration_time(trace: Trace) -> float:
    """Return the median time in microseconds from the start of an iteration to that of the next,
    over iterations and ranks; of a single iteration, the median time of its spans over ranks."""
    times: list[float] = []
    for rank in trace.ranks:
        began = starts(trace, rank)
        times += [began[t + 1] - began[t] for t in began if t + 1 in began]
    for rank in () if times else trace.ranks:
        ends = [span.end for span in of_thread(trace, rank)]
        if began := starts(trace, rank):
            times.append(max(ends) - min(began.values()))
    return float(np.median(times)) if times else float("nan")


def beginning(trace: Trace) -> float:
    """Return the time of the first span."""
    return trace.spans[0].start if trace.spans else 0.0


def clock_faults(trace: Trace) -> dict[tuple[int, int], float]:
    """Return {(sender, receiver): microseconds} by which a message seems to arrive before it was
    sent, beyond the stated uncertainties of both clocks."""
    found: dict[tuple[int, int], float] = {}
    for message in trace.messages:
        pair = message.sender[0], message.receiver[0]
        known = sum(trace.uncertainties.get(rank, 0.0) for rank in pair)
        early = message.sent - message.received - known
        if early > 0:
            found[pair] = max(found.get(pair, 0.0), early)
    return found
