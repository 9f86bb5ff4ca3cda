"""The columns of a run as one xarray dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..basics.errors import AnalysisError
from .table import Column, Table
from .xarray_library import library

if TYPE_CHECKING:
    import xarray

LABELS = ("iteration", "variance_iteration", "epoch", "replica")  # columns that label others


def chosen(tables: tuple[Table, ...], names: tuple[str, ...]) -> list[Column]:
    """Return the columns of these names; without names all columns that were recorded."""
    recorded = {name: table[name] for table in reversed(tables) for name in table
                if name in table and name not in LABELS}
    unknown = [name for name in names if name not in recorded]
    if unknown:
        raise AnalysisError(tables[0].path, f"recorded no {', '.join(unknown)}",
                            f"there are {', '.join(recorded)}")
    return [recorded[name] for name in names or recorded]


def dataset(tables: tuple[Table, Table, Table], tensors: pd.DataFrame, replicas: int,
            names: tuple[str, ...], attributes: dict[str, Any]) -> xarray.Dataset:
    """Return the columns `names` of the tables iterations, parameters and evaluations as a dataset;
    see `Run.to_xarray`."""
    xr, columns = library(), chosen(tables, names)
    iterations, _, evaluations = tables
    iteration, epoch = iterations["iteration"][:], iterations["epoch"][:]
    rows = min(len(iteration), len(epoch))
    iteration, found = iteration[:rows], {}
    for column in columns:
        values = column.to_xarray().drop_vars("epoch", errors="ignore")
        if column.axes[0] == "E":
            values = values.rename(iteration="evaluation")
            if "replica" in values.dims:
                values = values.reindex(replica=np.arange(replicas))
        else:
            values = values.reindex(iteration=iteration)
        found[column.name] = values
    made = xr.Dataset(found, {
        "iteration": iteration, "epoch": ("iteration", epoch[:rows], {"units": "epochs"}),
        "replica": np.arange(replicas), "tensor": tensors.index.to_numpy(),
        "numel": ("tensor", tensors["numel"].to_numpy()),
        "kind": ("tensor", tensors["kind"].to_numpy())})
    if "evaluation" in made.dims:
        evaluated = evaluations["iteration"].to_xarray().rename(iteration="evaluation")
        made = made.assign_coords(evaluation_epoch=evaluated["epoch"].drop_vars("epoch"))
        made["evaluation"].attrs["units"] = "iterations completed"
    return made.assign_attrs(attributes)
