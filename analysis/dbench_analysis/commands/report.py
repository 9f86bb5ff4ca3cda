"""`dbench-analyze report`: everything about one run, or several runs side by side, on one page."""

import sys
import time
from pathlib import Path

from ..basics.errors import AnalysisError
from ..basics.formatting import counted
from ..basics.paths import replace_file
from ..pages.report import document
from ..selection.opening import open_runs
from . import page_options

SECONDS = 10.0  # between two pages of --watch

HELP = "one self-contained HTML page for one run or many"
EXAMPLES = """examples:
  dbench-analyze report results/ring.h5 -o ring.html
  dbench-analyze report results/ -o all.html --title "Five implementations, n = 16"
  dbench-analyze report results/ -o live.html --watch        until no run is running
The page of several runs has a table to filter and sort, and curves: choose what they show, group
them, zoom, compare the specs of two runs. The page loads nothing from anywhere.
"""


def declare(parser):
    parser.add_argument("-o", "--output", required=True, type=page_options.target, metavar="FILE",
                        help="the page to write (.html)")
    parser.add_argument("--title", help="heading of the page (default: the runs' names)")


    parser.add_argument("--watch", nargs="?", type=float, const=SECONDS, metavar="SECONDS",
                        help="write the page again every so many seconds while a run is running "
                             f"(default: {SECONDS:g}); an open page follows, and keeps its curves, "
                             "zoom and choices")


def run(arguments) -> int:
    target = Path(arguments.output)
    if target.is_dir():
        raise AnalysisError(target, "is a folder", "name the page, such as report.html")
    # If the user forgets -o's file name, the next word may be a result file: do not overwrite it.
    if target.suffix.lower() not in (".html", ".htm"):
        raise AnalysisError(target, "the page's name does not end in .html", "give -o FILE.html")
    if arguments.watch is not None and not arguments.watch >= 1:
        raise AnalysisError(f"--watch {arguments.watch:g}", "is too often",
                            "give 1 or more seconds")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        done = written(arguments, target)
        failures = 0
        while not done:
            time.sleep(arguments.watch)
            try:
                done = written(arguments, target)
                failures = 0
            except AnalysisError as error:
                failures += 1  # a run may be changing its file
                if failures == 2:
                    print(f"dbench-analyze: {error}; trying again", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("stopped watching: the page shows the last state; write it again without --watch for "
              "all figures")
    return 0


def written(arguments, target: Path) -> bool:
    """Write the page, and return whether it is final: nothing is watched, or no run is running."""
    runs = open_runs(arguments.runs, arguments.where)
    alive = [run for run in runs if run.is_growing]
    live = arguments.watch if alive and arguments.watch else 0
    page = document(runs, arguments.title, target.parent, live)
    replace_file(target, page)
    for run in runs:
        run.close()
    print(f"{target}: {len(alive)} of {counted(len(runs), 'run')} running" if live else target,
          flush=True)
    return not live
