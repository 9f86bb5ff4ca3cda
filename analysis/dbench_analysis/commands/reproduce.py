"""`dbench-analyze reproduce`: what given runs say of published findings."""

import dataclasses
import sys
from pathlib import Path

from ..errors import AnalysisError
from ..select import open_runs
from ..textual import counted

TAKES_RUNS = False
HELP = ("published findings, each with a verdict from given runs, its evidence, and what is "
        "missing to decide")
EXAMPLES = """examples:
  dbench-analyze reproduce                              the names there are
  dbench-analyze reproduce dbench                       claims, rules, and the runs they need
  dbench-analyze reproduce dbench results/ -o dbench.md
  dbench-analyze reproduce ada results/ --margin 1% --json
Verdicts are supported, contradicted or undecided, by the rule that is printed with each; too few
seeds are undecided. A verdict holds for the settings of the given runs, which stand beside those
published.
"""


def declare(parser):
    parser.add_argument("name", nargs="?", metavar="NAME",
                        help="which findings (none: a list of the names)")
    parser.add_argument("runs", nargs="*", metavar="RUN",
                        help="result file, folder of them, or glob pattern")
    parser.add_argument("--list", action="store_true", help="the names there are")
    parser.add_argument("--margin", default="0.5%", metavar="M",
                        help="differences of accuracy up to M count as none (default: 0.5%%)")
    parser.add_argument("--alpha", type=float, default=0.05,
                        help="level of each test (default: 0.05)")
    parser.add_argument("--window", type=float, default=0.1, metavar="SHARE",
                        help="of the iterations that are early (default: 0.1)")
    parser.add_argument("--format", choices=("markdown", "latex", "json"), default="markdown",
                        help="default: markdown")
    parser.add_argument("--json", action="store_true", help="the same as --format json")
    parser.add_argument("-o", "--output", metavar="FILE", help="write there, not to the terminal")


def run(arguments) -> int:
    from .. import reproduce
    from ..fields import COLUMNS
    from ..reproduce import written
    from .compare import understood_margin

    if arguments.rest:
        raise AnalysisError(" ".join(arguments.rest), "not understood",
                            "see `dbench-analyze reproduce --help`")
    if arguments.list or not arguments.name:
        print("\n".join(f"{name:10}{source}" for name, (source, _) in reproduce.NAMES.items()))
        return 0
    if arguments.name not in reproduce.NAMES:
        raise AnalysisError(arguments.name, "no such findings",
                            f"choose from {', '.join(reproduce.NAMES)}")
    if not 0 < arguments.alpha < 0.5:
        raise AnalysisError(f"--alpha {arguments.alpha}", "out of range",
                            "give 0 to 0.5, such as 0.05")
    if not 0 < arguments.window < 0.5:
        raise AnalysisError(f"--window {arguments.window}", "out of range",
                            "a share of the iterations below one half, such as 0.1")
    margin = understood_margin(arguments.margin, COLUMNS["accuracy_mean_model"])
    terms = reproduce.Terms(alpha=arguments.alpha, margin=margin, window=arguments.window)
    runs = open_runs(arguments.runs, arguments.where) if arguments.runs else []
    found = report(arguments.name, runs, terms)
    form = "json" if arguments.json else arguments.format
    content = {"markdown": written.markdown, "latex": written.latex,
               "json": written.as_json}[form](found) + "\n"
    if arguments.output:
        Path(arguments.output).write_text(content, encoding="utf-8")
    else:
        sys.stdout.write(content)
    return 0


def report(name: str, runs: list, terms):
    """The report of `name` from runs, none of them included."""
    from .. import reproduce
    from ..reproduce.cases import cases
    from ..reproduce.settings import beside

    source, module = reproduce.NAMES[name]
    # in an order of their own: verdicts must not depend on that of the arguments
    runs = sorted(runs, key=lambda run: (run.started, str(run.path)))
    found, notes = cases(runs, terms.window)
    findings = [told_what_is_missing(finding) for finding in module.judge(found, terms, runs)]
    applications = sorted({case.application for case in found})
    if found:
        notes.append(f"{counted(len(found), 'run')} judged, on {', '.join(applications)}. The "
                     "verdicts are valid for these settings, not for the published ones.")
    remedy = ("Runs that can decide this, small enough for one machine:\n\n    "
              f"scripts/slurm/sweep local {module.SWEEP}"
              if module.SWEEP else
              "dbench cannot run the published models and data yet; the statements on methods can "
              "be judged with any model.")
    return reproduce.Report(name, source, findings, beside(
        module.SETTINGS, [run for run in runs if run.status == "complete"]), notes, remedy)


def told_what_is_missing(finding):
    """An undecided finding always says what would decide it."""
    if finding.verdict != "undecided" or finding.missing:
        return finding
    return dataclasses.replace(
        finding, missing=["more seeds: with so few, the difference can be chance"])
