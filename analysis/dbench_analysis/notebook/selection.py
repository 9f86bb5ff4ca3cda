"""The runs that a notebook names by files, folders, glob patterns, open runs, or tables."""

from __future__ import annotations

import difflib
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias, overload

import numpy as np
import pandas as pd

from ..basics.errors import AnalysisError
from ..naming import pointers
from ..naming.differences import flattened
from ..quantities import fields
from ..reading.files import TABLES, result_files
from ..reading.run import Run
from ..selection.collection import Collection, collect, selected
from ..selection.conditions import Condition, matching
from ..selection.opening import files_of

RunSource: TypeAlias = "str | os.PathLike[str] | Run | pd.DataFrame | Iterable[RunSource]"


class Runs(Sequence[Run]):
    """Open runs in order: `runs[0]`, or `runs["D_ring"]` by name, or by file if names repeat."""

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
        """Return what `show` prints for each run, as text with units."""
        columns = [field for field in fields.chosen(None, fields.default(self._runs))
                   if field.key != "name"]
        return pd.DataFrame({field.title: [field.show(field.value(run)) for run in self]
                             for field in columns}, index=pd.Index(self.labels, name="run"))

    def __repr__(self) -> str:
        return self.frame().to_string()

    def _repr_html_(self) -> str:
        return self.frame().to_html(border=0)


def distinct(named: list[tuple[str, str]]) -> list[str]:
    """Return labels for runs given as (name, file): the names if they differ, else the files."""
    names, files = ([str(pair[i]) for pair in named] for i in (0, 1))
    return names if len(set(names)) == len(names) else files


def flat(source: RunSource) -> Iterator[str | Run | pd.DataFrame]:
    """Yield the single items of a source in order, without the nesting of lists."""
    if isinstance(source, (Run, pd.DataFrame)):
        yield source
    elif isinstance(source, (str, os.PathLike)):
        yield os.path.expanduser(os.fspath(source))
    elif isinstance(source, Iterable):
        for item in source:
            yield from flat(item)
    else:
        raise AnalysisError(repr(source), "names no runs",
                            "give a file, folder, glob, Path, Run, table of collect, or a list")


def files(item: str | pd.DataFrame) -> list[str]:
    """Return the result files that a table lists, which may be in memory or written by `collect`;
    any other name is returned as it is."""
    if isinstance(item, str):
        return files_of(item) if item.endswith(TABLES) else [item]
    if "file" not in item:
        raise AnalysisError("table", "no column file", "collect it with the column file")
    return [str(file) for file in item["file"]]


def opened(source: RunSource, where: str | Sequence[str] = ()) -> Runs:
    """Return the runs for which all conditions `where` hold. A file that was found in a folder or
    by a pattern and is not a result file is skipped with a warning."""
    found: list[Run] = []
    for item in flat(source):
        if isinstance(item, Run):
            found.append(item)
            continue
        for path, explicit in result_files(files(item)):
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
    """Return the conditions as a list; `where` may be a single one."""
    return [where] if isinstance(where, str) else list(where)


def collection(source: RunSource, keys: list[str], where: str | Sequence[str] = ()) -> Collection:
    """Return the fields `keys` of the runs for which all conditions `where` hold, a row each. A
    table in memory is not collected again."""
    conditions, found = [Condition(text) for text in texts(where)], []
    keys = list(dict.fromkeys([*keys, *(condition.key for condition in conditions)]))
    for item in flat(source):
        if not isinstance(item, pd.DataFrame):
            found.append(collect([str(item.path) if isinstance(item, Run) else item], keys,
                                 processes=not is_script()))
            continue
        missing = [key for key in keys if key not in item]
        if missing:
            raise AnalysisError("table", f"no column {', '.join(missing)}",
                                "name them in collect(..., columns=...) or add=...")
        found.append(Collection(item[keys].reset_index(drop=True),
                                [spec(file) for file in item.get("file", [None] * len(item))]))
    if not found:
        raise AnalysisError("runs", "none given", "name files, folders or globs of result files")
    faults = [fault for one in found for fault in one.faults]
    for fault in faults:
        warnings.warn(f"left out {fault}", stacklevel=3)
    specs = [spec for one in found for spec in one.specs]
    pointers.refuse_unknown([condition.key for condition in conditions], specs)
    for note in pointers.unknown(keys, specs):
        warnings.warn(str(note), stacklevel=3)
    return selected(Collection(pd.concat([one.frame for one in found], ignore_index=True), specs,
                               faults), conditions)


def is_script() -> bool:
    """Return whether the main module is a script, not a notebook or a prompt. A new process would
    run a script again from its start, with everything that it does."""
    return hasattr(sys.modules["__main__"], "__file__")


def spec(file: Any) -> dict[str, str] | None:
    """Return the flattened spec of a result file; None if the file does not exist."""
    if not isinstance(file, str) or not os.path.isfile(file):
        return None
    with Run(file) as run:
        return flattened(run.spec)


def keys(columns: str | Sequence[str] | None, default: Sequence[str], place: str) -> list[str]:
    """Return the keys of fields that a list, or a text with commas, names."""
    text = columns if columns is None or isinstance(columns, str) else ",".join(columns)
    return [field.key for field in fields.chosen(text, default, place)]


def complete(found: Collection, name: str) -> Collection:
    """Return the complete runs, with a warning if there are others."""
    kept = found.where(np.asarray(found.frame["status"] == "complete"))
    left = len(found.frame) - len(kept.frame)
    if left:
        warnings.warn(f"{left} of {len(found.frame)} runs of {name} not complete, left out "
                      "(unfinished=True includes them)", stacklevel=3)
    if kept.frame.empty:
        raise AnalysisError(name, "no complete run in this selection",
                            "unfinished=True includes the others")
    return kept


def unknown(what: str, name: str, known: Any) -> AnalysisError:
    """Return the error for a name that does not exist, with the most similar known one."""
    near = difflib.get_close_matches(name, list(known), 1)
    hint = f"did you mean {near[0]}? " if near else ""
    return AnalysisError(name, f"no such {what}", f"{hint}there are {', '.join(known)}")
