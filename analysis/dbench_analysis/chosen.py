"""What Python users name runs by: files, folders, globs, open runs, tables, and lists of these."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias, overload

import numpy as np
import pandas as pd

from . import fields
from .collected import Collection, collect, selected
from .conditions import Condition, matching
from .differences import flattened
from .errors import AnalysisError
from .run import Run
from .select import TABLES, files_of, result_files

What: TypeAlias = "str | os.PathLike[str] | Run | pd.DataFrame | Iterable[What]"


class Runs(Sequence[Run]):
    """Open runs in order: `runs[0]`, or `runs["D_ring"]` by name, or by file where names repeat."""

    def __init__(self, runs: Iterable[Run]):
        self._runs = list(runs)
        self.labels = distinct([(run.name, str(run.path)) for run in self._runs])

    @overload
    def __getitem__(self, which: int | str) -> Run: ...
    @overload
    def __getitem__(self, which: slice) -> Runs: ...

    def __getitem__(self, which: int | str | slice) -> Run | Runs:
        if isinstance(which, slice):
            return Runs(self._runs[which])
        if isinstance(which, str):
            if which not in self.labels:
                raise AnalysisError(which, "no such run", f"there are {', '.join(self.labels)}")
            return self._runs[self.labels.index(which)]
        return self._runs[which]

    def __len__(self) -> int:
        return len(self._runs)

    def _ipython_key_completions_(self) -> list[str]:
        return self.labels

    def frame(self) -> pd.DataFrame:
        """What `show` prints of each run, as text with units."""
        columns = [field for field in fields.chosen(None, fields.default(self._runs))
                   if field.key != "name"]
        return pd.DataFrame({field.title: [field.show(field.value(run)) for run in self]
                             for field in columns}, index=pd.Index(self.labels, name="run"))

    def __repr__(self) -> str:
        return self.frame().to_string()

    def _repr_html_(self) -> str:
        return self.frame().to_html(border=0)


def distinct(named: list[tuple[str, str]]) -> list[str]:
    """What to call runs of these (name, file): names where they differ, else files."""
    names, files = ([str(pair[i]) for pair in named] for i in (0, 1))
    return names if len(set(names)) == len(names) else files


def parts(what: What) -> Iterator[str | Run | pd.DataFrame]:
    """The single things that `what` names, in order."""
    if isinstance(what, (Run, pd.DataFrame)):
        yield what
    elif isinstance(what, (str, os.PathLike)):
        yield os.path.expanduser(os.fspath(what))
    elif isinstance(what, Iterable):
        for item in what:
            yield from parts(item)
    else:
        raise AnalysisError(repr(what), "names no runs",
                            "give a file, folder, glob, Path, Run, table of collect, or a list")


def files(part: str | pd.DataFrame) -> list[str]:
    """The result files of a table, in memory or as `collect` wrote it; else what is named."""
    if isinstance(part, str):
        return files_of(part) if part.endswith(TABLES) else [part]
    if "file" not in part:
        raise AnalysisError("table", "no column file", "collect it with the column file")
    return [str(file) for file in part["file"]]


def opened(what: What, where: str | Sequence[str] = ()) -> Runs:
    """The runs for which all conditions `where` hold. A file found by search that is no result is
    left out with a warning."""
    found: list[Run] = []
    for part in parts(what):
        if isinstance(part, Run):
            found.append(part)
            continue
        for path, explicit in result_files(files(part)):
            try:
                found.append(Run(path))
            except AnalysisError as error:
                if explicit:
                    raise
                warnings.warn(f"left out {error}", stacklevel=3)
    if not found:
        raise AnalysisError("runs", "none given", "name files, folders or globs of result files")
    return Runs(matching(found, texts(where)))


def texts(where: str | Sequence[str]) -> list[str]:
    """Conditions, of which one may stand alone."""
    return [where] if isinstance(where, str) else list(where)


def collection(what: What, keys: list[str], where: str | Sequence[str] = ()) -> Collection:
    """The fields `keys` of the runs for which all conditions `where` hold, a row each. Tables in
    memory are taken as they stand."""
    conditions, found = [Condition(text) for text in texts(where)], []
    keys = list(dict.fromkeys([*keys, *(condition.key for condition in conditions)]))
    for part in parts(what):
        if not isinstance(part, pd.DataFrame):
            found.append(collect([str(part.path) if isinstance(part, Run) else part], keys))
            continue
        missing = [key for key in keys if key not in part]
        if missing:
            raise AnalysisError("table", f"no column {', '.join(missing)}",
                                "name them in collect(..., columns=...) or add=...")
        found.append(Collection(part[keys].reset_index(drop=True),
                                [spec(file) for file in part.get("file", [None] * len(part))]))
    if not found:
        raise AnalysisError("runs", "none given", "name files, folders or globs of result files")
    faults = [fault for one in found for fault in one.faults]
    for fault in faults:
        warnings.warn(f"left out {fault}", stacklevel=3)
    return selected(Collection(pd.concat([one.frame for one in found], ignore_index=True),
                               [s for one in found for s in one.specs], faults), conditions)


def spec(file: Any) -> dict[str, str] | None:
    """The flattened spec of a result file; None where it is gone."""
    if not isinstance(file, str) or not os.path.isfile(file):
        return None
    with Run(file) as run:
        return flattened(run.spec)


def keys(columns: str | Sequence[str] | None, default: Sequence[str], place: str) -> list[str]:
    """The keys of fields, from a list or from text with commas."""
    told = columns if columns is None or isinstance(columns, str) else ",".join(columns)
    return [field.key for field in fields.chosen(told, default, place)]


def complete(found: Collection, name: str) -> Collection:
    """The runs that are complete; the others are left out with a warning."""
    kept = found.where(np.asarray(found.frame["status"] == "complete"))
    left = len(found.frame) - len(kept.frame)
    if left:
        warnings.warn(f"{left} of {len(found.frame)} runs of {name} not complete, left out "
                      "(unfinished=True takes them in)", stacklevel=3)
    if kept.frame.empty:
        raise AnalysisError(name, "no complete run in this selection",
                            "unfinished=True takes in the others")
    return kept
