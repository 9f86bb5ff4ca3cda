"""dbench-analyze: the command line."""

import argparse
import importlib
import os
import sys
from importlib.metadata import PackageNotFoundError, version

from . import conditions
from .errors import AnalysisError

COMMANDS = ("show", "plot", "report", "table", "collect", "compare", "ranks", "reproduce", "graph")


def parser() -> argparse.ArgumentParser:
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
    for name in COMMANDS:
        module = importlib.import_module(f".commands.{name}", __package__)
        takes_runs = getattr(module, "TAKES_RUNS", True)
        sub = commands.add_parser(
            name, allow_abbrev=takes_runs, help=module.HELP,
            description=module.HELP[:1].upper() + module.HELP[1:] + ".",
            epilog=module.EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if takes_runs:
            sub.add_argument("runs", nargs="+", metavar="RUN",
                             help="result file, folder of them, glob pattern, or a table of "
                                  "`collect`")
        if takes_runs or name == "reproduce":
            sub.add_argument("--where", "--only", dest="where", action="append", default=[],
                             metavar="FIELD=VALUE",
                             help=getattr(module, "WHERE", conditions.HELP))
        module.declare(sub)
        sub.set_defaults(run=module.run, takes_runs=takes_runs)
    return main


def main(arguments: list[str] | None = None) -> int:
    main_parser = parser()
    chosen, rest = main_parser.parse_known_args(arguments)
    chosen.rest = rest  # parameters of a graph
    if chosen.rest and chosen.takes_runs:
        main_parser.error(f"unrecognized arguments: {' '.join(chosen.rest)}")
    try:
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
