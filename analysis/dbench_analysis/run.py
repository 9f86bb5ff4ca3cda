"""A result file as an object: what was asked for, where it ran, and the tables it recorded."""

import json
import weakref
from functools import cached_property
from pathlib import Path

import h5py
import numpy as np
import pandas as pd

from . import schema
from .errors import AnalysisError
from .openfiles import Kept
from .table import Table, decoded, text
from .writer import condition, duration, silence


class Run:
    """One result file, open for reading. Arrays are read when they are asked for. Of many runs only
    those read lately keep their files open (see `openfiles`).

    spec, provenance, certificate   dicts
    tensors, ranks, segments, events   DataFrames
    iterations, parameters, evaluations   Tables, e.g. run.parameters["norm"][-1]   # [n, T]
    """

    def __init__(self, path):
        self.path = Path(path)
        self._kept = Kept(self.path)
        weakref.finalize(self, self._kept.close).atexit = False
        try:
            self._read_head()
        except (KeyError, OSError, RuntimeError) as error:
            self.close()
            raise AnalysisError(
                self.path, f"damaged or cut short: {error}",
                "`dbench doctor FILE` examines the file"
            ) from error
        except AnalysisError:
            self.close()
            raise

    def _read_head(self):
        attrs = self.file.attrs
        if text(attrs.get("schema", "")) != schema.NAME:
            raise AnalysisError(self.path, "an HDF5 file, but not a dbench result",
                                "give a file of `dbench run`")
        self.version = int(attrs["schema_version"])
        if self.version > schema.VERSION:
            raise AnalysisError(
                self.path,
                f"written in schema version {self.version}, this package reads {schema.VERSION}",
                "update dbench-analysis",
            )
        missing = [group for group in schema.GROUPS if group not in self.file]
        if missing:
            raise AnalysisError(
                self.path, f"no group {', '.join(missing)}",
                "the run ended before its first iteration"
            )
        self.name = text(attrs["name"])
        self.status = text(attrs["status"])
        self.error = text(attrs.get("error", ""))
        self.started, self.finished = (text(attrs.get(key, "")) for key in ("started", "finished"))
        self.replicas = int(attrs["replicas"])
        self.spec = self._json(text(self.file["spec"][()]), "/spec")
        self.provenance = self._json(text(self.file["provenance"][()]), "/provenance")
        self.certificate = self._json(text(self.file["graphs"].attrs.get("certificate", "")),
                                      "/graphs")
        evaluated = (self.file["evaluations/replica"][:] if "evaluations/replica" in self.file
                     else [])
        self.iterations, self.parameters, self.evaluations = (
            Table(self._kept, name, columns, evaluated) for name, columns in schema.TABLES.items()
        )

    def _json(self, content: str, where: str) -> dict:
        try:
            value = json.loads(content) if content.strip("\0 \n") else {}
        except json.JSONDecodeError as error:
            raise AnalysisError(self.path, f"{where} is not JSON: {error}",
                                "is the file complete?") from error
        return value or {}

    def _frame(self, group: str) -> pd.DataFrame:
        """The one-dimensional columns of a small group, cut to the shortest."""
        if group not in self.file:
            return pd.DataFrame()
        columns = {name: data for name, data in self.file[group].items() if data.ndim == 1}
        rows = min((data.shape[0] for data in columns.values()), default=0)
        return pd.DataFrame({name: decoded(np.asarray(data[:rows]))
                             for name, data in columns.items()})

    @property
    def file(self) -> h5py.File:
        """The h5py file."""
        return self._kept.file()

    @cached_property
    def tensors(self) -> pd.DataFrame:
        return self._frame("tensors")

    @cached_property
    def ranks(self) -> pd.DataFrame:
        return self._frame("ranks")

    @property
    def rank_count(self) -> int:
        return int(self.file.attrs["ranks"])

    @property
    def parameter_count(self) -> int:
        """Parameters of one replica."""
        return int(self.file["tensors/numel"][:].sum())

    @property
    def segments(self) -> pd.DataFrame:
        return self._frame("segments")

    @property
    def events(self) -> pd.DataFrame:
        return self._frame("events")

    @property
    def graphs(self) -> pd.DataFrame:
        """One row per distinct mixing matrix: degree (mean, without self) and rho."""
        group = self.file["graphs"]
        found = {name: group[name][:] for name in ("degree", "rho") if name in group}
        rows = min((len(values) for values in found.values()), default=0)
        return pd.DataFrame({name: values[:rows] for name, values in found.items()})

    def matrix(self, row: int) -> np.ndarray:
        """Mixing matrix W [n, n] of row `row` of /graphs: W[i, j] weighs what i takes from j."""
        group = self.file["graphs"]
        if not 0 <= row < len(group["offset"]) - 1:
            raise AnalysisError(self.path, f"no graph {row}",
                                f"/graphs has {max(0, len(group['offset']) - 1)}")
        first, end = (int(v) for v in group["offset"][row : row + 2])
        edges = group["edge"][first:end]
        matrix = np.zeros((self.replicas, self.replicas))
        matrix[edges[:, 0], edges[:, 1]] = group["weight"][first:end]
        return matrix

    @property
    def planned(self) -> int:
        """Iterations of the whole run; 0 where the file does not say."""
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

    def close(self):
        self._kept.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        return (f"<Run {self.name}: {self.replicas} replicas, {len(self.iterations)} iterations, "
                f"{self.state}>")


def open(path) -> Run:  # the name that callers expect: dbench_analysis.open
    """Opens a result file: finished, being written, or left behind by a killed writer."""
    return Run(path)


load = open
