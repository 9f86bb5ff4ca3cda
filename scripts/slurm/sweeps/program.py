"""The program `dbench`: where it is, and what it says about a spec."""

import collections
import concurrent.futures
import contextlib
import hashlib
import json
import os
import shutil
import tempfile

from . import axes as axis
from . import jsonfile
from .problem import Problem
from .process import call

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
KEPT = ("spec", "memory_bytes_per_rank", "bytes_per_step", "result_bytes", "iterations")
MOST_AT_ONCE = 8  # a check is one process of half a second; login nodes are shared
MOST_BASES = 20  # of bases; a circle of them is for the program to refuse


def cores():
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def find():
    named = os.environ.get("DBENCH_PROGRAM", os.path.join(ROOT, "build", "dbench"))
    found = shutil.which(named)
    if not found:
        raise Problem(named, "no program here", "build it (scripts/setup), or set DBENCH_PROGRAM")
    return os.path.abspath(found)


def experiment(spec):
    """What of a resolved spec makes the experiment: not how it is called and where it is kept."""
    kept = {key: value for key, value in spec.items()
            if key not in ("name", "notes", "output", "checkpoint")}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


def understood(said):
    """Whether this is what `dbench check --json` says, as far as it is used here."""
    if not isinstance(said, dict) or not isinstance(said.get("spec"), dict):
        return False
    numbers = [said["spec"].get("replicas")] + [said.get(key) for key in KEPT if key != "spec"]
    return all(isinstance(value, (int, float)) and value >= 0 for value in numbers)


class Checker:
    """`dbench check` on each point of a sweep; what passed is remembered by all it depends on."""

    def __init__(self, sweep):
        self.sweep, self.fresh = sweep, {}
        self.program = find()
        self.cache = os.path.join(sweep.folder, "checks")
        status = os.stat(self.program)
        self.common = [self.program, status.st_mtime, status.st_size, os.environ.get("DBENCH_DATA"),
                       os.getcwd()]
        if isinstance(sweep.base, str):
            self.common += [sweep.base] + self._contents(sweep.base)
        else:
            self.common += self._chain(sweep.base, "")

    def _contents(self, path, depth=0):
        return self._chain(jsonfile.read_object(path), path, depth)

    def _chain(self, spec, path, depth=0):
        """The spec and its bases."""
        if not isinstance(spec.get("base"), str) or depth == MOST_BASES:
            return [spec]
        base = os.path.join(os.path.dirname(path), spec["base"])
        return [spec] + self._contents(base, depth + 1)

    def check(self, base, name, point):
        """What the program says, as a dict, or an error message. Asked without the run's name, so
        that another template or output folder asks nothing anew."""
        settings = [word for a, value in point.items()
                    for word in ("--set", f"{axis.pointer(a)}={json.dumps(value)}")]
        said, error = self._ask(base, settings)
        if said:
            said["spec"]["name"] = name
            said["spec"]["output"] = os.path.join(self.sweep.output, name + ".h5")
        return said, error

    def _ask(self, base, settings):
        key = hashlib.sha256(json.dumps([self.common, settings]).encode()).hexdigest()
        kept = os.path.join(self.cache, key[:32] + ".json")
        try:
            said = jsonfile.read(kept)
            if understood(said):
                return said, ""
        except Problem:
            pass
        status, out, errors = call([self.program, "check", base, "--json", "--quiet"] + settings)
        if status != 0:
            lines = [line for line in errors.splitlines() if line.strip()]
            plain = [line.replace("dbench: error: ", "") for line in lines if "error" in line]
            why = (plain or lines[-1:] or [f"dbench check ended with status {status}"])[0]
            return None, why if base == self.sweep.base else why.replace(base, "/base")
        try:
            said = jsonfile.parse("dbench check", out)
        except Problem as problem:
            return None, str(problem)
        if not understood(said):
            return None, f"{self.program} check says nothing that is understood here"
        said = collections.OrderedDict((k, said[k]) for k in KEPT)
        if os.path.isdir(self.cache):
            jsonfile.write(kept, said)
        else:
            self.fresh[kept] = json.dumps(said)
        return said, ""

    def keep(self):
        """Remembers the first answers; not to be called for a sweep that is refused, which leaves
        nothing behind."""
        for path, said in self.fresh.items():
            jsonfile.write(path, json.loads(said, object_pairs_hook=collections.OrderedDict))
        self.fresh.clear()

    @contextlib.contextmanager
    def _file_of_base(self):
        """The base as a file, for the program."""
        if isinstance(self.sweep.base, str):
            yield self.sweep.base
            return
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "base.json")
            jsonfile.write(path, self.sweep.base)
            yield path

    def check_all(self, progress):
        """(name, point, what the program says or None, error) for each point, in order."""
        with concurrent.futures.ThreadPoolExecutor(min(MOST_AT_ONCE, cores())) as pool, \
                self._file_of_base() as base:
            waiting = [(name, point, pool.submit(self.check, base, name, point))
                       for name, point in self.sweep.points]
            try:
                for k, (name, point, answer) in enumerate(waiting):
                    progress(f"checking {k + 1} of {len(waiting)}: {name}")
                    said, error = answer.result()
                    yield name, point, said, error
            finally:
                for _, _, answer in waiting:
                    answer.cancel()
                progress.clear()
