"""Opens the runs that the user names by files, folders, glob patterns or tables of `collect`."""

import sys
from collections.abc import Sequence
from pathlib import Path

from ..basics.errors import AnalysisError
from ..quantities.fields import COLLECTED
from ..reading.files import TABLES, distinct, result_files
from ..reading.run import Run
from .collection import read_table
from .conditions import matching
from .table_row import TableRow


def rows_of(table: str) -> list[tuple[Path | None, Path, dict]]:
    """Return (result file, or None if it does not exist; its path in the table; cells) of each row
    in a table of `collect`. A relative path counts from the working directory, or else from the
    table's folder."""
    found = []
    for cells in read_table(Path(table), COLLECTED, set(COLLECTED) - {"file"}).to_dict("records"):
        name = Path(str(cells["file"]))
        places = [place for place in (name, Path(table).parent / name) if place.exists()]
        found.append((places[0] if places else None, name, cells))
    return found


def files_of(table: str) -> list[str]:
    """Return the result files that a table of `collect` lists. Raises AnalysisError if one of them
    does not exist."""
    found = []
    for file, name, _ in rows_of(table):
        if file is None:
            raise AnalysisError(table, f"its result file {name} is not there",
                                "restore it; some figures of `plot` do without it")
        found.append(str(file))
    return found


def open_runs(named: list[str], where: Sequence[str] = (), rows: bool = False) -> list[Run]:
    """Return the runs of `opened` without its faults."""
    return opened(named, where, rows)[0]


def opened(named: list[str], where: Sequence[str] = (),
           rows: bool = False) -> tuple[list[Run], list[str]]:
    """Return the named runs for which all conditions `where` hold, and a line for each file that
    was found in a folder or by a pattern and cannot be read as a result file. Such a file is
    skipped with a notice. A table of `collect` stands for the runs that it lists; if `rows` is
    true, the table's row replaces a result file that no longer exists.
    """
    runs: list[Run] = []
    faults: list[str] = []
    tables = distinct(item for item in named if Path(item).suffix in TABLES)
    others = [item for item in named if Path(item).suffix not in TABLES]
    for table in tables:
        if not rows:
            others += files_of(table)
            continue
        for file, name, cells in rows_of(table):
            if file is None:
                runs.append(TableRow(name, table, cells))
            else:
                others.append(str(file))
    for path, explicit in result_files(others) if others else []:
        try:
            runs.append(Run(path))
        except AnalysisError as error:
            if explicit:
                raise
            print(f"dbench-analyze: passed over {error}", file=sys.stderr)
            faults.append(str(error))
    if not runs:
        raise AnalysisError(" ".join(named), "no result file of dbench among these",
                            "see the notices above")
    return matching(runs, where), faults
