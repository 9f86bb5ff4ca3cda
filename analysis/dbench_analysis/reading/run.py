"""A result file as an object: the spec, where the run took place, and the recorded tables."""

from __future__ import annotations

import json
import os
import weakref
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import h5py
import numpy as np
import pandas as pd

from ..basics.errors import AnalysisError, damaged, reading
from . import schema
from .datasets import dataset
from .open_files import FileHandle
from .table import Table, decoded, text
from .writer import condition, last_written

if TYPE_CHECKING:
    import xarray


class Run:
    """One result file, open for reading. Arrays are read when they are used. Of many runs, only the
    most recently read ones keep their files open (see `open_files`).

    name, status, state, error   texts; started, finished: times in UTC (ISO 8601)
    replicas, rank_count         n and r, numbers
    spec, provenance, certificate, prediction   dicts
    tensors, ranks, graphs, segments, events   DataFrames
    iterations, parameters, evaluations   Tables, e.g. run.parameters.norm[-1]   # [n, T]
    """

    cells: dict[str, Any] = {}  # values from a table, if the result file does not exist (TableRow)
    render: ClassVar[Callable[[Run], str] | None] = None  # to HTML; set by `pages.overview`

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)
        self._handle = FileHandle(self.path)
        weakref.finalize(self, self._handle.release).atexit = False
        try:
            with reading(self.path, "its head"):
                self._read_head()
        except AnalysisError:
            self.close()
            raise

    def _read_head(self):
        attrs = self.file.attrs
        if text(attrs.get("schema", "")) != schema.NAME:
            raise AnalysisError(self.path, "an HDF5 file, but not a dbench result",
                                "give a file of `dbench run`")
        self.version = self._whole("schema_version")
        if self.version > schema.VERSION:
            raise AnalysisError(self.path, f"written in schema version {self.version}, this "
                                f"package reads {schema.VERSION}", "update dbench-analysis")
        missing = [group for group in schema.GROUPS if group not in self.file]
        if missing:
            raise AnalysisError(self.path, f"no group {', '.join(missing)}",
                                "the run ended before its first iteration")
        self.name = text(attrs["name"])
        self.status = text(attrs["status"])
        self.error = text(attrs.get("error", ""))
        self.started, self.finished = (text(attrs.get(key, "")) for key in ("started", "finished"))
        self.replicas, self.rank_count = self._whole("replicas"), self._whole("ranks")
        self.spec = self._json("/spec", self.file["spec"][()], schema.SPEC)
        self.provenance = self._json("/provenance", self.file["provenance"][()])
        self.certificate = self._json("/graphs, its certificate", self.file["graphs"].attrs.get(
            "certificate", ""), schema.CERTIFICATE)
        evaluated = self._handle.data("evaluations/replica")
        numel = self._handle.data("tensors/numel")
        sizes = {"n": self.replicas}
        sizes |= {"T": len(numel)} if numel is not None else {}
        sizes |= {"m": len(evaluated)} if evaluated is not None else {}
        self.iterations, self.parameters, self.evaluations = (
            Table(self._handle, name, columns, [] if evaluated is None else evaluated[:], sizes)
            for name, columns in schema.TABLES.items()
        )

    def _whole(self, name: str) -> int:
        """Return an attribute of the file that counts something, a number of at least 1."""
        with reading(self.path, f"its attribute {name}"):
            value = int(self.file.attrs[name])
        if value < 1:
            raise damaged(self.path, f"its attribute {name}", f"{value}, where 1 or more should be")
        return value

    def _json(self, where: str, value: Any, kinds: dict[str, tuple] | None = None
              ) -> dict[str, Any]:
        """Return the JSON object in a text of the file; an empty dict if the text is empty. `kinds`
        gives the allowed types of its members, if they exist and are not null."""
        try:
            content = text(value)
            found = json.loads(content) if content.strip("\0 \n") else {}
        except (ValueError, RecursionError) as error:
            raise AnalysisError(self.path, f"{where} is not JSON: {error}",
                                "is the file complete?") from error
        if found is not None and not isinstance(found, dict):
            raise damaged(self.path, where, "not a JSON object")
        for key, kind in (kinds or {}).items():
            there = (found or {}).get(key)
            if there is not None and not isinstance(there, kind):
                raise damaged(self.path, f"{where}, its {key}", f"{json.dumps(there)[:40]}, where "
                              f"{' or '.join(k.__name__ for k in kind)} should be")
        return found or {}

    def _frame(self, group: str, needed: tuple[str, ...] = (), last: int = 0) -> pd.DataFrame:
        """Return the one-dimensional columns of a small group, cut to the shortest; only the `last`
        rows if that number is not 0."""
        with reading(self.path, f"/{group}"):
            if group not in self.file:
                return pd.DataFrame()
            columns = {name: data for name in self.file[group]
                       if (data := self._handle.data(f"{group}/{name}")) is not None
                       and data.ndim == 1}
        missing = [name for name in needed if name not in columns]
        if missing:
            raise damaged(self.path, f"/{group}", f"no {', '.join(missing)}")
        rows = min((len(data) for data in columns.values()), default=0)
        first, found = max(0, rows - last) if last else 0, {}
        for name, data in columns.items():
            with reading(self.path, f"/{group}/{name}"):
                found[name] = decoded(np.asarray(data[first:rows]))
        return pd.DataFrame(found, index=pd.RangeIndex(first, rows, name=group.removesuffix("s")))

    @property
    def file(self) -> h5py.File:
        """Return the h5py file."""
        return self._handle.file()

    @cached_property
    def tensors(self) -> pd.DataFrame:
        """Return the parameter tensors by name: name, numel (elements), kind (weight, bias,
        norm)."""
        found = self._frame("tensors", ("name", "numel", "kind"))
        if found["numel"].dtype.kind not in "iu" or (found["numel"] < 1).any():
            raise damaged(self.path, "/tensors/numel", "sizes must be numbers from 1 up")
        return found.set_index(pd.Index(found["name"], name="tensor"))

    @cached_property
    def ranks(self) -> pd.DataFrame:
        """Return where each rank ran: host, device, usable cores, first replica."""
        return self._frame("ranks")

    @cached_property
    def prediction(self) -> dict[str, Any]:
        """Return the prediction that was made before the run (docs/predict.md); empty without."""
        with reading(self.path, "/prediction"):
            stored = self.file["prediction"][()] if "prediction" in self.file else ""
        return self._json("/prediction", stored, schema.PREDICTION)

    @property
    def parameter_count(self) -> int:
        """Return the number of parameters of one replica."""
        return int(self.tensors["numel"].sum())

    @property
    def segments(self) -> pd.DataFrame:
        """Return the starts of the run: the first one, and one for each resume."""
        return self._frame("segments")

    @property
    def events(self) -> pd.DataFrame:
        """Return warnings and other events: time (seconds since the start), iteration, kind,
        text."""
        return self.last_events(0)

    def last_events(self, count: int) -> pd.DataFrame:
        """Return the last `count` events, labelled by their number; all events for 0."""
        return self._frame("events", ("time", "iteration", "kind", "text"), count)

    @property
    def graphs(self) -> pd.DataFrame:
        """Return one row per distinct mixing matrix: degree (mean, without self) and rho."""
        columns = {name: data for name in ("degree", "rho")
                   if (data := self._handle.data(f"graphs/{name}")) is not None}
        with reading(self.path, "/graphs"):
            rows = min((len(data) for data in columns.values()), default=0)
            return pd.DataFrame({name: data[:rows] for name, data in columns.items()},
                                index=pd.RangeIndex(rows, name="graph"))

    def matrix(self, row: int) -> np.ndarray:
        """Return the mixing matrix W [n, n] in row `row` of /graphs: W[i, j] is the weight of
        replica j in the average of replica i."""
        with reading(self.path, "/graphs"):
            group = self.file["graphs"]
            count = max(0, len(group["offset"]) - 1)
        if not 0 <= row < count:
            raise AnalysisError(self.path, f"no graph {row}", f"/graphs has {count}")
        with reading(self.path, "/graphs"):
            first, end = (int(v) for v in group["offset"][row : row + 2])
            edges = group["edge"][first:end]
            matrix = np.zeros((self.replicas, self.replicas))
            matrix[edges[:, 0], edges[:, 1]] = group["weight"][first:end]
        return matrix

    @property
    def planned(self) -> int:
        """Return the iterations of the whole run; 0 if the file does not say."""
        with reading(self.path, "/iterations, its attribute planned"):
            return int(self.file["iterations"].attrs.get("planned", 0))

    @property
    def state(self) -> str:
        """Return the status; for a file that was not closed also what is known about its writer."""
        if self.status != "running":
            return self.status
        hosts = list(self.segments.get("host", []))
        writer = condition(self.path, hosts[-1] if hosts else "")
        since = last_written(self.path)
        return {"alive": f"running, {since}",
                "dead": f"running, but its writer is dead, {since}"}.get(
            writer, f"running, or its writer is dead, {since}")

    @property
    def is_growing(self) -> bool:
        """Return whether a program may still be writing the file."""
        return self.status == "running" and " but its writer is dead" not in self.state

    def to_xarray(self, *columns: str) -> xarray.Dataset:
        """Return an xarray Dataset of these columns of all tables (default: all columns; norms are
        large).

        Coordinates: iteration and its epoch, replica, rank, tensor with its numel and kind; and
        evaluation (iterations completed) with its epoch. A value is NaN if an iteration was not
        profiled or a replica was not evaluated. Each variable's `attrs` hold its unit.
        """
        return dataset((self.iterations, self.parameters, self.evaluations), self.tensors,
                       self.replicas, columns, {"name": self.name, "status": self.status,
                                                "spec": json.dumps(self.spec)})

    def close(self) -> None:
        self._handle.close()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        tables = [f"\n  {table!r}" for table in (self.iterations, self.parameters,
                                                 self.evaluations)]
        return (f"<Run {self.name}: {self.replicas} replicas, {len(self.iterations)} iterations, "
                f"{self.state}{''.join(tables)}>")

    def _repr_html_(self) -> str | None:
        return None if Run.render is None else Run.render(self)
