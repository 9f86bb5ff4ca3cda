"""Limits how many result files are open at a time. If there are more runs, the file that was read
least recently is closed, and opened again at its next use."""

import resource
from collections import OrderedDict
from pathlib import Path

import h5py

from ..basics.errors import damaged, reading
from .hdf5 import open_file

MOST = 2048  # files that are open at once, if the system allows twice as many

_open: "OrderedDict[FileHandle, h5py.File]" = OrderedDict()  # least recently read first


def limit() -> int:
    """Return how many files of runs may be open: half of what the process may have (`ulimit -n`),
    at most MOST. Raise the process's own limit for that as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * MOST if hard == resource.RLIM_INFINITY else min(2 * MOST, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return MOST if soft == resource.RLIM_INFINITY else max(1, min(MOST, soft // 2))


class FileHandle:
    """One result file, which opens when it is read, and the data sets that were read from it:
    opening a data set costs more than reading a short column."""

    def __init__(self, path: Path):
        self.path = path
        self._data: dict[str, h5py.Dataset] = {}

    def file(self) -> h5py.File:
        """Return the open file, and mark it as read most recently."""
        if self in _open:
            _open.move_to_end(self)
        else:
            _open[self] = open_file(self.path)
            while len(_open) > limit():
                next(iter(_open)).release()
        return _open[self]

    def data(self, name: str) -> h5py.Dataset | None:
        """Return the data set of this path, or None if it does not exist. The caller must not keep
        it while other files are read, which may close this file."""
        file = self.file()
        if name not in self._data:
            with reading(self.path, f"/{name}"):
                found = file[name] if name in file else None
            if found is None:
                return None
            if not isinstance(found, h5py.Dataset):
                raise damaged(self.path, f"/{name}", "a group, where a data set should be")
            self._data[name] = found
        return self._data[name]

    def release(self):
        """Drop the file and its data sets. HDF5 closes the file when nobody holds an object of it.
        h5py's close() does so at once, but needs time proportional to all objects of all files."""
        self._data.clear()
        _open.pop(self, None)

    def close(self):
        """Close the file, also if somebody holds an object of it."""
        self._data.clear()
        if self in _open:
            _open.pop(self).close()
