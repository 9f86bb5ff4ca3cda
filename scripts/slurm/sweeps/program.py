"""The program `dbench`: where it is, and what it prints about a spec."""

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
from .text import whole

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
NUMBERS = ("memory_bytes_per_rank", "bytes_per_step", "result_bytes", "result_bytes_per_rank",
           "iterations", "ranks", "evaluation_share")
# The keys of `dbench check --json` that are used here.
KEPT = ("spec", "free_to_change", "activation_bytes_per_rank", *NUMBERS)
MOST_AT_ONCE = 8  # processes of half a second each; login nodes are shared
MOST_BASES = 20  # nested bases; the program refuses a cycle of bases


def cores():
    """Return the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def find():
    """Return the path of the program. Raises Problem if it does not exist."""
    named = os.environ.get("DBENCH_PROGRAM", os.path.join(ROOT, "build", "dbench"))
    found = shutil.which(named)
    if not found:
        raise Problem(named, "no program here", "build it (scripts/setup), or set DBENCH_PROGRAM")
    return os.path.abspath(found)


def one_form(digits):
    """Return the number in a JSON text; 1.0 and 1 are the same number."""
    value = float(digits)
    return int(value) if value.is_integer() else value


def experiment(spec, ignored):
    """Return a hash of a resolved spec without the entries at the JSON pointers `ignored`."""
    kept = json.loads(json.dumps(spec), parse_float=one_form)
    for pointer in ignored:
        *above, last = pointer.split("/")[1:]
        place = kept
        for key in above:
            place = place.get(key) if isinstance(place, dict) else None
        if isinstance(place, dict):
            place.pop(last, None)
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


def ignored_entries(free, axes):
    """Return the entries that do not decide whether two specs are the same experiment: those that
    the program calls free to change, except for the entries that the axes of the sweep set."""
    varied = [axis.pointer(name) for name in axes]
    return tuple(pointer for pointer in free if not any(
        other == pointer or other.startswith(pointer + "/") or pointer.startswith(other + "/")
        for other in varied))


def is_answer(answer):
    """Return whether this is the output of `dbench check --json` with all keys in KEPT."""
    if not isinstance(answer, dict) or not isinstance(answer.get("spec"), dict):
        return False
    free = answer.get("free_to_change")
    if not isinstance(free, list) or not all(isinstance(pointer, str) for pointer in free):
        return False
    if "activation_bytes_per_rank" not in answer:
        return False
    numbers = [answer["spec"].get("replicas")] + [answer.get(key) for key in NUMBERS]
    return all(isinstance(value, (int, float)) and value >= 0 for value in numbers)


class Checker:
    """Runs `dbench check` for each point of a sweep. Successful answers are stored under a key of
    everything that they depend on."""

    def __init__(self, sweep):
        self.sweep, self.fresh = sweep, {}
        self.program = find()
        self.cache = os.path.join(sweep.folder, "checks")
        status = os.stat(self.program)
        self.common = [self.program, status.st_mtime, status.st_size, os.environ.get("DBENCH_DATA"),
                       os.getcwd()]
        self.chain = (self._contents(sweep.base) if isinstance(sweep.base, str)
                      else self._chain(sweep.base, ""))  # the base, and the bases that it names
        self.common += ([sweep.base] if isinstance(sweep.base, str) else []) + self.chain

    def _contents(self, path, depth=0):
        return self._chain(jsonfile.read_object(path), path, depth)

    def _chain(self, spec, path, depth=0):
        """Return the spec and its bases."""
        if not isinstance(spec.get("base"), str) or depth == MOST_BASES:
            return [spec]
        base = os.path.join(os.path.dirname(path), spec["base"])
        return [spec] + self._contents(base, depth + 1)

    def _replicas(self, point):
        """Return the number of replicas of a point if an axis or a spec names it, else None."""
        for name, value in point.items():
            if axis.pointer(name) == "/replicas":
                return value if whole(value) else None
        for spec in self.chain:
            if "replicas" in spec:
                return spec["replicas"] if whole(spec["replicas"]) else None
        return None

    def _for_ranks(self, replicas):
        """Return the options that ask about a run on the sweep's ranks; none if it cannot have
        them."""
        ranks = self.sweep.ranks_for(replicas) if replicas else 1
        return ["--ranks", str(ranks)] if replicas and ranks <= replicas else []

    def require_cuda(self):
        """Ask once whether the program can train on GPUs; raise Problem if it cannot."""
        if not self.sweep.on_gpus:
            return
        with self._file_of_base() as base:
            point = self.sweep.points[0][1]
            _, error = self._ask(base, self._settings({**point, "/device": "cuda"}))
        if error and "/device" in error:
            raise Problem(f"{self.sweep.path}: /gpus", f"{self.program} cannot train on GPUs "
                          f"({error})", "set DBENCH_PROGRAM to a build with CUDA, or give "
                          "\"ranks\" in place of \"gpus\"")

    @staticmethod
    def _settings(point):
        return [word for a, value in point.items()
                for word in ("--set", f"{axis.pointer(a)}={json.dumps(value)}")]

    def check(self, base, name, point):
        """Return (what the program prints as a dict, ""), or (None, an error message). The program
        does not get the run's name, so that a change of the template or the output folder needs no
        new checks. It plans for the sweep's ranks and estimates the memory of activations."""
        settings = [*self._settings(point), "--activations"]
        ranks = self._for_ranks(self._replicas(point))
        answer, error = self._ask(base, settings + ranks)
        if answer and ranks != self._for_ranks(answer["spec"]["replicas"]):
            ranks = self._for_ranks(answer["spec"]["replicas"])
            answer, error = self._ask(base, settings + ranks)
        if answer and self.sweep.on_gpus and answer["spec"].get("device") == "cpu":
            return None, ("/device: \"cpu\", but the sweep file requests GPUs: set \"cuda\" or "
                          "\"auto\", or give \"ranks\" in place of \"gpus\"")
        if answer:
            answer["spec"]["name"] = name
            answer["spec"]["output"] = os.path.join(self.sweep.output, name + ".h5")
        return answer, error

    def _ask(self, base, settings):
        key = hashlib.sha256(json.dumps([self.common, settings]).encode()).hexdigest()
        kept = os.path.join(self.cache, key[:32] + ".json")
        try:
            answer = jsonfile.read(kept)
            if is_answer(answer):
                return answer, ""
        except Problem:
            pass
        status, out, errors = call([self.program, "check", base, "--json", "--quiet"] + settings)
        if status != 0:
            lines = [line for line in errors.splitlines() if line.strip()]
            plain = [line.replace("dbench: error: ", "") for line in lines if "error" in line]
            why = (plain or lines[-1:] or [f"dbench check ended with status {status}"])[0]
            return None, why if base == self.sweep.base else why.replace(base, "/base")
        try:
            answer = jsonfile.parse("dbench check", out)
        except Problem as problem:
            return None, str(problem)
        if not is_answer(answer):
            return None, f"{self.program} check says nothing that is is_answer here"
        answer = collections.OrderedDict((k, answer[k]) for k in KEPT)
        if os.path.isdir(self.cache):
            jsonfile.write(kept, answer)
        else:
            self.fresh[kept] = json.dumps(answer)
        return answer, ""

    def keep(self):
        """Store the first answers. The caller must not call this for a refused sweep, which leaves
        no files."""
        for path, answer in self.fresh.items():
            jsonfile.write(path, json.loads(answer, object_pairs_hook=collections.OrderedDict))
        self.fresh.clear()

    @contextlib.contextmanager
    def _file_of_base(self):
        """Provide the base as a file for the program."""
        if isinstance(self.sweep.base, str):
            yield self.sweep.base
            return
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "base.json")
            jsonfile.write(path, self.sweep.base)
            yield path

    def check_all(self, progress):
        """Yield (name, point, what the program prints or None, error) for each point, in order."""
        with concurrent.futures.ThreadPoolExecutor(min(MOST_AT_ONCE, cores())) as pool, \
                self._file_of_base() as base:
            waiting = [(name, point, pool.submit(self.check, base, name, point))
                       for name, point in self.sweep.points]
            try:
                for k, (name, point, future) in enumerate(waiting):
                    progress(f"checking {k + 1} of {len(waiting)}: {name}")
                    answer, error = future.result()
                    yield name, point, answer, error
            finally:
                for _, _, future in waiting:
                    future.cancel()
                progress.clear()
