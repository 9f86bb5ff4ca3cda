"""How many result files are open at a time, however many runs there are: the one not read for
longest is closed, and opened again when it is read next."""

import resource
from collections import OrderedDict
from pathlib import Path

import h5py

from .errors import damaged, reading
from .hdf5 import open_file

MOST = 512  # open at once, where the system lets a process have twice as many

_open: "OrderedDict[Kept, h5py.File]" = OrderedDict()  # the one not read for longest first


def limit() -> int:
    """Files of runs that may be open at once: half of those that the process may have (`ulimit
    -n`)."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if soft == resource.RLIM_INFINITY else max(1, min(MOST, soft // 2))


class Kept:
    """One file, open where it was read lately, and the data sets read from it: opening one costs
    more than reading a short column. They go with the file, as closing a file takes h5py a time
    proportional to all objects there are."""

    def __init__(self, path: Path):
        self.path = path
        self._data: dict[str, h5py.Dataset] = {}

    def file(self) -> h5py.File:
        if self in _open:
            _open.move_to_end(self)
        else:
            _open[self] = open_file(self.path)
            while len(_open) > limit():
                next(iter(_open)).close()
        return _open[self]

    def data(self, name: str) -> h5py.Dataset | None:
        """The data set of this path in the file; None where there is none. Not to be held while
        other files are read."""
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

    def close(self):
        self._data.clear()
        if self in _open:
            _open.pop(self).close()
