"""`dbench-analyze graph`: a communication graph, its matrix, spectrum and mixing as one figure."""

from pathlib import Path

from ..basics.errors import AnalysisError
from ..basics.formatting import aligned
from ..figures import page_values
from ..figures.drawing import drawing_settings, save
from ..figures.graph import comparison, portrait
from ..figures.page_layout import Page, finish
from ..graphs.graph import Graph, comparing, program
from . import page_options

HELP = "a communication graph: drawing, matrix, spectrum, disagreement; or several compared"
USAGE = """dbench-analyze graph TYPE --n N [--KEY VALUE]... [-o FILE] [--rounds R] ...
       dbench-analyze graph --compare TYPE[:KEY=VALUE]...,... --n N [-o FILE] [--rounds R] ..."""
EXAMPLES = """TYPE and its --KEYs are those of `dbench list graphs`; --seed draws another graph.

examples:
  dbench-analyze graph torus --n 48
  dbench-analyze graph ring_lattice --n 32 --k 8 -o lattice.pdf
  dbench-analyze graph one_peer_exponential --n 12 --rounds 24
  dbench-analyze graph --compare ring,torus,ring_lattice:k=8,one_peer_exponential --n 64
  dbench-analyze graph --compare ring,torus --n 64 -o ring.pdf --width 3.3in --label ring='our ring'
"""
TAKES_RUNS = False
FORMATS = ("png", "pdf", "svg")
LARGEST = 2048
OF_PROGRAM = ("json", "matrix", "edges", "round")


def declare(parser):
    parser.usage = USAGE
    parser.add_argument("--n", type=int, required=True, metavar="N",
                        help=f"replicas, at most {LARGEST}")
    parser.add_argument("--compare", metavar="TYPES",
                        help="compare these types, parameters as in ring_lattice:k=8")
    parser.add_argument("-o", "--output", type=page_options.target, metavar="FILE",
                        help="the picture, .png, .pdf or .svg (default: plots/graph-TYPE-nN.png)")
    parser.add_argument("--rounds", type=int, metavar="R",
                        help="iterations of the disagreement (default: until it is small, at most "
                             "300)")
    parser.add_argument("--program", metavar="PATH",
                        help="the dbench program (default: $DBENCH_PROGRAM, build/dbench, or on "
                             "the PATH)")
    page_options.declare(parser, "the picture", "ring='our ring'")
    parser.add_argument("--dpi", type=int, default=150,
                        help="resolution of PNG pictures (default: 150)")


def run(arguments) -> int:
    kind, keys = parse_graph(arguments.rest)
    if bool(kind) == bool(arguments.compare):
        raise AnalysisError("graph", "needs either a TYPE or --compare",
                            "such as: graph torus --n 48")
    wanted = [(kind, keys)] if kind else entries(arguments.compare)
    if arguments.compare and keys:
        raise AnalysisError(f"--{next(iter(keys))}", "does not say for which type",
                            "write --compare TYPE:KEY=VALUE,...")
    checked(arguments)
    target = Path(arguments.output or f"plots/graph-{kind or 'comparison'}-n{arguments.n}.png")
    form = target.suffix.lower().removeprefix(".")
    if form not in FORMATS:
        raise AnalysisError(target, "its name does not end in .png, .pdf or .svg",
                            "give -o FILE.png")
    place = program(arguments.program)
    graphs = [Graph(place, kind, arguments.n, keys) for kind, keys in wanted]
    for graph in graphs:
        graph.certify()  # an invalid graph is refused before anything is drawn
    page = Page(arguments.width, page_values.labels_by_name(arguments.label,
                                                       [graph.label for graph in graphs]))
    with drawing_settings(page):
        if arguments.compare:
            figure = comparison(graphs, arguments.rounds)
            print(aligned(comparing(graphs)))
        else:
            figure = portrait(graphs[0], arguments.rounds)
        finish(figure)
    target.parent.mkdir(parents=True, exist_ok=True)
    save(figure, target, form, arguments.dpi, page)
    print(target)
    return 0


def checked(arguments):
    """Raise AnalysisError if a number is out of range."""
    for name, value, low, high in (("n", arguments.n, 1, LARGEST),
                                   ("rounds", arguments.rounds, 1, 100_000),
                                   ("dpi", arguments.dpi, 20, 1200)):
        if value is not None and not low <= value <= high:
            raise AnalysisError(f"--{name} {value}", "out of range", f"give {low} to {high}")


def parse_graph(words: list[str]) -> tuple[str | None, dict[str, str]]:
    """Return the type and its parameters from the words that other options leave: TYPE, --KEY
    VALUE, --KEY=VALUE."""
    kind: str | None = None
    keys: dict[str, str] = {}
    left = iter(words)
    for word in left:
        if not word.startswith("--"):
            if kind is not None or word.startswith("-"):
                remedy = f"one TYPE, here {kind}" if kind else "no such option"
                raise AnalysisError(word, "not understood", remedy)
            kind = word
            continue
        key, equals, value = word[2:].partition("=")
        if key in OF_PROGRAM:
            raise AnalysisError(word, "is for `dbench graph`",
                                "--rounds R sets the number of iterations")
        found = value if equals else next(left, None)
        if not key or found is None:
            raise AnalysisError(word, "has no value", "write parameters as --KEY VALUE")
        keys[key] = found
    return kind, keys


def entries(text: str) -> list[tuple[str, dict[str, str]]]:
    """Return (type, parameters) of each: 'ring,ring_lattice:k=8:lazy=0.5'."""
    found = []
    for entry in text.split(","):
        kind, *parts = entry.strip().split(":")
        pairs = [part.partition("=") for part in parts]
        if not kind or not all(key and equals and value for key, equals, value in pairs):
            raise AnalysisError("--compare", f"'{entry}' is no TYPE:KEY=VALUE",
                                "such as ring_lattice:k=8")
        found.append((kind, {key: value for key, _, value in pairs}))
    return found

