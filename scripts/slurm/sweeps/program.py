"""The program `dbench`: where it is, and what it says about a spec."""

import collections
import concurrent.futures
import hashlib
import json
import os
import shutil
import subprocess

from . import axes as axis
from . import jsonfile
from .problem import Problem

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))))
KEPT = ("spec", "memory_bytes_per_rank", "bytes_per_step", "result_bytes", "iterations")
MOST_AT_ONCE = 8  # a check is one process of half a second; login nodes are shared


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
    kept = {key: value for key, value in spec.items() if key not in ("name", "notes", "output", "checkpoint")}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


class Checker:
    """`dbench check` on each point of a sweep; what passed is remembered by everything it depends on."""

    def __init__(self, sweep):
        self.sweep = sweep
        self.program = find()
        self.cache = os.path.join(sweep.folder, "checks")
        status = os.stat(self.program)
        self.common = [self.program, status.st_mtime, status.st_size, os.environ.get("DBENCH_DATA"), os.getcwd()]
        if isinstance(sweep.base, str):
            self.base = sweep.base
        else:
            self.base = os.path.join(sweep.folder, "base.json")
            jsonfile.write(self.base, sweep.base)
        self.common += [self.base] + self._contents(self.base)

    def _contents(self, path, depth=0):
        spec = jsonfile.read_object(path)
        found = [spec]
        if isinstance(spec.get("base"), str) and depth < 20:
            found += self._contents(os.path.join(os.path.dirname(path), spec["base"]), depth + 1)
        return found

    def check(self, name, point):
        """What the program says, as a dict, or an error message. Asked without the run's name, so that
        another template or output folder asks nothing anew."""
        settings = [word for a, value in point.items()
                    for word in ("--set", "{}={}".format(axis.pointer(a), json.dumps(value)))]
        said, error = self._ask(settings)
        if said:
            said["spec"]["name"], said["spec"]["output"] = name, os.path.join(self.sweep.output, name + ".h5")
        return said, error

    def _ask(self, settings):
        key = hashlib.sha256(json.dumps([self.common, settings]).encode()).hexdigest()
        kept = os.path.join(self.cache, key[:32] + ".json")
        try:
            with open(kept) as file:
                return json.load(file, object_pairs_hook=collections.OrderedDict), ""
        except (OSError, ValueError):
            pass
        done = subprocess.Popen([self.program, "check", self.base, "--json", "--quiet"] + settings,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
        out, errors = done.communicate()
        if done.returncode != 0:
            lines = [line for line in errors.splitlines() if line.strip()]
            plain = [line.replace("dbench: error: ", "") for line in lines if "error" in line] or lines[-1:]
            return None, plain[0] if plain else "dbench check ended with status {}".format(done.returncode)
        said = json.loads(out, object_pairs_hook=collections.OrderedDict)
        said = collections.OrderedDict((k, said[k]) for k in KEPT)
        jsonfile.write(kept, said)
        return said, ""

    def check_all(self, progress):
        """(name, point, what the program says or None, error) for each point, in order."""
        with concurrent.futures.ThreadPoolExecutor(min(MOST_AT_ONCE, cores())) as pool:
            waiting = [(name, point, pool.submit(self.check, name, point)) for name, point in self.sweep.points]
            try:
                for k, (name, point, answer) in enumerate(waiting):
                    progress("checking {} of {}: {}".format(k + 1, len(waiting), name))
                    said, error = answer.result()
                    yield name, point, said, error
            finally:
                for _, _, answer in waiting:
                    answer.cancel()
                progress.clear()
