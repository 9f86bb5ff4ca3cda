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
from .process import call, outside_a_step
from .text import whole

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
NUMBERS = ("memory_bytes_per_rank", "bytes_per_step", "result_bytes", "result_bytes_per_rank",
           "iterations", "ranks", "evaluation_share")
# The keys of `dbench check --json` that are used here.
KEPT = ("spec", "free_to_change", "activation_bytes_per_rank", *NUMBERS)
NETWORK = "/model/path"
MOST_AT_ONCE = 8  # processes; login nodes are shared
MOST_POINTS = 32  # points that one process checks; the progress line counts them
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
    the program calls free to change, except for the entries that the axes of the sweep set, and for
    the file of an exported model. (The program compares that file's digest when it resumes a run.)
    """
    varied = [NETWORK, *(axis.pointer(name) for name in axes)]
    return tuple(pointer for pointer in free if not any(
        other == pointer or other.startswith(pointer + "/") or pointer.startswith(other + "/")
        for other in varied))


def samples(point):
    """Return a text that is equal for two points of a sweep if they read the same samples: those of
    generated data depend on seed and replicas. The program reads samples again if the point before
    had others."""
    settings = sorted((axis.pointer(name), json.dumps(value)) for name, value in point.items())
    return json.dumps([setting for setting in settings
                       if setting[0].split("/")[1] in ("data", "replicas", "seed")
                       and not setting[0].startswith("/data/partition")])


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

    def _ranks_of(self, replicas):
        """Return the sweep's ranks for a run of so many replicas; None if it cannot have them."""
        ranks = self.sweep.ranks_for(replicas) if replicas else 1
        return ranks if replicas and ranks <= replicas else None

    def require_cuda(self):
        """Ask once whether the program can train on GPUs; raise Problem if it cannot."""
        if not self.sweep.on_gpus:
            return
        with self._file_of_base() as base:
            point = self.sweep.points[0][1]
            [(_, error)] = self._ask(base, [self._question({**point, "/device": "cuda"}, None)])
        if error and "/device" in error:
            raise Problem(f"{self.sweep.path}: /gpus", f"{self.program} cannot train on GPUs "
                          f"({error})", "set DBENCH_PROGRAM to a build with CUDA, or give "
                          "\"ranks\" in place of \"gpus\"")

    @staticmethod
    def _question(point, ranks):
        """Return the object by which `dbench check --points` is asked about a point."""
        settings = {axis.pointer(name): value for name, value in point.items()}
        return {"set": settings, **({"ranks": ranks} if ranks else {})}

    def check(self, base, points):
        """Return (what the program prints as a dict, ""), or (None, an error message), for each
        (name, point). The program does not get the run's name, so that a change of the template or
        the output folder needs no new checks. It plans for the sweep's ranks and estimates the
        memory of activations."""
        ranks = [self._ranks_of(self._replicas(point)) for _, point in points]
        found = self._ask(base, [self._question(point, r) for (_, point), r in zip(points, ranks)])
        # Only the resolved spec says how many replicas there are, and so the number of ranks.
        planned = [self._ranks_of(answer["spec"]["replicas"]) if answer else r
                   for (answer, _), r in zip(found, ranks)]
        wrong = [k for k, r in enumerate(ranks) if planned[k] != r]
        again = self._ask(base, [self._question(points[k][1], planned[k]) for k in wrong])
        for k, answer in zip(wrong, again):
            found[k] = answer
        return [self._of_sweep(name, *one) for (name, _), one in zip(points, found)]

    def _of_sweep(self, name, answer, error):
        """Return an answer of the program with the run's name and output, or an error."""
        if answer and self.sweep.on_gpus and answer["spec"].get("device") == "cpu":
            return None, ("/device: \"cpu\", but the sweep file requests GPUs: set \"cuda\" or "
                          "\"auto\", or give \"ranks\" in place of \"gpus\"")
        if answer:
            answer["spec"]["name"] = name
            answer["spec"]["output"] = os.path.join(self.sweep.output, name + ".h5")
        return answer, error

    def _ask(self, base, questions):
        """Return (answer, "") or (None, error) for each question, stored answers among them."""
        kept = [os.path.join(self.cache, hashlib.sha256(json.dumps(
            [self.common, question]).encode()).hexdigest()[:32] + ".json")
            for question in questions]
        found = [self._stored(path) for path in kept]
        open_ones = [k for k, answer in enumerate(found) if answer is None]
        told = self._start(base, [questions[k] for k in open_ones]) if open_ones else []
        for k, (answer, error) in zip(open_ones, told):
            if answer is not None and not is_answer(answer):
                answer, error = None, f"{self.program} check prints nothing that is an answer"
            if answer is not None:
                answer = collections.OrderedDict((key, answer[key]) for key in KEPT)
                self._store(kept[k], answer)
            found[k] = (answer, error)
        return found

    @staticmethod
    def _stored(path):
        try:
            answer = jsonfile.read(path)
        except Problem:
            return None
        return (answer, "") if is_answer(answer) else None

    def _store(self, path, answer):
        if os.path.isdir(self.cache):
            jsonfile.write(path, answer)
        else:
            self.fresh[path] = json.dumps(answer)

    def _start(self, base, questions):
        """Start the program once and return (what it prints, "") or (None, error) for each
        question."""
        def said(error):
            lines = [line for line in error.splitlines() if line.strip()]
            plain = [line.replace("dbench: error: ", "") for line in lines if "error" in line]
            why = (plain or lines[-1:] or [f"dbench check ended with status {status}"])[0]
            return why if base == self.sweep.base else why.replace(base, "/base")

        status, out, errors = call(
            [self.program, "check", base, "--points", "-", "--activations", "--json", "--quiet"],
            json.dumps(questions), outside_a_step())
        try:
            answers = jsonfile.parse("dbench check", out)
        except Problem as problem:
            return [(None, said(errors) if status else str(problem))] * len(questions)
        if not isinstance(answers, list) or len(answers) != len(questions):
            why = said(errors) if status else (
                f"{self.program} check prints nothing that is an answer")
            return [(None, why)] * len(questions)
        return [(None, said(f"dbench: error: {answer['error']}"))
                if isinstance(answer, dict) and isinstance(answer.get("error"), str)
                else (answer, "") for answer in answers]

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
        points, workers = self.sweep.points, min(MOST_AT_ONCE, cores())
        order = sorted(range(len(points)), key=lambda k: samples(points[k][1]))
        size = max(1, min(MOST_POINTS, -(-len(points) // workers)))
        parts = [order[k:k + size] for k in range(0, len(points), size)]
        found: dict = {}
        with concurrent.futures.ThreadPoolExecutor(workers) as pool, \
                self._file_of_base() as base:
            waiting = [pool.submit(self.check, base, [points[k] for k in part]) for part in parts]
            try:
                for part, future in zip(parts, waiting):
                    progress(f"checking {len(found) + 1} to {len(found) + len(part)} of "
                             f"{len(points)}: {points[part[0]][0]}")
                    found.update(zip(part, future.result()))
            finally:
                for future in waiting:
                    future.cancel()
                progress.clear()
        for k, (name, point) in enumerate(points):
            yield (name, point, *found[k])
