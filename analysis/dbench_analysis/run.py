"""A result file as an object: what was asked for, where it ran, and the tables it recorded."""

from __future__ import annotations

import json
import os
import weakref
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import pandas as pd

from . import schema
from .errors import AnalysisError, damaged, reading
from .openfiles import Kept
from .table import Table, decoded, text
from .writer import condition, duration, silence

if TYPE_CHECKING:
    import xarray


class Run:
    """One result file, open for reading. Arrays are read when they are asked for. Of many runs only
    those read lately keep their files open (see `openfiles`).

    name, status, state, error   texts; started, finished: times in UTC (ISO 8601)
    replicas, rank_count         n and r, numbers
    spec, provenance, certificate   dicts
    tensors, ranks, graphs, segments, events   DataFrames
    iterations, parameters, evaluations   Tables, e.g. run.parameters.norm[-1]   # [n, T]
    """

    cells: dict[str, Any] = {}  # what a table said of a run without its file (see `row`)

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)
        self._kept = Kept(self.path)
        weakref.finalize(self, self._kept.close).atexit = False
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
        evaluated = self._kept.data("evaluations/replica")
        numel = self._kept.data("tensors/numel")
        sizes = {"n": self.replicas}
        sizes |= {"T": len(numel)} if numel is not None else {}
        sizes |= {"m": len(evaluated)} if evaluated is not None else {}
        self.iterations, self.parameters, self.evaluations = (
            Table(self._kept, name, columns, [] if evaluated is None else evaluated[:], sizes)
            for name, columns in schema.TABLES.items()
        )

    def _whole(self, name: str) -> int:
        """An attribute of the file that counts something: a number from 1 up."""
        with reading(self.path, f"its attribute {name}"):
            value = int(self.file.attrs[name])
        if value < 1:
            raise damaged(self.path, f"its attribute {name}", f"{value}, where 1 or more should be")
        return value

    def _json(self, where: str, value: Any, kinds: dict[str, tuple] | None = None
              ) -> dict[str, Any]:
        """The object in a text of the file; empty where the text is. `kinds`: what its members must
        be, where they are there and not null."""
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
        """The one-dimensional columns of a small group, cut to the shortest; only its `last` rows
        where so many are asked for."""
        with reading(self.path, f"/{group}"):
            if group not in self.file:
                return pd.DataFrame()
            columns = {name: data for name in self.file[group]
                       if (data := self._kept.data(f"{group}/{name}")) is not None
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
        """The h5py file."""
        return self._kept.file()

    @cached_property
    def tensors(self) -> pd.DataFrame:
        """The parameter tensors, by name: name, numel (elements), kind (weight, bias, norm)."""
        found = self._frame("tensors", ("name", "numel", "kind"))
        if found["numel"].dtype.kind not in "iu" or (found["numel"] < 1).any():
            raise damaged(self.path, "/tensors/numel", "sizes must be numbers from 1 up")
        return found.set_index(pd.Index(found["name"], name="tensor"))

    @cached_property
    def ranks(self) -> pd.DataFrame:
        """Where each rank ran: host, device, cores that it may use, its first replica."""
        return self._frame("ranks")

    @property
    def parameter_count(self) -> int:
        """Parameters of one replica."""
        return int(self.tensors["numel"].sum())

    @property
    def segments(self) -> pd.DataFrame:
        """The starts of the run: one, and one for each time that it was resumed."""
        return self._frame("segments")

    @property
    def events(self) -> pd.DataFrame:
        """Warnings and the like: time (seconds since the start), iteration, kind, text."""
        return self.last_events(0)

    def last_events(self, count: int) -> pd.DataFrame:
        """The last `count` events, labelled by their number; all for 0."""
        return self._frame("events", ("time", "iteration", "kind", "text"), count)

    @property
    def graphs(self) -> pd.DataFrame:
        """One row per distinct mixing matrix: degree (mean, without self) and rho."""
        columns = {name: data for name in ("degree", "rho")
                   if (data := self._kept.data(f"graphs/{name}")) is not None}
        with reading(self.path, "/graphs"):
            rows = min((len(data) for data in columns.values()), default=0)
            return pd.DataFrame({name: data[:rows] for name, data in columns.items()},
                                index=pd.RangeIndex(rows, name="graph"))

    def matrix(self, row: int) -> np.ndarray:
        """Mixing matrix W [n, n] of row `row` of /graphs: W[i, j] weighs what i takes from j."""
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
        """Iterations of the whole run; 0 where the file does not say."""
        with reading(self.path, "/iterations, its attribute planned"):
            return int(self.file["iterations"].attrs.get("planned", 0))

    @property
    def state(self) -> str:
        """The status, and for a file that nobody closed, what is known of its writer."""
        if self.status != "running":
            return self.status
        hosts = list(self.segments.get("host", []))
        writer = condition(self.path, hosts[-1] if hosts else "")
        since = f"last written {duration(silence(self.path))} ago"
        return {"alive": f"running, {since}",
                "dead": f"running, but its writer is dead, {since}"}.get(
            writer, f"running, or its writer is dead, {since}")

    def to_xarray(self, *columns: str) -> xarray.Dataset:
        """An xarray Dataset of these columns of all tables (default: of all; norms are large).

        Coordinates: iteration and its epoch, replica, rank, tensor with its numel and kind; and
        evaluation (iterations completed) with its epoch. NaN where an iteration was not profiled,
        or a replica not evaluated. Each variable's `attrs` hold its unit.
        """
        from .labelled import dataset

        return dataset(self, columns)

    def close(self) -> None:
        self._kept.close()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        tables = [f"\n  {table!r}" for table in (self.iterations, self.parameters,
                                                 self.evaluations)]
        return (f"<Run {self.name}: {self.replicas} replicas, {len(self.iterations)} iterations, "
                f"{self.state}{''.join(tables)}>")

    def _repr_html_(self) -> str:
        from .overview import sections
        from .page import folded, table

        shown = "".join(folded(title, table([], [list(row) for row in rows], words=True), True)
                        for title, rows in sections(self))
        return f"<b>{escape(self.name)}</b> <code>{escape(str(self.path))}</code>{shown}"


def open(path: str | os.PathLike[str]) -> Run:  # the name that callers expect
    """Opens a result file: finished, being written, or left behind by a killed writer."""
    return Run(path)


load = open
