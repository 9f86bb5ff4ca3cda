"""The part of `dbench-analyze reproduce` that makes runs and compares them with published
numbers."""

import sys
from pathlib import Path

from ..basics.errors import AnalysisError
from ..basics.paths import user_path
from ..figures import drawing, reproduced
from ..reproduction import definition, planning
from ..reproduction.report import Outcome, outcome
from ..reproduction.running import Place

OPTIONS = ("plan", "run", "reduced", "folder", "seeds", "page")


def declare(parser):
    """Add the options of published tables."""
    group = parser.add_argument_group("published tables, whose runs this command can make")
    group.add_argument("--plan", action="store_true",
                       help="show the runs, which of them are there, and what the others cost")
    group.add_argument("--run", action="store_true", dest="make",
                       help="make the runs that are missing, then judge")
    group.add_argument("--reduced", action="store_true",
                       help="use the table's reduced form: small runs, of which only the order is "
                            "compared with the published one")
    group.add_argument("--folder", metavar="DIR",
                       help="folder of the runs (default: results/reproduce/NAME)")
    group.add_argument("--seeds", type=int, default=0, metavar="K",
                       help="use at least K seeds: the listed ones and the next numbers")
    group.add_argument("--page", metavar="DIR",
                       help="write the page NAME.md and its figure NAME.png there as well, such as "
                            "to docs/reproduced")


def run(arguments, folder: Path) -> int:
    """Plan, run or judge the reproduction in `folder`."""
    if arguments.runs:
        raise AnalysisError(arguments.runs[0], "a published table is judged by the runs in a "
                            "folder", "give --folder DIR")
    ignored = [f"--{option}" for option, default in
               (("where", []), ("margin", "0.5%"), ("alpha", 0.05), ("window", 0.1))
               if getattr(arguments, option) != default]
    if ignored:
        raise AnalysisError(ignored[0], "is for findings, and a published table has its own "
                            "tolerances and tests", "leave it out")
    what = definition.read(folder)
    if arguments.reduced:
        what = definition.reduced(what)
    chosen = arguments.folder and user_path(arguments.folder, "--folder")
    place = Place(what, Path(chosen or Path("results/reproduce") / what.name))
    if arguments.plan:
        place.prepare()
        planned = place.planned(arguments.seeds)
        print(planning.text(place, planned))
        return 0
    if not arguments.make and not any(place.folder.glob("*.h5")):
        found = outcome(place, [])
    else:
        found = judged(place, arguments)
    return write(found, place, arguments)


def judged(place: Place, arguments) -> Outcome:
    """Make the missing runs if this is wanted, and judge those that are there."""
    def report(line: str):
        print(line, file=sys.stderr, flush=True)

    place.folder.mkdir(parents=True, exist_ok=True)
    place.prepare()
    planned = place.planned(arguments.seeds)
    stand_ins = []
    if "stand_in" in place.what.given and not any(run.identity for run in planned):
        stand_ins = place.planned(stand_in=True)
    failed: dict[str, str] = {}
    if arguments.make:
        try:
            failed = place.make([*planned, *stand_ins], report)
        except KeyboardInterrupt:
            report("interrupted: the same command makes the remaining runs")
    return outcome(place, planned, failed, stand_ins)


def write(found: Outcome, place: Place, arguments) -> int:
    """Write the files of a finished command, and print the result."""
    name = place.what.name
    folders = [place.folder] if arguments.make else []
    folders += [Path(user_path(arguments.page, "--page"))] if arguments.page else []
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.md").write_text(found.as_markdown(f"{name}.png"), encoding="utf-8")
        with drawing.drawing_settings():
            picture = reproduced.figure(found)
        drawing.save(picture, folder / f"{name}.png", "png")
    if arguments.make:
        (place.folder / f"{name}.csv").write_text(found.as_csv(), encoding="utf-8")
    form = "json" if arguments.json else arguments.format
    content = {"markdown": found.as_markdown, "latex": found.as_latex,
               "json": found.as_json}[form]() + "\n" * (form != "markdown")
    if arguments.output:
        Path(arguments.output).write_text(content, encoding="utf-8")
    else:
        sys.stdout.write(content)
    return 1 if found.failed() else 0
