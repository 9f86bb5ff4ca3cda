"""`dbench-analyze plot`: figures as files."""

from pathlib import Path
from typing import Any

from ..basics.errors import AnalysisError
from ..figures import page_values, style
from ..figures.drawing import drawn, save
from ..figures.kinds import KINDS, Kind
from ..figures.page_layout import BANDS, Page
from ..naming import differences
from ..quantities.comparability import statement
from ..quantities.reaching import interval_note
from ..reading.run import Run
from ..reading.schema import MEASURES
from ..selection.opening import open_runs
from ..selection.table_row import TableRow
from . import page_options

HELP = "figures of one run, or of several runs side by side"
EXAMPLES = f"""examples:
  dbench-analyze plot results/ring.h5                        all figures, into ./plots
  dbench-analyze plot results/ -o figures --format pdf
  dbench-analyze plot results/*.h5 --kind variance-accuracy --measure gini
  dbench-analyze plot results/ --kind early --window 0.05    scatter, and its rank correlation
  dbench-analyze plot results/ --kind convergence --x bytes  over iterations, epochs, bytes, seconds
  dbench-analyze plot runs.csv --kind connections --kind scale --where replicas=16
  dbench-analyze plot results/ --kind convergence --format pdf --width 3.3in --label D_ring=ring
  dbench-analyze plot results/ --kind accuracy --panel accuracy --ylim 80%: --from-iteration 100
  dbench-analyze plot results/ --kind convergence --band std --height 2.5in
kinds: {', '.join(KINDS)}
"""

DEFAULTS = {"measure": "variance", "x": "iterations", "window": 0.1}  # options of some kinds
FORMATS = ("png", "svg", "pdf")
FILES = (*(f".{form}" for form in FORMATS), ".jpg", ".jpeg", ".eps", ".ps", ".html", ".h5")


def declare(parser):
    parser.add_argument("-o", "--output", default="plots", type=page_options.target, metavar="DIR",
                        help="folder for the figures (default: plots)")
    parser.add_argument("--kind", action="append", choices=tuple(KINDS),
                        help="only this figure; may be given several times")
    parser.add_argument("--measure", choices=("variance", "consensus", *MEASURES),
                        help="the spread on the x axis of variance-accuracy and early (default: "
                             "variance)")
    parser.add_argument("--x", choices=("iterations", "epochs", "bytes", "seconds"),
                        help="the x axis of convergence; seconds only for runs whose times can be "
                             "compared (default: iterations)")
    parser.add_argument("--window", type=float, metavar="SHARE",
                        help="share of the iterations that counts as early, for early and ranks "
                             "(default: 0.1)")
    parser.add_argument("--each", action="store_true",
                        help="draw single runs; without it, runs that differ in nothing but the "
                             "seed are one line, with a band from the lowest to the highest")
    page_options.declare(parser, "the figures", "D_ring='our ring'")
    parser.add_argument("--height", type=page_options.inches, metavar="LENGTH",
                        help="height of the figures")
    parser.add_argument("--panel", metavar="WORDS",
                        help="draw one panel only, named by words of its title, such as accuracy; "
                             "needs --kind")
    for which, of in (("x", "0:2000"), ("y", "80%%:95%%")):
        parser.add_argument(f"--{which}lim", metavar="LOW:HIGH",
                            help=f"the ends of the {which} axis, such as {of}; an end may be left "
                                 "out; needs --kind")
    parser.add_argument("--from-iteration", type=int, default=0, metavar="N", dest="start",
                        help="curves begin at iteration N")
    parser.add_argument("--band", choices=tuple(BANDS), default="minmax",
                        help="bands over seeds: standard deviation, 95%% t interval of the mean "
                             "(which rests on normality), lowest to highest (default), none")
    parser.add_argument("--format", choices=FORMATS, default="png")
    parser.add_argument("--dpi", type=int, default=150,
                        help="resolution of PNG pictures (default: 150)")


def drawable(arguments, runs: list[Run]) -> list[str]:
    """Return the requested kinds; without a request all kinds for which the existing files suffice.
    Raises AnalysisError if a requested figure needs a result file that does not exist."""
    missing = [run.path for run in runs if isinstance(run, TableRow)]
    if not missing:
        return list(dict.fromkeys(arguments.kind or KINDS))
    possible = [kind.name for kind in KINDS.values() if kind.from_rows]
    lost = f"{missing[0]} is not there" + f", nor are {len(missing) - 1} more" * (len(missing) > 1)
    refused = [f"--kind {name}" for name in arguments.kind or [] if name not in possible]
    refused += [f"--measure {arguments.measure}"] * (arguments.measure not in (None, "variance"))
    if refused:
        raise AnalysisError(refused[0], f"needs result files, and {lost}",
                            "restore them; the table is enough for the variance and for "
                            f"--kind {', '.join(possible)}")
    if not arguments.kind:
        print(f"note: {lost}: from the table alone {', '.join(possible)} are drawn")
    return list(dict.fromkeys(arguments.kind or possible))


