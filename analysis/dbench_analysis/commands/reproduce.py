"""`dbench-analyze reproduce`: what runs say about published findings and published tables."""

import sys
from pathlib import Path

from ..basics.errors import AnalysisError
from ..claims import documents
from ..claims.finding import Terms
from ..claims.report import SOURCES, report
from ..quantities.fields import COLUMNS
from ..reproduction import definition
from ..selection.opening import opened
from ..statistics.outcome import parse_margin
from . import page_options, published_tables

TAKES_RUNS = False
HELP = ("published findings and published tables, each with a verdict from runs, its evidence, "
        "and what is missing to decide")
EXAMPLES = """examples:
  dbench-analyze reproduce                              the names of the findings
  dbench-analyze reproduce dbench                       claims, rules, and the runs they need
  dbench-analyze reproduce dbench results/ -o dbench.md
  dbench-analyze reproduce ada results/ --margin 1% --json
  dbench-analyze reproduce relaysgd-fig7 --plan         the runs of a published table, their cost
  dbench-analyze reproduce relaysgd-fig7 --run          makes the missing runs, then judges
A verdict is supported, contradicted or undecided, by the rule that is printed with it. Too few
seeds give the verdict undecided. A verdict holds for the settings of the given runs; the report
lists these settings next to the published ones.
The number of a published table is reproduced, not reproduced, undecided or not run. The exit status
is 1 if a number is not reproduced.
"""


def declare(parser):
    parser.add_argument("name", nargs="?", metavar="NAME",
                        help="which findings (without it: a list of the names)")
    parser.add_argument("runs", nargs="*", metavar="RUN",
                        help="result file, folder of result files, or glob pattern")
    parser.add_argument("--list", action="store_true",
                        help="list the names of the findings and tables")
    parser.add_argument("--margin", default="0.5%", metavar="M",
                        help="differences of accuracy up to M count as none (default: 0.5%%)")
    parser.add_argument("--alpha", type=float, default=0.05,
                        help="level of each test (default: 0.05)")
    parser.add_argument("--window", type=float, default=0.1, metavar="SHARE",
                        help="share of the iterations that counts as early (default: 0.1)")
    parser.add_argument("--format", choices=("markdown", "latex", "json"), default="markdown",
                        help="default: markdown")
    parser.add_argument("--json", action="store_true", help="the same as --format json")
    parser.add_argument("-o", "--output", type=page_options.text_target, metavar="FILE",
                        help="write to this file, not to the terminal")
    published_tables.declare(parser)


def run(arguments) -> int:
    if arguments.rest:
        raise AnalysisError(" ".join(arguments.rest), "not understood",
                            "see `dbench-analyze reproduce --help`")
    tables = definition.found()
    if arguments.list or not arguments.name:
        titles = {name: source for name, (source, _) in SOURCES.items()}
        titles |= {name: definition.read(folder).given["title"]
                   for name, folder in tables.items()}
        width = max(map(len, titles))
        print("\n".join(f"{name:{width}}  {title}" for name, title in titles.items()))
        return 0
    if arguments.name in tables and arguments.name not in SOURCES:
        return published_tables.run(arguments, tables[arguments.name])
    if (Path(arguments.name) / definition.FILE).is_file():
        return published_tables.run(arguments, Path(arguments.name).absolute())
    if arguments.name not in SOURCES:
        raise AnalysisError(arguments.name, "no such findings",
                            f"choose from {', '.join([*SOURCES, *tables])}")
    if (arguments.plan or arguments.make or arguments.reduced or arguments.folder
            or arguments.page or arguments.seeds):
        raise AnalysisError(arguments.name, "these findings are judged by the runs that you give",
                            "leave out --plan, --run, --reduced, --folder, --seeds and "
                            "--page")
    if not 0 < arguments.alpha < 0.5:
        raise AnalysisError(f"--alpha {arguments.alpha}", "out of range",
                            "give 0 to 0.5, such as 0.05")
    if not 0 < arguments.window < 0.5:
        raise AnalysisError(f"--window {arguments.window}", "out of range",
                            "a share of the iterations below one half, such as 0.1")
    margin = parse_margin(arguments.margin, COLUMNS["accuracy_mean_model"])
    terms = Terms(alpha=arguments.alpha, margin=margin, window=arguments.window)
    runs, faults = opened(arguments.runs, arguments.where) if arguments.runs else ([], [])
    found = report(arguments.name, runs, terms)
    form = "json" if arguments.json else arguments.format
    content = {"markdown": documents.markdown, "latex": documents.latex,
               "json": documents.as_json}[form](found) + "\n"
    if arguments.output:
        Path(arguments.output).write_text(content, encoding="utf-8")
    else:
        sys.stdout.write(content)
    return 1 if faults else 0
