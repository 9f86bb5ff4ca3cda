"""`dbench-analyze plot`: figures as files."""

from pathlib import Path

from ..comparable import statement
from ..errors import AnalysisError
from ..schema import MEASURES
from ..select import open_runs

HELP = "figures of one run, or of several side by side"
NAMES = ("variance-accuracy", "accuracy", "training", "consensus", "dispersion", "tensors", "communication", "adaptation", "timing")
EXAMPLES = f"""examples:
  dbench-analyze plot results/ring.h5                        all figures, into ./plots
  dbench-analyze plot results/ -o figures --format pdf
  dbench-analyze plot results/*.h5 --kind variance-accuracy --measure gini
kinds: {', '.join(NAMES)}
"""


def declare(parser):
    parser.add_argument("-o", "--output", default="plots", metavar="DIR", help="folder for the figures (default: plots)")
    parser.add_argument("--kind", action="append", choices=NAMES, help="only this figure; may be given several times")
    parser.add_argument("--measure", choices=("variance", "consensus", *MEASURES), default="variance",
                        help="the spread on the x axis of variance-accuracy")
    parser.add_argument("--format", choices=("png", "svg", "pdf"), default="png")
    parser.add_argument("--dpi", type=int, default=150, help="resolution of PNG pictures (default: 150)")


def run(arguments) -> int:
    from .. import figures  # matplotlib takes a second to load: only where something is drawn

    if not 20 <= arguments.dpi <= 1200:
        raise AnalysisError(f"--dpi {arguments.dpi}", "out of range", "give 20 to 1200")
    runs, folder = open_runs(arguments.runs), Path(arguments.output)
    folder.mkdir(parents=True, exist_ok=True)
    for name in dict.fromkeys(arguments.kind or NAMES):
        how = {"measure": arguments.measure} if name == "variance-accuracy" else {}
        for stem, figure in figures.drawn(figures.KINDS[name], runs, **how):
            target = folder / f"{stem}.{arguments.format}"
            figures.save(figure, target, arguments.format, arguments.dpi)
            print(target)
        if name == "timing" and statement(runs):
            print(f"note: {statement(runs)}")
    return 0
