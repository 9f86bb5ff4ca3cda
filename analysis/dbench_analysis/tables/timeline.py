"""The shares of the time of traced iterations as rows of text, and remarks on the trace."""

from collections.abc import Iterator

from ..basics.formatting import counted, seconds
from ..quantities import timeline
from ..reading.trace import Trace

REST = "rest"
LARGE = 0.1  # share of recording above which a trace says little about training


def shares(trace: Trace) -> list[list[str]]:
    """Return a head and a row for each rank: the shares of what its program thread does, and the
    rank for which it waits most."""
    found = timeline.shares(trace)
    used = dict.fromkeys([*timeline.ACTIVITIES.values(),
                          *(name for one in found for name in one.parts)])
    hosts = trace.hosts if len(set(trace.hosts.values())) > 1 else {}
    rows = [["rank", *(["host"] if hosts else []), *used, REST, "waits most for"]]
    for one in found:
        longest = max(one.waited_for, key=lambda rank: (one.waited_for[rank], -rank), default=None)
        rows.append([f"rank {one.rank}", *([hosts.get(one.rank, "-")] if hosts else []),
                     *(share(one.share(name)) for name in used), share(one.rest),
                     "-" if longest is None else f"rank {longest}"])
    return rows


def share(value: float) -> str:
    """Return a share as per cent."""
    return f"{100 * value:.1f} %"


def remarks(trace: Trace) -> Iterator[str]:
    """Yield sentences: for which rank the others wait, which traces are missing, and which clocks
    cannot be trusted."""
    found = timeline.shares(trace)
    median = share(timeline.median_share(found, timeline.WAITING))
    slow = timeline.slowest(found)
    if slow:
        most = share(slow[-1].share(timeline.WAITING))
        ranks = ", ".join(str(one.rank) for one in slow)
        yield (f"Rank {ranks} waits {most} of its time, the median rank {median}: the others wait "
               f"for rank {ranks}." if len(slow) == 1 else
               f"Ranks {ranks} wait at most {most} of their time, the median rank {median}: the "
               "others wait for them.")
    recorded = timeline.median_share(found, timeline.RECORDING)
    if recorded > LARGE:
        yield (f"Recording, measuring and evaluating take {share(recorded)} of the time: "
               '"profile": {"norms": false, "variance": "off"} and fewer evaluations show training '
               "alone.")
    missing = [rank for rank in trace.expected if rank not in trace.ranks]
    if missing:
        yield (f"No iteration of {counted(len(missing), 'rank')} is shown: "
               f"{', '.join(map(str, missing))}. Is each trace file next to the result file?")
    if early := timeline.clock_faults(trace):
        (sender, receiver), by = max(early.items(), key=lambda item: item[1])
        yield (f"Messages from rank {sender} to rank {receiver} seem to arrive up to "
               f"{seconds(by / 1e6)} before they are sent, which is more than the uncertainty of "
               "the clocks: do not compare times of these ranks more finely.")
