"""A run whose result file does not exist: what its row in a table of `collect` contains."""

import json
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from ..basics.errors import AnalysisError
from ..reading import schema
from ..reading.metrics import EVERYWHERE, FURTHER
from ..reading.open_files import FileHandle
from ..reading.run import Run
from ..reading.table import Table


class TableRow(Run):
    """Settings and results of a run; each of its tables has one row. Figures over iterations need
    the file.

    The parameters count as one tensor of one element, so the variance is the mean over the first
    tenth of the iterations.
    """

    def __init__(self, path: Path, table: str, cells: dict):
        if not isinstance(cells.get("spec"), str):
            raise AnalysisError(table, f"its result file {path} is not there, and it has no column "
                                "spec", "collect again, or restore the file")
        self.path, self.cells = path, cells
        self.name, self.status, self.error = (str(cells.get(key) or "")
                                              for key in ("name", "status", "error"))
        self.spec, self.provenance = json.loads(cells["spec"]), {}
        self.replicas, self.rank_count = self._number("replicas", 1), self._number("ranks", 1)
        rho = self._number("rho")
        self.certificate = {} if np.isnan(rho) else {"rho": rho}
        self._handle = Cells(path, self._arrays())
        self.iterations, self.parameters, self.evaluations = (
            Table(self._handle, name, columns, [], {}) for name, columns in schema.TABLES.items())

    def _number(self, key: str, default=float("nan")):
        return self.cells.get(key, default)

    def _arrays(self) -> dict[str, np.ndarray]:
        early = self._number("variance_early")
        found = {
            "iterations/iteration": [0], "iterations/epoch": [self._number("epochs")],
            "iterations/degree": [self._number("degree")],
            "iterations/bytes_sent": [self._number("bytes")],
            "parameters/variance_iteration": [0],
            "parameters/variance": [[early]],
            "parameters/consensus_distance": [np.sqrt(early)],
            "evaluations/iteration": [self._number("iterations", 0)],
            "evaluations/epoch": [self._number("epochs")],
        }
        further = [what for what in FURTHER if not np.isnan(self._number(f"{what}_mean_model"))]
        for what in (*EVERYWHERE, *further):
            found[f"evaluations/local_{what}"] = [[self._number(f"{what}_{edge}")
                                                   for edge in ("min", "median", "max")]]
            found[f"evaluations/mean_{what}"] = [self._number(f"{what}_mean_model")]
        return {name: np.array(values) for name, values in found.items()}

    @cached_property
    def tensors(self) -> pd.DataFrame:
        return pd.DataFrame({"name": ["all"], "numel": [1], "kind": ["weight"]}, index=["all"])


class Cells(FileHandle):
    """Arrays in place of the data sets of a file."""

    def __init__(self, path: Path, arrays: dict[str, np.ndarray]):
        super().__init__(path)
        self._arrays = arrays

    def data(self, name: str):
        return self._arrays.get(name)
