"""dbench-analyze: the command line."""

import argparse
import difflib
import importlib
import os
import sys
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType

from .basics import terminal
from .basics.errors import AnalysisError
from .basics.paths import user_path
from .selection import conditions

COMMANDS = ("show", "plot", "report", "table", "collect", "compare", "ranks", "timeline",
            "prediction", "reproduce", "publish", "gap", "clusters", "graph")


def command_modules(arguments: list[str]) -> list[ModuleType]:
    """Import the module of the command in `arguments`; the modules of all commands if the
    arguments, such as --help, name none. A single command starts faster: only plot, report,
    timeline and graph load Matplotlib, which takes a second."""
    named = next((word for word in arguments if not word.startswith("-")), None)
    return [importlib.import_module(f".commands.{name}", __package__)
            for name in ([named] if named in COMMANDS else COMMANDS)]


def parser(modules: list[ModuleType]) -> argparse.ArgumentParser:
    """Return a parser of these modules' commands."""
    main = argparse.ArgumentParser(
        prog="dbench-analyze",
        description="Curves, tables and reports from result files of `dbench run`, and pictures of "
                    "graphs.",
        epilog="`dbench-analyze COMMAND --help` shows examples. Exit status: 0 done, 1 a check "
               "failed, 2 the command or a file is at fault.",
    )
    try:
        main.add_argument("--version", action="version", version=version("dbench-analysis"))
    except PackageNotFoundError:
        pass
    commands = main.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for module in modules:
        name = module.__name__.rpartition(".")[2]
        takes_runs = getattr(module, "TAKES_RUNS", True)
        sub = commands.add_parser(
            name, allow_abbrev=takes_runs, help=module.HELP,
            description=module.HELP[:1].upper() + module.HELP[1:] + ".",
            epilog=module.EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if takes_runs:
            sub.add_argument("runs", nargs="+", metavar="RUN",
                             help="result file, folder of result files, glob pattern, or a table "
                                  "of `collect`")
        if takes_runs or name == "reproduce":
            sub.add_argument("--where", "--only", dest="where", action="append", default=[],
                             metavar="FIELD=VALUE",
                             help=getattr(module, "WHERE", conditions.HELP))
        module.declare(sub)
        sub.set_defaults(run=module.run, takes_runs=takes_runs)
    return main


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return the exit status."""
    words = sys.argv[1:] if arguments is None else arguments
    terminal.accept_every_letter()
    if arguments is None:  # files need no window, and a damaged matplotlibrc must not matter
        os.environ.update(MPLBACKEND="agg", MATPLOTLIBRC=os.devnull)
    if words and not words[0].startswith("-") and words[0] not in COMMANDS:
        near = difflib.get_close_matches(words[0], COMMANDS, 1)
        print(f"dbench-analyze: '{words[0]}' is no command (" +
              (f"did you mean '{near[0]}'?)" if near else f"choose from: {', '.join(COMMANDS)})"),
              file=sys.stderr)
        return 2
    main_parser = parser(command_modules(words))
    chosen, rest = main_parser.parse_known_args(words)
    chosen.rest = rest  # `graph` accepts any --KEY VALUE as a parameter of the graph
    if chosen.rest and chosen.takes_runs:
        main_parser.error(f"unrecognized arguments: {' '.join(chosen.rest)}")
    try:
        if getattr(chosen, "output", None):
            chosen.output = user_path(chosen.output, "--output")
        if chosen.takes_runs:
            chosen.runs = [user_path(name, "RUN") for name in chosen.runs]
        return chosen.run(chosen)
    except AnalysisError as error:
        print(f"dbench-analyze: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # `dbench-analyze table ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        place = error.filename or "output"
        print(f"dbench-analyze: {place}: {error.strerror or error} (is the folder there and "
              "writable?)", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
