"""What is in the result files of a folder, asked of a Python that has h5py (see read_results.py)."""

import json
import os
import subprocess
import sys

from .problem import Problem
from .program import ROOT, experiment

HELPER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "read_results.py")

HAS_H5PY = "import sys, importlib.util; sys.exit(importlib.util.find_spec('h5py') is None)"


def find_python():
    places = [os.environ.get("DBENCH_PYTHON"), os.path.join(ROOT, ".venv", "bin", "python"),
              os.path.join(ROOT, ".venv-cuda", "bin", "python"), sys.executable]
    for place in places:
        if place:
            try:
                if subprocess.call([place, "-c", HAS_H5PY], stderr=subprocess.DEVNULL) == 0:
                    return place
            except OSError:
                pass
    raise Problem("result files", "no Python with h5py here, which is needed to tell finished runs from others",
                  "scripts/setup makes .venv, which has it; or set DBENCH_PYTHON to such a Python")


class Results:
    """The files of one folder, read anew by each `read`, by path and by experiment."""

    def __init__(self, folder):
        self.folder, self.python, self.files, self.memory = folder, None, {}, {}

    def read(self):
        try:
            paths = sorted(entry.path for entry in os.scandir(self.folder) if entry.name.endswith(".h5"))
        except FileNotFoundError:
            paths = []
        self.files = {}
        stamps = {path: (os.stat(path).st_mtime, os.stat(path).st_size) for path in paths}
        new = [path for path in paths if self.memory.get(path, (None,))[0] != stamps[path]]
        for path, found in zip(new, self._ask(new)):
            found["written"] = stamps[path][0]
            if "spec" in found:
                found["experiment"] = experiment(found.pop("spec"))
            self.memory[path] = (stamps[path], found)
        self.files = {path: self.memory[path][1] for path in paths}
        return self

    def _ask(self, paths):
        if not paths:
            return []
        self.python = self.python or find_python()
        helper = subprocess.Popen([self.python, "-B", HELPER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, universal_newlines=True)
        out, errors = helper.communicate("".join(path + "\n" for path in paths))
        lines = out.splitlines()
        if len(lines) != len(paths):
            raise Problem(self.python, "could not read the result files: " + (errors.strip().splitlines() or ["?"])[-1],
                          "run scripts/setup, or set DBENCH_PYTHON")
        return [json.loads(line) for line in lines]

    def at(self, path):
        return self.files.get(path)

    def complete(self, wanted):
        """The path of a complete file of this experiment, whatever its name, or None."""
        for path, found in self.files.items():
            if found["status"] == "complete" and found.get("experiment") == wanted:
                return path
        return None
