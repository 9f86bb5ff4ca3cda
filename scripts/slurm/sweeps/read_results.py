"""A helper process in a Python that has h5py. It reads paths and writes a JSON line for each. Its
arguments are columns of /evaluations, of which it adds the last values.

Paths arrive as JSON strings, because a path may contain any character. The standard library cannot
read HDF5, and `dbench doctor` does not print the spec. This process reads both with the analysis
package, which also reads files that are being written or were left by a killed writer.
"""

import json
import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "analysis"))

from dbench_analysis.reading.hdf5 import open_file  # noqa: E402


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def read(path):
    with open_file(path) as file:
        found = {key: text(file.attrs[key]) for key in ("status", "error", "started", "finished")}
        found["spec"] = json.loads(text(file["spec"][()]))
        if not isinstance(found["spec"], dict):
            raise ValueError("/spec is no JSON object")
        found["done"] = len(file["iterations/iteration"])
        found["last"] = {name: float(file["evaluations"][name][-1]) for name in sys.argv[1:]
                         if name in file["evaluations"] and len(file["evaluations"][name])}
        return found


for line in sys.stdin:
    try:
        found = read(json.loads(line))
    except Exception as error:  # one bad file must not hide the others
        found = {"status": "unreadable", "error": str(error).replace("\n", " "), "done": 0}
    print(json.dumps(found), flush=True)
