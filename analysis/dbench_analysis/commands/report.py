"""`dbench-analyze report`: everything about one run, or several runs side by side, on one page."""

from pathlib import Path

from ..basics.errors import AnalysisError
from ..pages.report import document
from ..selection.opening import open_runs

HELP = "one self-contained HTML page for one run or many"
EXAMPLES = """examples:
  dbench-analyze report results/ring.h5 -o ring.html
  dbench-analyze report results/ -o all.html --title "Five implementations, n = 16"
The page of several runs has a table to filter and sort, and curves that show their values under the
pointer. The page loads nothing from anywhere.
"""


def declare(parser):
    parser.add_argument("-o", "--output", required=True, metavar="FILE",
                        help="the page to write (.html)")
    parser.add_argument("--title", help="heading of the page (default: the runs' names)")


def run(arguments) -> int:
    target = Path(arguments.output)
    if target.is_dir():
        raise AnalysisError(target, "is a folder", "name the page, such as report.html")
    # If the user forgets -o's file name, the next word may be a result file: do not overwrite it.
    if target.suffix.lower() not in (".html", ".htm"):
        raise AnalysisError(target, "the page's name does not end in .html", "give -o FILE.html")
    runs = open_runs(arguments.runs, arguments.where)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(document(runs, arguments.title), encoding="utf-8")
    print(target)
    return 0
