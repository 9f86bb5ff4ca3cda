"""Functions that read and compare result files."""

import h5py
import numpy as np

# Data sets that may differ between runs of the same spec: times, machines, and numbers that depend
# on the distribution over ranks.
OF_THE_MACHINE = ("ranks/", "segments/", "provenance", "events/", "iterations/profile_bytes",
                  "spec")


def content(path):
    """Return every recorded number except times, by name."""
    out = {}

    def visit(name, item):
        if isinstance(item,
                      h5py.Dataset) and not name.startswith(OF_THE_MACHINE) and "time" not in name \
                and "elapsed" not in name:
            out[name] = item[()]

    with h5py.File(path) as file:
        assert file.attrs["status"] == b"complete"
        file.visititems(visit)
    return out


def differences(a, b):
    """Return the names of data sets that are not bit-identical."""
    a, b = content(a), content(b)
    assert a.keys() == b.keys()

    def equal(x, y):
        return np.array_equal(x, y, equal_nan=np.asarray(x).dtype.kind == "f")

    return [name for name in a if not equal(a[name], b[name])]


def read(path, name):
    with h5py.File(path) as file:
        return file[name][()]
