"""Plans and makes the runs of a reproduction, and finds those that are there.

A run belongs to a cell if its resolved spec is the one of the cell: names of files and what the
program calls free to change do not matter, and only the seed may be another one. Everything is kept
in one folder:

    data-<hash>/        what the reproduction's script made; the hash is that of the script and name
    specs/<run>.json    the spec of each run
    <run>.h5            the results
"""

import copy
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..basics.errors import AnalysisError
from ..graphs.graph import program
from ..reading.run import Run
from .definition import Cell, Reproduction

MADE = re.compile(r".*[/\\](data-[0-9a-f]{12}[/\\].*)")  # a path of prepared data in any folder
NETWORK = "/model/path"  # of an exported model: another file is another network
NO_DATA = 3  # exit status of a script whose own input is missing
MISSING = "data are missing: "  # begins the reason why their runs cannot be made
STAND_IN = "-stand-in"  # ends the names of runs with other data


@dataclass
class Planned:
    """One run that a cell needs.

    error        why the program refuses the spec; "" if it does not
    identity     hash of the resolved spec, without its seed
    iterations   of the run
    """

    cell: Cell
    seed: int | None
    name: str
    spec: dict[str, Any]
    error: str = ""
    identity: str = ""
    iterations: int = 0


@dataclass
class Done:
    """A complete run in the folder."""

    run: Run
    seed: Any
    stand_in: bool


@dataclass
class Place:
    """A reproduction and the folder of its runs.

    free      JSON pointers of the spec that may differ between runs of one cell
    missing   why the script could not make the data; "" if it could
    """

    what: Reproduction
    folder: Path
    free: set[str] = field(default_factory=set)
    missing: str = ""

    @property
    def data(self) -> Path | None:
        """Return the folder of the prepared data; None if there is no script."""
        if "script" not in self.what.given:
            return None
        script = (self.what.folder / self.what.given["script"]).read_bytes()
        made_by = hashlib.sha256(script + self.what.folder.name.encode()).hexdigest()
        return self.folder.absolute() / f"data-{made_by[:12]}"

    def prepare(self):
        """Make the data, if there is a script and its data are not there. A script that ends with
        the status NO_DATA tells what it lacks in its last line."""
        if self.data is None or (self.data / "values.json").exists():
            return
        script = self.what.folder / self.what.given["script"]
        self.data.mkdir(parents=True, exist_ok=True)
        ended = subprocess.run([sys.executable, script, self.data, self.what.folder.name],
                               capture_output=True, text=True)
        if ended.returncode == NO_DATA:
            lines = ended.stderr.strip().splitlines()
            self.missing = MISSING + (lines[-1] if lines else "the script does not say which")
            return
        if ended.returncode or not (self.data / "values.json").exists():
            last = (ended.stderr.strip().splitlines() or ["it wrote no values.json"])[-1]
            raise AnalysisError(script, f"did not make the data: {last}", "correct the script")

    def values(self) -> dict[str, float]:
        """Return the numbers that the script found, by name."""
        path = self.data and self.data / "values.json"
        return json.loads(path.read_text(encoding="utf-8")) if path and path.exists() else {}

    def planned(self, seeds: int = 0, stand_in: bool = False) -> list[Planned]:
        """Return the runs of all cells that can be run, each checked by the program. `seeds`: how
        many seeds a cell has at least. Runs that stand in have the first seed, and also replace
        those of cells that lack a feature."""
        runs = []
        for cell in self.what.cells:
            if cell.lacks and not stand_in:
                continue
            wanted = self.what.seeds[:1] if stand_in else more(self.what.seeds, seeds)
            for seed in wanted:
                name = cell.stem + ("" if seed is None else f"-s{seed}") + STAND_IN * stand_in
                spec = filled(self.what.spec(cell, seed, stand_in), {
                    "{data}": str(self.data), "{here}": str(self.what.folder.absolute())})
                runs.append(Planned(cell, seed, name, spec))
        self.check(runs)
        return runs

    def check(self, runs: list[Planned]):
        """Ask the program for the resolved spec of each run."""
        if not runs:
            return
        if self.missing:
            for run in runs:
                run.error = self.missing
            return
        (self.folder / "specs").mkdir(parents=True, exist_ok=True)
        for run in runs:
            (self.folder / "specs" / f"{run.name}.json").write_text(
                json.dumps(run.spec, indent=1), encoding="utf-8")
        paths = [str(self.folder / "specs" / f"{run.name}.json") for run in runs]
        answers: dict[str, Any] = {}
        for k in range(0, len(paths), 100):
            some = paths[k:k + 100]
            ended = subprocess.run([program(), "check", *some, "--json", "--quiet"],
                                   capture_output=True, text=True)
            try:
                answer = json.loads(ended.stdout)
            except ValueError:
                why = ended.stderr.strip().removeprefix("dbench: error: ").splitlines()
                answer = {"error": why[0] if why else f"status {ended.returncode}"}
            answers |= {some[0]: answer} if len(some) == 1 else answer
        for run, path in zip(runs, paths):
            answer = answers.get(path, {"error": "dbench check says nothing about it"})
            if "error" in answer or "spec" not in answer:
                run.error = answer.get("error", "dbench check does not show the spec")
                continue
            self.free |= set(answer["free_to_change"])
            run.iterations = answer["iterations"]
            run.identity = identity(answer["spec"], answer["free_to_change"])

    def done(self, planned: list[Planned]) -> dict[str, list[Done]]:
        """Return the complete runs in the folder by their identity, each seed once."""
        free = sorted(self.free)
        wanted = {run.identity for run in planned if run.identity}
        found: dict[str, list[Done]] = {}
        for path in sorted(self.folder.glob("*.h5")) if wanted else []:
            try:
                run = Run(path)
            except AnalysisError:
                continue  # an unfinished or foreign file is no run of a cell
            mine = identity(run.spec, free) if run.status == "complete" else ""
            seed = run.spec.get("seed")
            same = found.setdefault(mine, [])
            if mine in wanted and seed not in [other.seed for other in same]:
                same.append(Done(run, seed, False))
        found.pop("", None)
        return found

    def make(self, planned: list[Planned], report: Callable[[str], None]) -> dict[str, str]:
        """Make the runs that are not there, one after another; an interrupted run continues from
        its last checkpoint. Returns the reason of each failed run by its name."""
        there, failed = self.done(planned), {}
        missing = [run for run in planned if run.identity
                   and not any(is_seed(run, each) for each in there.get(run.identity, []))]
        for k, run in enumerate(missing):
            output = self.folder / f"{run.name}-{run.identity[:8]}.h5"
            began = time.monotonic()
            ended = subprocess.run(
                [program(), "run", self.folder / "specs" / f"{run.name}.json", "--output", output,
                 "--resume", "--quiet"], capture_output=True, text=True,
                stdin=subprocess.DEVNULL)
            if ended.returncode:
                lines = ended.stderr.strip().splitlines()
                failed[run.name] = (lines[-1].removeprefix("dbench: error: ") if lines
                                    else f"status {ended.returncode}")
            report(f"{k + 1} of {len(missing)}: {run.name} "
                   + ("FAILED: " + failed[run.name] if run.name in failed
                      else f"done in {time.monotonic() - began:.1f} s"))
        return failed


