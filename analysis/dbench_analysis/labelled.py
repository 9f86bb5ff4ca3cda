"""Columns and runs as xarray objects: the same names of axes as in frames, units in `attrs`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import AnalysisError
from .run import Run
from .schema import AXES
from .table import Column

if TYPE_CHECKING:
    import xarray


def library() -> Any:
    """The module xarray, which this package does not ask for otherwise."""
    try:
        import xarray
    except ImportError as error:
        raise AnalysisError("to_xarray", "needs xarray, which is not installed",
                            "`pip install xarray`, or use frame()") from error
    return xarray


def array(column: Column) -> xarray.DataArray:
    """A column with its labels, and with the epoch of each row where its table has one."""
    rows = AXES.get(column.axes[0], "row")
    coordinates: dict[str, Any] = {rows: column.index}
    if column.axes[0] in "IE":
        epoch = column.table["epoch"][: len(column)]
        if len(epoch) == len(column):
            coordinates["epoch"] = (rows, epoch, {"units": "epochs"})
    names = [rows]
    for axis, labels in zip(column.axes[1:], column.labels()):
        names.append(AXES.get(axis, axis))
        coordinates[names[-1]] = labels.to_numpy()
    told = {"units": column.unit, "long_name": column.description}
    return library().DataArray(column[:], coordinates, names, column.name, told)


def chosen(run: Run, names: tuple[str, ...]) -> list[Column]:
    """The columns of these names, from all tables; all that were recorded where none is named."""
    tables = (run.iterations, run.parameters, run.evaluations)
    labels = ("iteration", "variance_iteration", "epoch", "replica")
    there = {name: table[name] for table in reversed(tables) for name in table
             if name in table and name not in labels}
    unknown = [name for name in names if name not in there]
    if unknown:
        raise AnalysisError(run.path, f"recorded no {', '.join(unknown)}",
                            f"there are {', '.join(there)}")
    return [there[name] for name in names or there]


def dataset(run: Run, names: tuple[str, ...]) -> xarray.Dataset:
    """See `Run.to_xarray`."""
    xr, columns = library(), chosen(run, names)
    iteration = run.iterations["iteration"][:]
    epoch = run.iterations["epoch"][:]
    rows = min(len(iteration), len(epoch))
    iteration, found = iteration[:rows], {}
    for column in columns:
        values = array(column).drop_vars("epoch", errors="ignore")
        if column.axes[0] == "E":
            values = values.rename(iteration="evaluation")
            if "replica" in values.dims:
                values = values.reindex(replica=np.arange(run.replicas))
        else:
            values = values.reindex(iteration=iteration)
        found[column.name] = values
    tensors = run.tensors
    made = xr.Dataset(found, {
        "iteration": iteration, "epoch": ("iteration", epoch[:rows], {"units": "epochs"}),
        "replica": np.arange(run.replicas), "tensor": tensors.index.to_numpy(),
        "numel": ("tensor", tensors["numel"].to_numpy()),
        "kind": ("tensor", tensors["kind"].to_numpy())})
    if "evaluation" in made.dims:
        evaluated = array(run.evaluations["iteration"]).rename(iteration="evaluation")
        made = made.assign_coords(evaluation_epoch=evaluated["epoch"].drop_vars("epoch"))
        made["evaluation"].attrs["units"] = "iterations completed"
    return made.assign_attrs(name=run.name, status=run.status, spec=json.dumps(run.spec))
