"""A helper process, in a Python that has h5py: paths on standard input, one JSON line each on output.

The standard library cannot read HDF5 and `dbench doctor` does not print the spec, so this reads both
with the analysis package, which copes with files that are being written or whose writer died.
"""

import json
import os
import sys
import types

# The package without its __init__, which loads pandas: a second for what takes a tenth.
package = types.ModuleType("dbench_analysis")
package.__path__ = [os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "..", "analysis", "dbench_analysis")]
sys.modules["dbench_analysis"] = package

from dbench_analysis.hdf5 import open_file  # noqa: E402


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def read(path):
    with open_file(path) as file:
        found = {key: text(file.attrs[key]) for key in ("status", "error", "started", "finished")}
        found["spec"] = json.loads(text(file["spec"][()]))
        found["done"] = len(file["iterations/iteration"])
        return found


for line in sys.stdin:
    path = line.rstrip("\n")
    try:
        print(json.dumps(read(path)), flush=True)
    except Exception as error:  # one bad file must not hide the others
        print(json.dumps({"status": "unreadable", "error": str(error).replace("\n", " ")}), flush=True)