def is_seed(run: Planned, done: Done) -> bool:
    """Return whether a complete run has the seed of a planned one."""
    return run.seed is None or done.seed == run.seed


def more(seeds: list[int | None], count: int) -> list[int | None]:
    """Return the seeds and further ones, until there are `count`."""
    if seeds == [None]:
        return seeds
    found: list[int | None] = list(seeds)
    known = [seed for seed in seeds if seed is not None]
    while len(found) < count:
        found.append(max(known) + 1 + len(found) - len(seeds))
    return found


def filled(value: Any, places: dict[str, str]) -> Any:
    """Return the value with the placeholders in its texts replaced."""
    if isinstance(value, dict):
        return {key: filled(each, places) for key, each in value.items()}
    if isinstance(value, list):
        return [filled(each, places) for each in value]
    if isinstance(value, str):
        for name, path in places.items():
            value = value.replace(name, path)
    return value


def identity(spec: dict[str, Any], free: list[str]) -> str:
    """Return a hash of a resolved spec without its seed and the entries at the JSON pointers
    `free`. The folder before prepared data and that of an exported model do not count, so that
    results may be moved."""
    kept = copy.deepcopy(spec)
    model = kept.get("model")
    if isinstance(model, dict) and "path" in model:
        found = portable(model["path"])
        model["path"] = Path(found).name if found == model["path"] else found
    for pointer in [*(each for each in free if each != NETWORK), "/seed"]:
        *above, last = pointer.split("/")[1:]
        place: Any = kept
        for key in above:
            place = place.get(key) if isinstance(place, dict) else None
        if isinstance(place, dict):
            place.pop(last, None)
    text = json.dumps(portable(kept), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def portable(value: Any) -> Any:
    """Return the value with paths of prepared data cut to their last folder."""
    if isinstance(value, dict):
        return {key: portable(each) for key, each in value.items()}
    if isinstance(value, list):
        return [portable(each) for each in value]
    if isinstance(value, str) and (found := MADE.fullmatch(value)):
        return found[1]
    return value


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))
