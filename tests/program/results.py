"""Reading and comparing result files."""

import h5py
import numpy as np

# What differs between runs of the same spec: times, places, and what the split over ranks changes.
OF_THE_MACHINE = ("ranks/", "segments/", "provenance", "events/", "iterations/profile_bytes",
                  "spec")


def content(path):
    """Every recorded number but times, by name."""
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
    """Names of what is not equal to the bit."""
    a, b = content(a), content(b)
    assert a.keys() == b.keys()

    def equal(x, y):
        return np.array_equal(x, y, equal_nan=np.asarray(x).dtype.kind == "f")

    return [name for name in a if not equal(a[name], b[name])]


def read(path, name):
    with h5py.File(path) as file:
        return file[name][()]
