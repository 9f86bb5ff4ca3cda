"""Many result files as one data frame: a row per run, a column per field. The files are opened one
after the other, or in several processes if there are many."""

import itertools
import json
import multiprocessing
import os
import re
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from ..basics.errors import AnalysisError
from ..naming import pointers
from ..naming.differences import flattened
from ..quantities import fields
from ..reading.files import TABLES, distinct, regular, result_files
from ..reading.run import Run
from .conditions import Condition

PARALLEL = 200  # with fewer files, starting processes takes longer than it saves


@dataclass
class Collection:
    """A table of runs.

    frame    the table, a row per run
    specs    the flattened spec of each row; None if a collected table has no column `spec`
    faults   a line for each file that could not be read
    """

    frame: pd.DataFrame
    specs: list[dict | None]
    faults: list[str] = field(default_factory=list)

    def where(self, keep) -> "Collection":
        """Return the rows for which `keep` is true."""
        keep = [bool(k) for k in keep]
        return Collection(self.frame[keep].reset_index(drop=True),
                          [s for s, k in zip(self.specs, keep) if k], self.faults)


def collect(named: list[str], keys, progress=None, optional=(),
            processes: bool = True) -> Collection:
    """Return the fields `keys` of every run among files, folders, glob patterns and collected
    tables (.csv, .parquet), and the fields `optional` if a table has them.

    A file that cannot be read has no row; it is listed in `faults`. `progress(done, files)` is
    called after each file. `processes`: whether other processes may read files.
    """
    columns = [fields.find(key) for key in dict.fromkeys((*keys, *optional))]
    tables = distinct(item for item in named if Path(item).suffix in TABLES)
    others = [item for item in named if Path(item).suffix not in TABLES]
    files = [path for path, _ in result_files(others)] if others else []
    rows: list[dict] = []
    specs: list[dict | None] = []
    faults: list[str] = []
    read = read_all(files, [c.key for c in columns], processes)
    for done, (row, spec, fault) in enumerate(read, 1):
        if fault:
            faults.append(fault)
        else:
            rows.append(row)
            specs.append(spec)
        if progress:
            progress(done, len(files))
    frames = [pd.DataFrame(rows, columns=[c.key for c in columns])] if rows or not tables else []
    for item in tables:
        frame = read_table(Path(item), dict.fromkeys([*(c.key for c in columns), "spec"]),
                           (*optional, *({"spec"} - {*keys})))
        specs += [given_spec(cell) for cell in frame.get("spec", [None] * len(frame))]
        frames.append(frame[[c.key for c in columns if c.key in frame]])
    return Collection(pd.concat(frames, ignore_index=True), specs, faults)


def read_all(files: list[Path], keys: list[str],
             processes: bool = True) -> Iterator[tuple[dict, dict, str]]:
    """Yield `read_row` of each file, in order; if `processes` is true, many files are read on all
    cores that this process may use. If one of the processes dies, this one reads the rest."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    done = 0
    if processes and cores > 1 and len(files) >= PARALLEL:
        try:
            with ProcessPoolExecutor(min(cores, len(files) // (PARALLEL // 2)),
                                     multiprocessing.get_context("spawn")) as pool:
                for row in pool.map(read_row, files, itertools.repeat(keys), chunksize=16):
                    done += 1
                    yield row
        except BrokenProcessPool:
            print("dbench-analyze: note: a process that read files has died; the files are read "
                  "one after the other", file=sys.stderr)
    yield from (read_row(path, keys) for path in files[done:])


def read_row(path: Path, keys: list[str]) -> tuple[dict, dict, str]:
    """Return (the fields of a run, its flattened spec, ""), or ({}, {}, the reason) if the file
    cannot be read."""
    try:
        with Run(path) as run:
            return {key: fields.find(key).value(run) for key in keys}, flattened(run.spec), ""
    except AnalysisError as error:
        return {}, {}, str(error)


NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?(nan|inf)", re.IGNORECASE)


def as_number(cell: Any) -> Any:
    """Return the number in a cell; NaN if the cell is empty, and any other text as it is."""
    if not isinstance(cell, str):
        return cell
    if not cell:
        return float("nan")
    if re.fullmatch(r"[-+]?\d+", cell):
        return int(cell)
    return float(cell) if NUMBER.fullmatch(cell) else cell


def typed(frame: pd.DataFrame, key: str) -> pd.Series:
    """Return a column of a table with the type of its key, not with the type that its cells look
    like: a run may be called 007 or NA. A JSON pointer is looked up in the column `spec`, because a
    cell does not say whether its value was a text."""
    column, found = frame[key], fields.find(key)
    if found.is_text:
        return column.astype(object).where(column.notna(), "").astype(str)
    if key.startswith("/") and "spec" in frame:
        return pd.Series([cell if there is None else there
                          for cell, there in zip(map(as_number, column),
                                                 (in_spec(spec, key) for spec in frame["spec"]))],
                         index=frame.index)
    return pd.Series([as_number(cell) for cell in column], index=frame.index)


def given_spec(cell: Any) -> dict | None:
    """Return the flattened spec in a cell of a table; None if it holds none."""
    try:
        return flattened(json.loads(cell))
    except (TypeError, ValueError):
        return None


def in_spec(spec: Any, pointer: str) -> Any:
    """Return the entry of a spec given as JSON; None if it has none."""
    try:
        found = pointers.entry(json.loads(spec), pointers.words(pointer))
    except (TypeError, ValueError):
        return None
    return json.dumps(found) if isinstance(found, (dict, list)) else found


def read_table(path: Path, keys: Iterable[str], optional=()) -> pd.DataFrame:
    """Return the columns `keys` of a table that `collect` wrote."""
    try:
        with regular(path, "a table of `collect`") as file:
            frame = (pd.read_csv(file, dtype=str, keep_default_na=False, encoding="utf-8-sig")
                     if path.suffix == ".csv" else pd.read_parquet(file))
    except (ValueError, ImportError, OSError) as error:
        raise AnalysisError(path, f"cannot be read as a table: {error}",
                            "give what `collect` wrote, or result files") from error
    keys = [key for key in keys if key in frame or key not in optional]
    missing = [key for key in keys if key not in frame]
    if missing:
        raise AnalysisError(path, f"no column {', '.join(missing)}",
                            "collect again with --columns, or give the result files")
    return pd.DataFrame({key: typed(frame, key) for key in keys}, index=frame.index)


def selected(found: Collection, conditions: list[Condition]) -> Collection:
    """Return the rows for which all conditions hold."""
    for condition in conditions:
        found = found.where(condition.kept(found.frame[condition.key]))
    return found


def with_one_type(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with one type per column, which Parquet requires: a column that mixes words
    and numbers ("full" batches, lists of seeds) becomes words."""
    mixed = [key for key in frame if frame[key].map(type).nunique() > 1
             and frame[key].map(lambda v: isinstance(v, str)).any()]
    return frame.astype(dict.fromkeys(mixed, str))
