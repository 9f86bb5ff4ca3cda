"""The tables of a result file. A table has columns with equal numbers of rows, which are read when
they are used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import pandas as pd

from ..basics.errors import AnalysisError, damaged, reading
from .open_files import FileHandle
from .schema import AXES
from .xarray_library import library

if TYPE_CHECKING:
    import xarray

BLOCK_BYTES = 32 << 20  # of a column that Column.blocks holds at a time


def decoded(values: np.ndarray) -> np.ndarray:
    """Return byte strings as str, and other values unchanged."""
    if values.dtype.kind in "SO":
        text = [v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v)
                for v in values.ravel()]
        return np.array(text, dtype=object).reshape(values.shape)
    return values


class Column:
    """One data set [rows, ...]. A slice of it is a numpy array, which is read at that moment.

    axes   one character per axis, such as "JnT" (profiled iteration, replica, tensor; see `schema`)
    unit   such as "s"; "1" if the values have no unit
    index  the iteration of each row
    """

    def __init__(self, table: Table, name: str, axes: str, unit: str):
        self.table, self.name, self.axes, self._unit = table, name, axes, unit
        with reading(table.path, self.place):
            shape, kind = self.data.shape, self.data.dtype.kind
        if len(shape) != len(axes) or kind not in "biufS":
            raise damaged(table.path, self.place, f"shape {list(shape)} of {self.data.dtype}, "
                          f"where numbers of the axes {axes} should be")
        for axis, size in zip(axes[1:], shape[1:]):
            if size != table.sizes.get(axis, size):
                raise damaged(table.path, self.place, f"{size} along {axis}, where "
                              f"{table.sizes[axis]} should be")
        rows = shape[0]
        key = table.key(axes)
        if key and key != name and (labels := table.data(key)) is not None:
            rows = min(rows, len(labels))  # in a file being written, columns have different lengths
        self.shape = (rows, *shape[1:])

    @property
    def data(self) -> h5py.Dataset:
        return self.table.data(self.name)

    @property
    def place(self) -> str:
        """Return the path of the data set in the file."""
        return f"/{self.table.name}/{self.name}"

    @property
    def dtype(self) -> np.dtype:
        return self.data.dtype

    @property
    def unit(self) -> str:
        with reading(self.table.path, f"{self.place}, its unit"):
            return text(self.data.attrs.get("unit", self._unit))

    @property
    def description(self) -> str:
        with reading(self.table.path, f"{self.place}, its description"):
            return text(self.data.attrs.get("description", ""))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, where: Any) -> np.ndarray:
        first, *rest = where if isinstance(where, tuple) else (where,)
        if isinstance(first, slice):
            first = slice(*first.indices(len(self)))
        elif isinstance(first, (int, np.integer)):
            if not -len(self) <= first < len(self):
                raise IndexError(f"row {first} of {self.name}, which has {len(self)}")
            first = int(first) % len(self)
        else:  # numpy interprets ellipsis, masks and lists
            return self._read(slice(0, len(self)))[where]
        return self._read((first, *rest))

    def _read(self, where) -> np.ndarray:
        with reading(self.table.path, self.place):
            return decoded(np.asarray(self.data[where]))

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        values = self[:]
        return values if dtype is None else values.astype(dtype)

    def blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield (first row, array) for consecutive blocks of rows, each of bounded size."""
        row = max(1, int(np.prod(self.shape[1:], dtype=np.int64)) * self.dtype.itemsize)
        step = max(1, BLOCK_BYTES // row)
        for first in range(0, len(self), step):
            yield first, self[first : min(first + step, len(self))]

    def rowwise(self, reduce: Callable[[np.ndarray], Any]) -> np.ndarray:
        """Return `reduce` (array [rows, ...] -> array [rows, ...]) over all rows, block by
        block."""
        parts = [np.asarray(reduce(values)) for _, values in self.blocks()]
        return np.concatenate(parts) if parts else np.empty(0)

    @property
    def index(self) -> np.ndarray:
        """Return the iteration of each row."""
        key = self.table.key(self.axes)
        if key is None or self.table.data(key) is None:
            return np.arange(len(self))
        return self.table.index(key, len(self))

    def labels(self) -> list[pd.Index]:
        """Return the labels along each axis after the first: replicas, ranks or names of
        tensors."""
        return [pd.Index(self.table.labels(axis, size), name=AXES.get(axis))
                for axis, size in zip(self.axes[1:], self.shape[1:])]

    def frame(self) -> pd.DataFrame:
        """Return a frame [rows, labels] in `unit`: rows by iteration; columns by replica, rank or
        tensor, norms by replica and tensor."""
        labels = self.labels()
        columns = (pd.MultiIndex.from_product(labels) if len(labels) > 1
                   else labels[0] if labels else pd.Index([self.name]))
        index = pd.Index(self.index, name="iteration")
        return pd.DataFrame(self[:].reshape(len(self), -1), index=index, columns=columns)

    def to_xarray(self) -> xarray.DataArray:
        """Return a DataArray. Its coordinates are iteration, replica, tensor and rank, as far as
        the column has these axes, and epoch if the table has epochs. `attrs` hold unit and
        description."""
        rows = AXES.get(self.axes[0], "row")
        coordinates: dict[str, Any] = {rows: self.index}
        if self.axes[0] in "IE":
            epoch = self.table["epoch"][: len(self)]
            if len(epoch) == len(self):
                coordinates["epoch"] = (rows, epoch, {"units": "epochs"})
        names = [rows]
        for axis, labels in zip(self.axes[1:], self.labels()):
            names.append(AXES.get(axis, axis))
            coordinates[names[-1]] = labels.to_numpy()
        attributes = {"units": self.unit, "long_name": self.description}
        return library().DataArray(self[:], coordinates, names, self.name, attributes)

    def __repr__(self) -> str:
        description = f": {self.description}" if self.description else ""
        return (f"<{self.name} {list(self.shape)} {self.dtype}, axes {self.axes}, unit {self.unit}"
                f"{description}>")


class Table:
    """A group of columns: `table["gini"]` or `table.gini`. `"gini" in table` is true if the run
    recorded at least one row."""

    def __init__(self, handle: FileHandle, name: str, columns: dict[str, tuple[str, str]],
                 replicas: Any, sizes: dict[str, int]):
        """`replicas`: the evaluated replicas; `sizes`: extents of the axes that are the same in the
        whole file."""
        self._handle, self.name, self._columns = handle, name, columns
        self._replicas, self.sizes = replicas, sizes

    @property
    def group(self) -> h5py.Group:
        with reading(self.path, f"/{self.name}"):
            return self._handle.file()[self.name]

    def data(self, column: str) -> h5py.Dataset | None:
        return self._handle.data(f"{self.name}/{column}")

    @property
    def path(self) -> Path:
        return self._handle.path

    def index(self, key: str, rows: int) -> np.ndarray:
        """Return the iterations of the first `rows` rows, from the column `key`."""
        found = self[key][:rows]
        if found.dtype.kind not in "iu" or np.any(found < 0):
            raise damaged(self.path, f"/{self.name}/{key}", "iterations must be numbers from 0 up")
        return found

    def key(self, axes: str) -> str | None:
        """Return the column that labels the rows of a column with these axes; None if there is
        none."""
        return {"I": "iteration", "J": "iteration", "Q": "variance_iteration",
                "E": "iteration"}.get(axes[:1])

    def labels(self, axis: str, size: int) -> list:
        """Return the labels along an axis of this size; numbers from 0 if it has no labels."""
        names = self._handle.data("tensors/name") if axis == "T" else None
        if names is not None:
            with reading(self.path, "/tensors/name"):
                if len(names) == size:
                    return list(decoded(names[:]))
        if axis == "m" and len(self._replicas) == size:
            return list(self._replicas)
        return list(range(size))

    def __contains__(self, name: str) -> bool:
        return self.data(name) is not None and len(self[name]) > 0

    def __iter__(self) -> Iterator[str]:
        return iter(list(self.group))

    def __getitem__(self, name: str) -> Column:
        data = self.data(name)
        if data is None:
            raise AnalysisError(self.path, f"no /{self.name}/{name}",
                                f"there are {', '.join(self.group)}")
        if name in self._columns:
            return Column(self, name, *self._columns[name])
        with reading(self.path, f"/{self.name}/{name}, its dimensions"):
            axes = text(data.attrs.get("dimensions", "?" * data.ndim)).replace(",", "")
        return Column(self, name, axes, "")

    def __len__(self) -> int:
        return len(self["iteration"])

    def __getattr__(self, name: str) -> Column:
        if name.startswith("_") or self.data(name) is None:
            raise AttributeError(f"no column {name} in /{self.name}")
        return self[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    def frame(self) -> pd.DataFrame:
        """Return the columns that have one value per row, by iteration, in their own units."""
        columns = [self[n] for n in self.group
                  if self._columns.get(n, ("",))[0] in ("I", "J", "Q", "E")]
        columns = [c for c in columns if len(c) and self.key(c.axes) != c.name]
        rows = min(map(len, columns), default=0)
        index = pd.Index(columns[0].index[:rows] if columns else np.empty(0, int), name="iteration")
        return pd.DataFrame({c.name: c[:rows] for c in columns}, index=index)

    def described(self) -> pd.DataFrame:
        """Return a row for each recorded column: shape, axes, unit, description."""
        recorded = [self[name] for name in self if name in self]
        return pd.DataFrame({key: [str(getattr(c, key)) for c in recorded]
                             for key in ("shape", "axes", "unit", "description")},
                            index=pd.Index([c.name for c in recorded], name="column"))

    def __repr__(self) -> str:
        return f"<{self.name}: {', '.join(name for name in self if name in self)}>"

    def _repr_html_(self) -> str:
        return self.described().to_html(border=0)


def text(value: Any) -> str:
    """Return a string attribute or scalar as str, whatever its HDF5 string type."""
    if isinstance(value, h5py.Empty):
        return ""
    if isinstance(value, np.ndarray):
        value = value.item() if value.size == 1 else ", ".join(text(v) for v in value.ravel())
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
