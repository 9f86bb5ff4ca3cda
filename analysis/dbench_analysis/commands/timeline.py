"""`dbench-analyze timeline`: the traced iterations of runs as a figure, a page or one trace."""

import argparse
import re
from pathlib import Path

from ..basics.errors import AnalysisError
from ..basics.formatting import aligned
from ..figures import timeline
from ..figures.drawing import drawing_settings, save
from ..figures.page_layout import Page, finish
from ..pages import timeline as page
from ..quantities.merged_trace import as_json, merged
from ..reading.trace import Trace, read_trace
from ..selection.opening import open_runs
from ..tables import timeline as tables
from . import page_options

HELP = "traced iterations of each rank: computing, updating, exchanging, waiting, and messages"
EXAMPLES = """examples:
  dbench-analyze timeline results/ring.h5                        shares of the time, as a table
  dbench-analyze timeline results/ring.h5 -o ring.html           a page to zoom in
  dbench-analyze timeline results/ring.h5 -o ring.json           one trace for ui.perfetto.dev
  dbench-analyze timeline all-reduce.h5 ring.h5 -o timeline.pdf --width 7in
  dbench-analyze timeline results/ring.h5 -o part.svg --iterations 20:22 --ranks 0-3,7
Runs are traced with "profile": {"trace": {"iterations": [20, 30]}} in their spec. Several runs are
drawn one below the other, the first on top, with the same time axis. A lane of the picture is a
rank: its wide part is the thread that computes, the narrow part below it the thread that moves
messages. A black tick is the start of an iteration, an arrow a message. Waiting while the program
records, measures or evaluates counts as recording.
"""
PICTURES = ("pdf", "png", "svg")
FORMATS = (*PICTURES, "html", "json")
MOST = 40_000  # spans of a page


def declare(parser):
    parser.add_argument("-o", "--output", type=page_options.target, metavar="FILE",
                        help="the figure (.pdf, .png, .svg), a page (.html), or one trace of all "
                             "ranks in Chrome's format (.json)")
    parser.add_argument("--iterations", type=span, metavar="A:B",
                        help="only the iterations from A to B - 1; an end may be left out")
    parser.add_argument("--ranks", type=ranks, metavar="LIST",
                        help="only these ranks, such as 0,2,8-11")
    parser.add_argument("--width", type=page_options.inches, metavar="LENGTH",
                        help="width of the figure on the page, such as 3.3in, 84mm or 8.4cm: text "
                             "has 8 points")
    parser.add_argument("--dpi", type=int, default=150,
                        help="resolution of PNG pictures (default: 150)")


def span(text: str) -> range:
    """Return the iterations that A:B means."""
    found = re.fullmatch(r"(\d{0,15}):(\d{0,15})", text)
    chosen = range(int(found[1] or 0), int(found[2] or 10**15)) if found else range(0)
    if not chosen:
        raise argparse.ArgumentTypeError(
            f"{text}: not A:B with whole numbers and A below B (such as 20:30)")
    return chosen


def ranks(text: str) -> list[int]:
    """Return the ranks of a list such as 0,2,8-11."""
    found: list[int] = []
    for part in text.split(","):
        ends = re.fullmatch(r"(\d{1,7})(?:-(\d{1,7}))?", part.strip())
        if not ends or int(ends[2] or ends[1]) < int(ends[1]):
            raise argparse.ArgumentTypeError(f"{text}: not a list of ranks (such as 0,2,8-11)")
        found += range(int(ends[1]), int(ends[2] or ends[1]) + 1)
    return found


def run(arguments) -> int:
    if not 20 <= arguments.dpi <= 1200:
        raise AnalysisError(f"--dpi {arguments.dpi}", "out of range", "give 20 to 1200")
    target = Path(arguments.output) if arguments.output else None
    form = target.suffix.lower().removeprefix(".") if target else ""
    if target and form not in FORMATS:
        named = (target / "timeline.pdf" if target.is_dir() else
                 target.with_suffix(".pdf") if form else f"{target}.pdf")
        raise AnalysisError(f"-o {target}", "its name does not end in "
                            f"{', '.join('.' + f for f in FORMATS[:-1])} or .{FORMATS[-1]}",
                            f"give -o {named}")
    if target and re.search(r"\.trace-\d+\.json$", target.name):
        raise AnalysisError(f"-o {target}", "this is the name of one rank's trace",
                            "give another name, such as timeline.json")
    runs = open_runs(arguments.runs, arguments.where)
    traces = [read_trace(one.path, one.rank_count) for one in runs]
    refuse_unknown_ranks(traces, arguments.ranks or [])
    panels = []
    for one, whole in zip(runs, traces):
        trace = chosen(whole, arguments)
        panels.append(timeline.Panel(trace, timeline.title(one, trace)))
    for panel in panels:
        print(panel.title, aligned(tables.shares(panel.trace)), *tables.remarks(panel.trace), "",
              sep="\n")
    if target:
        write(panels, [one.name for one in runs], target, form, arguments)
        print(target)
    return 0


def refuse_unknown_ranks(traces: list[Trace], wanted: list[int]):
    """Refuse ranks that no run has."""
    known = set().union(*(trace.ranks for trace in traces), *(trace.expected for trace in traces))
    unknown = sorted(set(wanted) - known)
    if unknown:
        raise AnalysisError("--ranks", f"no run has rank {unknown[0]}",
                            f"choose from {min(known)} to {max(known)}")


def chosen(trace: Trace, arguments) -> Trace:
    """Return the iterations and ranks of a trace that the options choose."""
    if arguments.iterations is None and arguments.ranks is None:
        return trace
    there, known = trace.iterations, trace.ranks
    if arguments.ranks is not None and not set(arguments.ranks) & set(known):
        raise AnalysisError("--ranks", f"{trace.path} has a trace of none of these ranks",
                            f"choose from {known[0]} to {known[-1]}")
    found = trace.part(arguments.iterations or range(10**15), arguments.ranks)
    if not found.iterations:
        raise AnalysisError("--iterations", f"{trace.path} has a trace of none of these iterations",
                            f"choose from {there[0]} to {there[-1]}")
    return found


def write(panels: list[timeline.Panel], names: list[str], target: Path, form: str, arguments):
    """Write the file that --output names."""
    spans = sum(len(panel.trace.spans) for panel in panels)
    if form == "html" and spans > MOST:
        raise AnalysisError(f"-o {target}", f"{spans:,} spans are too many for a page, which "
                            f"shows {MOST:,}", "choose some with --iterations or --ranks, or "
                            "write a .json for ui.perfetto.dev")
    target.parent.mkdir(parents=True, exist_ok=True)
    if form == "json":
        events = merged([panel.trace for panel in panels], names)
        target.write_text(as_json(events), encoding="utf-8")
    elif form == "html":
        target.write_text(page.page(panels), encoding="utf-8")
    else:
        shape = Page(arguments.width)
        with drawing_settings(shape):
            figure = timeline.figure(panels)
            finish(figure)
        save(figure, target, form, arguments.dpi, shape)
        for panel in panels:
            if not panel.arrows():
                print(f"note: {len(panel.trace.messages)} messages are too many for arrows, of "
                      f"which a panel shows {timeline.ARROWS}: {panel.title} (choose some with "
                      "--iterations or --ranks)")
