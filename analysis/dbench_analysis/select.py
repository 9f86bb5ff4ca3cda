"""From what the user names (files, folders, globs) to open runs."""

import glob
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from .errors import AnalysisError
from .run import Run

SUFFIXES = (".h5", ".hdf5")
TABLES = (".csv", ".parquet")  # what `collect` writes


def natural(path) -> list:
    """A sorting key by which n4 comes before n16."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", str(path))]


def result_files(named: list[str]) -> list[tuple[Path, bool]]:
    """(file, named by the user himself) in order; folders are searched with all below them."""
    found: dict[Path, bool] = {}
    for item in named:
        path = Path(item)
        if path.is_dir():
            inside = sorted((p for p in path.rglob("*") if p.suffix in SUFFIXES and p.is_file()),
                            key=natural)
            if not inside:
                raise AnalysisError(item, "no .h5 file in this folder",
                                    "did the run write elsewhere?")
            for file in inside:
                found.setdefault(file, False)
        elif not path.exists() and glob.has_magic(item):
            matches = sorted(glob.glob(item, recursive=True), key=natural)
            if not matches:
                raise AnalysisError(item, "no file matches", "check the pattern and the folder")
            for match in matches:
                found.setdefault(Path(match), False)
        else:
            found[path] = True
    return list(found.items())


def listed(table: str) -> list[tuple[Path | None, Path, dict]]:
    """Of each row in a table of `collect`: its result file where that is there, the name that it
    has in the table, and what the row says. Paths count from here, or from the table's folder."""
    from .collected import read_table
    from .fields import COLLECTED

    found = []
    for cells in read_table(Path(table), COLLECTED, set(COLLECTED) - {"file"}).to_dict("records"):
        name = Path(str(cells["file"]))
        here = [place for place in (name, Path(table).parent / name) if place.exists()]
        found.append((here[0] if here else None, name, cells))
    return found


def files_of(table: str) -> list[str]:
    """The result files in a table of `collect`."""
    found = []
    for file, name, _ in listed(table):
        if file is None:
            raise AnalysisError(table, f"its result file {name} is not there",
                                "bring it back: `plot` can do without it for some figures")
        found.append(str(file))
    return found


def open_runs(named: list[str], where: Sequence[str] = (), rows: bool = False) -> list[Run]:
    """The runs for which all conditions `where` hold, of tables those they list; `rows`: a file
    that is not there any more is replaced by its row. A file found by search that is no result is
    passed over with a notice."""
    from .conditions import matching
    from .row import Row

    runs: list[Run] = []
    tables = [item for item in named if Path(item).suffix in TABLES]
    others = [item for item in named if item not in tables]
    for table in tables:
        if not rows:
            others += files_of(table)
            continue
        for file, name, cells in listed(table):
            if file is None:
                runs.append(Row(name, table, cells))
            else:
                others.append(str(file))
    for path, explicit in result_files(others) if others else []:
        try:
            runs.append(Run(path))
        except AnalysisError as error:
            if explicit:
                raise
            print(f"dbench-analyze: passed over {error}", file=sys.stderr)
    if not runs:
        raise AnalysisError(" ".join(named), "no result file of dbench among these",
                            "see the notices above")
    return matching(runs, where)
