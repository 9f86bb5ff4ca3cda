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


def files_of(table: str) -> list[str]:
    """The result files in a table of `collect`; paths count from here, or from the table's
    folder."""
    from .collected import read_table

    found = []
    for name in read_table(Path(table), ["file"])["file"].astype(str):
        here = [place for place in (Path(name), Path(table).parent / name) if place.exists()]
        if not here:
            raise AnalysisError(table, f"its result file {name} is not there",
                                "plot and report read the curves from it: give the files")
        found.append(str(here[0]))
    return found


def open_runs(named: list[str], where: Sequence[str] = ()) -> list[Run]:
    """The runs for which all conditions `where` hold, of tables those they list. A file found by
    search that is no result is passed over with a notice."""
    from .conditions import matching

    runs = []
    named = [name for item in named
             for name in (files_of(item) if Path(item).suffix in TABLES else [item])]
    for path, explicit in result_files(named):
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