def page_of(arguments, runs: list[Run], kinds: list[Kind]) -> Page:
    """Return the page of the options. Raises AnalysisError for an option that no figure takes."""
    one = {"--panel": arguments.panel, "--xlim": arguments.xlim, "--ylim": arguments.ylim}
    for option, value in one.items():
        if value is not None and len(kinds) != 1:
            raise AnalysisError(f"{option} {value}", "is for one kind of figure",
                                "add --kind, such as --kind convergence")
    if arguments.start != 0:
        refuse_untaken(f"--from-iteration {arguments.start}", kinds,
                       [kind for kind in KINDS.values() if kind.curves])
    if arguments.band != "minmax":
        refuse_untaken(f"--band {arguments.band}", kinds,
                       [kind for kind in KINDS.values() if kind.bands])
    if arguments.start < 0:
        raise AnalysisError(f"--from-iteration {arguments.start}", "out of range", "give 0 or more")
    ends = {f"{which}lim": page_values.limits(given, f"--{which}lim")
            for which, given in (("x", arguments.xlim), ("y", arguments.ylim)) if given}
    return Page(arguments.width, page_values.labels_by_name(arguments.label, style.entries(runs)),
                height=arguments.height, panel=arguments.panel, start=arguments.start,
                band=arguments.band, **ends)


def refuse_untaken(option: str, kinds: list[Kind], takers: list[Kind]):
    """Raise AnalysisError for an option that no figure among `kinds` takes, but those in
    `takers`."""
    if not any(kind in takers for kind in kinds):
        raise AnalysisError(option, "no figure among these takes it",
                            f"it is for --kind {', '.join(kind.name for kind in takers)}")


def options_of(arguments, kinds: list[Kind]) -> dict[str, Any]:
    """Return the values of the options that only some kinds take. Raises AnalysisError for a given
    one that no figure takes."""
    found = dict(DEFAULTS)
    for option in DEFAULTS:
        value = getattr(arguments, option)
        if value is not None:
            refuse_untaken(f"--{option} {value}", kinds,
                           [kind for kind in KINDS.values() if option in kind.options])
            found[option] = value
    return found


def run(arguments) -> int:
    if not 20 <= arguments.dpi <= 1200:
        raise AnalysisError(f"--dpi {arguments.dpi}", "out of range", "give 20 to 1200")
    if arguments.window is not None and not 0 < arguments.window <= 1:
        raise AnalysisError(f"--window {arguments.window}", "out of range",
                            "a share of the iterations, such as 0.1")
    folder = Path(arguments.output)
    if folder.suffix.lower() in FILES and not folder.exists():
        form = folder.suffix.lower().removeprefix(".")
        how = f"--format {form}" if form in FORMATS else f"--format {FORMATS[0]}"
        raise AnalysisError(f"-o {folder}", "names a folder, in which each figure is a file, and "
                            "this looks like the name of a file",
                            f"give -o {folder.with_suffix('')} {how}, and --kind for one figure")
    runs = open_runs(arguments.runs, arguments.where, rows=True)
    names = drawable(arguments, runs)
    if not arguments.each and (note := differences.repeated_note(runs)):
        print(f"note: {note}")
    kinds = [KINDS[name] for name in names]
    page, given = page_of(arguments, runs, kinds), options_of(arguments, kinds)
    folder.mkdir(parents=True, exist_ok=True)
    for kind in kinds:
        options = {option: given[option] for option in kind.options}
        for stem, figure in drawn(kind, runs, arguments.each, page, **options):
            target = folder / f"{stem}.{arguments.format}"
            save(figure, target, arguments.format, arguments.dpi, page)
            print(target)
        if kind.text:
            print(kind.text(runs, **options))
        unfinished = sum(run.status != "complete" for run in runs)
        if kind.many_runs and unfinished:
            print(f"note: {unfinished} of {len(runs)} runs not complete: the figure shows "
                  "their last evaluation as the end")
        lost = kind.left_out(runs, arguments.each) if kind.left_out else ""
        if lost:
            print(f"note: {lost}")
        if kind.name == "cost" and interval_note(runs) and not statement(runs):  # it is drawn
            print(f"note: {interval_note(runs)}")
        if kind.name == "timing" and statement(runs):
            print(f"note: {statement(runs)}")
    return 0
