"""The tables of a result file: columns of equal numbers of rows, read when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import pandas as pd

from .errors import AnalysisError, damaged, reading
from .openfiles import Kept
from .schema import AXES

if TYPE_CHECKING:
    import xarray

BLOCK_BYTES = 32 << 20  # of a column held at a time by Column.blocks


def decoded(values: np.ndarray) -> np.ndarray:
    """Byte strings as str, anything else as it is."""
    if values.dtype.kind in "SO":
        text = [v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v)
                for v in values.ravel()]
        return np.array(text, dtype=object).reshape(values.shape)
    return values


class Column:
    """One data set [rows, ...]: slices are numpy arrays, read when they are asked for.

    axes   one letter an axis, such as "JnT" (profiled iteration, replica, tensor; see `schema`)
    unit   such as "s"; "1" where there is none
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
            rows = min(rows, len(labels))  # a file being written: columns grow in turn
        self.shape = (rows, *shape[1:])

    @property
    def data(self) -> h5py.Dataset:
        return self.table.data(self.name)

    @property
    def place(self) -> str:
        """Where it stands in the file."""
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
        else:  # ellipsis, masks, lists: numpy's business
            return self._read(slice(0, len(self)))[where]
        return self._read((first, *rest))

    def _read(self, where) -> np.ndarray:
        with reading(self.table.path, self.place):
            return decoded(np.asarray(self.data[where]))

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        values = self[:]
        return values if dtype is None else values.astype(dtype)

    def blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        """(first row, array) for consecutive blocks of rows, each of bounded size."""
        row = max(1, int(np.prod(self.shape[1:], dtype=np.int64)) * self.dtype.itemsize)
        step = max(1, BLOCK_BYTES // row)
        for first in range(0, len(self), step):
            yield first, self[first : min(first + step, len(self))]

    def rowwise(self, reduce: Callable[[np.ndarray], Any]) -> np.ndarray:
        """`reduce` (array [rows, ...] -> array [rows, ...]) over all rows, block by block."""
        parts = [np.asarray(reduce(values)) for _, values in self.blocks()]
        return np.concatenate(parts) if parts else np.empty(0)

    @property
    def index(self) -> np.ndarray:
        """The iteration of each row."""
        key = self.table.key(self.axes)
        if key is None or self.table.data(key) is None:
            return np.arange(len(self))
        return self.table.index(key, len(self))

    def labels(self) -> list[pd.Index]:
        """The labels along each axis after the first: replicas, ranks or names of tensors."""
        return [pd.Index(self.table.labels(axis, size), name=AXES.get(axis))
                for axis, size in zip(self.axes[1:], self.shape[1:])]

    def frame(self) -> pd.DataFrame:
        """[rows, labels]: rows labelled by iteration; columns by replica, rank or tensor (norms: by
        replica and tensor). Values in `unit`."""
        labels = self.labels()
        columns = (pd.MultiIndex.from_product(labels) if len(labels) > 1
                   else labels[0] if labels else pd.Index([self.name]))
        index = pd.Index(self.index, name="iteration")
        return pd.DataFrame(self[:].reshape(len(self), -1), index=index, columns=columns)

    def to_xarray(self) -> xarray.DataArray:
        """A DataArray with the coordinates iteration, replica, tensor, rank, as far as it has these
        axes, and epoch where its table has one; `attrs` hold unit and description."""
        from .labelled import array

        return array(self)

    def __repr__(self) -> str:
        what = f": {self.description}" if self.description else ""
        return (f"<{self.name} {list(self.shape)} {self.dtype}, axes {self.axes}, unit {self.unit}"
                f"{what}>")


class Table:
    """A group of columns: `table["gini"]` or `table.gini`. `"gini" in table` is true where the run
    recorded at least one row."""

    def __init__(self, kept: Kept, name: str, columns: dict[str, tuple[str, str]], replicas: Any,
                 sizes: dict[str, int]):
        """`replicas`: those that are evaluated; `sizes`: of the axes that a file has one of."""
        self._kept, self.name, self._columns = kept, name, columns
        self._replicas, self.sizes = replicas, sizes

    @property
    def group(self) -> h5py.Group:
        with reading(self.path, f"/{self.name}"):
            return self._kept.file()[self.name]

    def data(self, column: str) -> h5py.Dataset | None:
        return self._kept.data(f"{self.name}/{column}")

    @property
    def path(self) -> Path:
        return self._kept.path

    def index(self, key: str, rows: int) -> np.ndarray:
        """The iterations of the first `rows` rows, by the column that labels them."""
        found = self[key][:rows]
        if found.dtype.kind not in "iu" or np.any(found < 0):
            raise damaged(self.path, f"/{self.name}/{key}", "iterations must be numbers from 0 up")
        return found

    def key(self, axes: str) -> str | None:
        """The column that labels the rows of a column with these axes."""
        return {"I": "iteration", "J": "iteration", "Q": "variance_iteration",
                "E": "iteration"}.get(axes[:1])

    def labels(self, axis: str, size: int) -> list:
        names = self._kept.data("tensors/name") if axis == "T" else None
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
        """The columns that have one value a row, by iteration; in their units (see the columns)."""
        wanted = [self[n] for n in self.group
                  if self._columns.get(n, ("",))[0] in ("I", "J", "Q", "E")]
        wanted = [c for c in wanted if len(c) and self.key(c.axes) != c.name]
        rows = min(map(len, wanted), default=0)
        index = pd.Index(wanted[0].index[:rows] if wanted else np.empty(0, int), name="iteration")
        return pd.DataFrame({c.name: c[:rows] for c in wanted}, index=index)

    def described(self) -> pd.DataFrame:
        """A row for each column that was recorded: shape, axes, unit, description."""
        recorded = [self[name] for name in self if name in self]
        return pd.DataFrame({key: [str(getattr(c, key)) for c in recorded]
                             for key in ("shape", "axes", "unit", "description")},
                            index=pd.Index([c.name for c in recorded], name="column"))

    def __repr__(self) -> str:
        return f"<{self.name}: {', '.join(name for name in self if name in self)}>"

    def _repr_html_(self) -> str:
        return self.described().to_html(border=0)


def text(value: Any) -> str:
    """A string attribute or scalar, whatever string type HDF5 gave it."""
    if isinstance(value, h5py.Empty):
        return ""
    if isinstance(value, np.ndarray):
        value = value.item() if value.size == 1 else ", ".join(text(v) for v in value.ravel())
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
