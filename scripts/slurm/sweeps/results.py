"""The result files of a folder, read by a Python that has h5py (see read_results.py)."""

import json
import os
import stat
import subprocess
import sys
import time

from .files import NOT_ORDINARY
from .problem import Problem
from .process import call, last_line
from .program import ROOT, experiment

HELPER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "read_results.py")

HAS_H5PY = "import sys, importlib.util; sys.exit(importlib.util.find_spec('h5py') is None)"


SETTLED = 3  # seconds after which a further change of a file also changes its time


def find_python():
    """Return a Python that has h5py."""
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
    """Return the entry for a path that has a result file's name and is not a file."""
    return {"status": "no file", "error": what, "done": 0, "written": 0}


def parsed(line):
    """Return what the helper wrote about a file. The spec remains text, which takes less memory."""
    try:
        found = json.loads(line)
        if "spec" in found:
            found["spec"] = json.dumps(found["spec"])
        return found
    except RecursionError:
        return {"status": "unreadable", "error": "/spec is nested too deep", "done": 0}


class Results:
    """The result files of one folder, by path and by experiment. Each `read` looks for changes. It
    also reads files again that changed so recently, or at a time so far in the future, that the
    next change may leave their time as it is."""

    def __init__(self, folder, metrics=()):
        self.folder, self.python, self.files, self.memory = folder, None, {}, {}
        self.metrics = list(metrics)  # columns of /evaluations: `last` holds their last values
        self.by_experiment = {}  # ignored entries: {experiment: path of a complete file}

    def read(self, afresh=()):
        """Read what changed, and the files of the paths `afresh` even if they seem unchanged:
        another host may have written them, and opening a file asks the file server for its
        state."""
        self.files, self.by_experiment, new, now = {}, {}, {}, time.time()
        for path in afresh:
            self.memory.pop(path, None)
        for path in self._paths():
            try:
                status = os.stat(path)
            except OSError:  # removed in the meantime, or a broken link
                if os.path.islink(path):
                    self.files[path] = no_file("a link to nothing")
                continue
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            if not stat.S_ISREG(status.st_mode):
                self.files[path] = no_file(NOT_ORDINARY)
            elif self.memory.get(path, (None,))[0] != stamp:
                new[path] = stamp
            else:
                self.files[path] = self.memory[path][1]
        for (path, stamp), found in zip(new.items(), self._ask(list(new))):
            found["written"] = stamp[0] / 1e9
            if found["written"] < now - SETTLED:
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
                          "change its permissions, or change \"output\"") from error

    def _ask(self, paths):
        if not paths:
            return []
        self.python = self.python or find_python()
        asked = "".join(json.dumps(path) + "\n" for path in paths)
        status, out, errors = call([self.python, "-B", HELPER, *self.metrics], asked)
        lines = out.splitlines()
        if status < 0 and len(lines) < len(paths):
            raise Problem(paths[len(lines)], f"reading it ends with signal {-status}",
                          "move it away")
        if status != 0 or len(lines) != len(paths):
            raise Problem(self.python, "could not read the result files: " + last_line(errors),
                          "run scripts/setup, or set DBENCH_PYTHON")
        return [parsed(line) for line in lines]

    def at(self, path):
        return self.files.get(path)

    def experiment(self, path, ignored):
        """Return the experiment of a file; None if its spec is unknown."""
        spec = self.files[path].get("spec")
        return spec and experiment(json.loads(spec), ignored)

    def complete(self, wanted, ignored):
        """Return the path of a complete file of this experiment, whatever its name, or None."""
        if ignored not in self.by_experiment:
            paths = [path for path, found in self.files.items() if found["status"] == "complete"]
            self.by_experiment[ignored] = {self.experiment(path, ignored): path
                                           for path in reversed(paths)}
        return self.by_experiment[ignored].get(wanted)
