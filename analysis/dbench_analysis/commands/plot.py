"""`dbench-analyze plot`: figures as files."""

from pathlib import Path

from ..comparable import statement
from ..errors import AnalysisError
from ..row import Row
from ..run import Run
from ..schema import MEASURES
from ..select import open_runs
from . import pages

HELP = "figures of one run, or of several side by side"
NAMES = ("variance-accuracy", "accuracy", "training", "consensus", "dispersion", "tensors",
         "communication", "adaptation",
         "convergence", "early", "connections", "scale", "ranks", "timing")
EXAMPLES = f"""examples:
  dbench-analyze plot results/ring.h5                        all figures, into ./plots
  dbench-analyze plot results/ -o figures --format pdf
  dbench-analyze plot results/*.h5 --kind variance-accuracy --measure gini
  dbench-analyze plot results/ --kind early --window 0.05    scatter, and its rank correlation
  dbench-analyze plot results/ --kind convergence --x bytes  over iterations, epochs, bytes, seconds
  dbench-analyze plot runs.csv --kind connections --kind scale --where replicas=16
  dbench-analyze plot results/ --kind convergence --format pdf --width 3.3in --label D_ring=ring
kinds: {', '.join(NAMES)}
"""


def declare(parser):
    parser.add_argument("-o", "--output", default="plots", metavar="DIR",
                        help="folder for the figures (default: plots)")
    parser.add_argument("--kind", action="append", choices=NAMES,
                        help="only this figure; may be given several times")
    parser.add_argument("--measure", choices=("variance", "consensus", *MEASURES),
                        default="variance",
                        help="the spread on the x axis of variance-accuracy and early")
    parser.add_argument("--x", choices=("iterations", "epochs", "bytes", "seconds"),
                        default="iterations",
                        help="the x axis of convergence; seconds only of runs whose times compare "
                             "(default: iterations)")
    parser.add_argument("--window", type=float, default=0.1, metavar="SHARE",
                        help="of the iterations that are early, for early and ranks (default: 0.1)")
    parser.add_argument("--each", action="store_true",
                        help="single runs; else runs that differ in nothing but the seed are one "
                             "line, with a band from the lowest to the highest")
    pages.declare(parser, "the figures", "D_ring='our ring'")
    parser.add_argument("--format", choices=("png", "svg", "pdf"), default="png")
    parser.add_argument("--dpi", type=int, default=150,
                        help="resolution of PNG pictures (default: 150)")


def drawable(arguments, runs: list[Run]) -> list[str]:
    """The kinds that are asked for, or of all those for which the files that are there suffice."""
    from .. import figures

    missing = [run.path for run in runs if isinstance(run, Row)]
    if not missing:
        return list(dict.fromkeys(arguments.kind or NAMES))
    enough = [name for name in NAMES if figures.KINDS[name].rows]
    lost = f"{missing[0]} is not there" + f", nor are {len(missing) - 1} more" * (len(missing) > 1)
    asked = [f"--kind {name}" for name in arguments.kind or [] if name not in enough]
    asked += [f"--measure {arguments.measure}"] * (arguments.measure != "variance")
    if asked:
        raise AnalysisError(asked[0], f"needs result files, and {lost}",
                            "bring them back; the table is enough for the variance and for "
                            f"--kind {', '.join(enough)}")
    if not arguments.kind:
        print(f"note: {lost}: from the table alone {', '.join(enough)} are drawn")
    return list(dict.fromkeys(arguments.kind or enough))


def run(arguments) -> int:
    from .. import figures  # matplotlib takes a second to load: only where something is drawn

    if not 20 <= arguments.dpi <= 1200:
        raise AnalysisError(f"--dpi {arguments.dpi}", "out of range", "give 20 to 1200")
    if not 0 < arguments.window <= 1:
        raise AnalysisError(f"--window {arguments.window}", "out of range",
                            "a share of the iterations, such as 0.1")
    runs, folder = open_runs(arguments.runs, arguments.where, rows=True), Path(arguments.output)
    wanted = drawable(arguments, runs)
    called = pages.names_of(arguments.label, figures.style.entries(runs))
    page = figures.Page(arguments.width, called)
    folder.mkdir(parents=True, exist_ok=True)
    for name in wanted:
        how = {"variance-accuracy": {"measure": arguments.measure},
               "convergence": {"x": arguments.x},
               "early": {"measure": arguments.measure, "window": arguments.window},
               "ranks": {"window": arguments.window}}.get(name, {})
        kind = figures.KINDS[name]
        for stem, figure in figures.drawn(kind, runs, arguments.each, page, **how):
            target = folder / f"{stem}.{arguments.format}"
            figures.save(figure, target, arguments.format, arguments.dpi, page)
            print(target)
        if kind.words:
            print(kind.words(runs, **how))
        unfinished = sum(run.status != "complete" for run in runs)
        if kind.many and unfinished:
            print(f"note: {unfinished} of {len(runs)} runs not complete: their last evaluation "
                  "stands for their end")
        if name == "timing" and statement(runs):
            print(f"note: {statement(runs)}")
    return 0
