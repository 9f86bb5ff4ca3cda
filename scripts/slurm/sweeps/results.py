"""What is in a folder's result files, asked of a Python that has h5py (see read_results.py)."""

import json
import os
import stat
import subprocess
import sys

from .files import NOT_ORDINARY
from .problem import Problem
from .process import call, last_line
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
    raise Problem("result files", "no Python with h5py here, which is needed to tell finished runs "
                  "from others", "scripts/setup makes .venv, which has it; or set DBENCH_PYTHON to "
                  "such a Python")


def no_file(what):
    """Of something that only has a result file's name."""
    return {"status": "no file", "error": what, "done": 0, "written": 0}


def understood(line):
    """What the helper said of a file, its spec replaced by what makes the experiment."""
    try:
        found = json.loads(line)
        if "spec" in found:
            found["experiment"] = experiment(found.pop("spec"))
        return found
    except RecursionError:
        return {"status": "unreadable", "error": "/spec is nested too deep", "done": 0}


class Results:
    """The files of one folder, read anew by each `read`, by path and by experiment."""

    def __init__(self, folder):
        self.folder, self.python, self.files, self.memory = folder, None, {}, {}

    def read(self):
        self.files, new = {}, {}
        for path in self._paths():
            try:
                status = os.stat(path)
            except OSError:  # removed meanwhile, or
                if os.path.islink(path):
                    self.files[path] = no_file("a link to nothing")
                continue
            stamp = (status.st_mtime, status.st_size)
            if not stat.S_ISREG(status.st_mode):
                self.files[path] = no_file(NOT_ORDINARY)
            elif self.memory.get(path, (None,))[0] != stamp:
                new[path] = stamp
            else:
                self.files[path] = self.memory[path][1]
        for (path, stamp), found in zip(new.items(), self._ask(list(new))):
            found["written"] = stamp[0]
            self.memory[path] = (stamp, found)
            self.files[path] = found
        return self

    def _paths(self):
        try:
            return sorted(os.path.join(self.folder, name) for name in os.listdir(self.folder)
                          if name.endswith(".h5"))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise Problem(self.folder, f"cannot be read: {error.strerror}",
                          "make it a folder of yours, or change \"output\"") from error

    def _ask(self, paths):
        if not paths:
            return []
        self.python = self.python or find_python()
        asked = "".join(json.dumps(path) + "\n" for path in paths)
        status, out, errors = call([self.python, "-B", HELPER], asked)
        lines = out.splitlines()
        if status < 0 and len(lines) < len(paths):
            raise Problem(paths[len(lines)], f"whoever reads it dies of signal {-status}",
                          "move it away")
        if status != 0 or len(lines) != len(paths):
            raise Problem(self.python, "could not read the result files: " + last_line(errors),
                          "run scripts/setup, or set DBENCH_PYTHON")
        return [understood(line) for line in lines]

    def at(self, path):
        return self.files.get(path)

    def complete(self, wanted):
        """The path of a complete file of this experiment, whatever its name, or None."""
        for path, found in self.files.items():
            if found["status"] == "complete" and found.get("experiment") == wanted:
                return path
        return None
