"""A helper process, in a Python that has h5py: paths on its input, a JSON line each on its output.

Paths are JSON strings, since they may hold anything. The standard library cannot read HDF5 and
`dbench doctor` does not print the spec, so this reads both with the analysis package, which copes
with files that are being written or whose writer died.
"""

import json
import os
import sys
import types

# The package without its __init__, which loads pandas: a second for what takes a tenth.
package = types.ModuleType("dbench_analysis")
HERE = os.path.dirname(os.path.realpath(__file__))
package.__path__ = [os.path.join(HERE, "..", "..", "..", "analysis", "dbench_analysis")]
sys.modules["dbench_analysis"] = package

from dbench_analysis.hdf5 import open_file  # noqa: E402


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def read(path):
    with open_file(path) as file:
        found = {key: text(file.attrs[key]) for key in ("status", "error", "started", "finished")}
        found["spec"] = json.loads(text(file["spec"][()]))
        if not isinstance(found["spec"], dict):
            raise ValueError("/spec is no JSON object")
        found["done"] = len(file["iterations/iteration"])
        return found


for line in sys.stdin:
    try:
        found = read(json.loads(line))
    except Exception as error:  # one bad file must not hide the others
        found = {"status": "unreadable", "error": str(error).replace("\n", " "), "done": 0}
    print(json.dumps(found), flush=True)
