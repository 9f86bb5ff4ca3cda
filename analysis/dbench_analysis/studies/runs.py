"""The runs of a study, with what `sweep tune` wrote about them."""

import csv
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..basics.errors import AnalysisError
from ..basics.formatting import counted
from ..naming import differences, names
from ..reading.files import distinct
from ..reading.run import Run
from ..selection.opening import opened

# Entries that belong to a method: two runs of one cell may differ in them.
OF_METHOD = ("/implementation", "/algorithm", "/graph", "/optimizer", "/message")
RATE = "/optimizer/lr"
WITH_RATE = ", lr="  # before the rate in the name of a method, if a cell has several rates of it
TRIALS, TUNING = "trials.csv", "tuning.csv"


def belongs(pointer: str, places) -> bool:
    """Return whether an entry lies at one of the places or below it."""
    return any(pointer == place or pointer.startswith(place + "/") for place in places)


@dataclass(frozen=True)
class Study:
    """The runs of a folder. All are complete except those that are lost.

    finals    the runs that are judged: those of fresh seeds if the folder has been tuned, else all
    trials    the runs that chose a learning rate
    labels    the method of each final run, then of each lost one
    tuning    {name of a method in the sweep: its row of tuning.csv}
    methods   {file name: name of its method in the sweep}
    lost      final runs that are not complete, unless another run of the setting and seed is
    """

    name: str
    folder: Path
    finals: list[Run]
    trials: list[Run]
    labels: list[str]
    tuning: dict[str, dict[str, str]] = field(default_factory=dict)
    methods: dict[str, str] = field(default_factory=dict)
    lost: list[Run] = field(default_factory=list)

    @property
    def runs(self) -> list[Run]:
        """Return the final runs, then the lost ones."""
        return [*self.finals, *self.lost]

    def tuned(self, run: Run) -> Mapping[str, str]:
        """Return the row of tuning.csv about a run's method; empty without one."""
        return self.tuning.get(self.methods.get(run.path.name, ""), {})


def rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table of `sweep tune`; empty if the file does not exist."""
    if not path.exists():
        return []
    try:
        with open(path, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise AnalysisError(path, f"cannot be read: {error}",
                            "`sweep tune FILE table` writes it again") from error


def study(folder: Path, runs: list[Run]) -> Study:
    """Return the study of the runs in a folder."""
    complete = [run for run in runs if run.status == "complete"]
    listed = rows(folder / TRIALS)
    role = {row.get("file", ""): row.get("role", "") for row in listed}
    trials = [run for run in complete if role.get(run.path.name) == "trial"]
    finals = [run for run in complete if role.get(run.path.name) == "final"
              or not listed]
    unknown = [run.path.name for run in complete if listed and run.path.name not in role]
    if unknown:
        raise AnalysisError(
            folder / TRIALS, f"does not list {counted(len(unknown), 'complete run')}, such as "
            f"{unknown[0]}", "`sweep tune FILE table` writes it again")
    if not finals:
        raise AnalysisError(folder, "no run at a chosen rate is complete" if trials
                            else "no complete run", "`sweep tune FILE local` makes the runs")
    lost = lost_runs(runs, finals, listed)
    every = [*finals, *lost]
    return Study(folder.resolve().name, folder, finals, trials,
                 with_rates(every, method_labels(every)),
                 {row.get("method", ""): row for row in rows(folder / TUNING)},
                 {row.get("file", ""): row.get("method", "") for row in listed}, lost)


def lost_runs(runs: list[Run], finals: list[Run], listed: list[dict[str, str]]) -> list[Run]:
    """Return one run of each setting and seed of which no run is complete. `listed`, the rows of
    trials.csv, has complete runs only: an incomplete run is a trial if its seed is one of theirs,
    and such a run is not lost."""
    seeds = {role: {row.get("seed", "") for row in listed if row.get("role") == role}
             for role in ("trial", "final")}
    found: dict[tuple, Run] = {}
    for run in runs:
        if run.status != "complete" and str(names.seed(run)) not in seeds["trial"] - seeds["final"]:
            found.setdefault((differences.whole_setting(run), names.seed(run)), run)
    for run in finals:
        found.pop((differences.whole_setting(run), names.seed(run)), None)
    return list(found.values())


def open_studies(folders: Sequence[str], where: Sequence[str]) -> tuple[list[Study], list[str]]:
    """Return the study of each folder, a folder with two names once, and a line for each file that
    cannot be read."""
    for folder in folders:
        if not Path(folder).is_dir():
            raise AnalysisError(folder, "is not a folder, and each study is one",
                                "give the sweep's output folder")
    studies: list[Study] = []
    faults: list[str] = []
    for folder in distinct(folders):
        runs, unread = opened([folder], where)
        studies.append(study(Path(folder), runs))
        faults += unread
    return studies, faults


def of_one_name(studies: Sequence[Study]) -> list[Study]:
    """Return the studies whose name another one has as well."""
    names = [one.name for one in studies]
    return [one for one in studies if names.count(one.name) > 1]


def method_labels(runs: list[Run]) -> list[str]:
    """Return the method of each run: the communication, and the entries of the method other than
    the tuned rate in which methods of one communication differ."""
    specs = [differences.flattened(run.spec) for run in runs]
    return differences.distinguished(
        [names.implementation(run) for run in runs], specs,
        lambda pointer: belongs(pointer, OF_METHOD) and pointer != RATE)


def with_rates(runs: list[Run], labels: list[str]) -> list[str]:
    """Return the labels of the methods of runs. If a cell has runs of a method at several rates,
    each rate is a method: runs at different rates are not seeds of one setting."""
    rates = [differences.flattened(run.spec).get(RATE, "-") for run in runs]
    places = list(zip(cell_labels(runs), labels))
    found: dict[tuple[str, str], set[str]] = {}
    for place, rate in zip(places, rates):
        found.setdefault(place, set()).add(rate)
    return [f"{label}{WITH_RATE}{rate}" if len(found[place]) > 1 else label
            for place, label, rate in zip(places, labels, rates)]


def without_rate(method: str) -> str:
    """Return the name of a method without the rate that `with_rates` adds."""
    return method.partition(WITH_RATE)[0]


def of_equal_names(studies: Sequence[Study]) -> list[Study]:
    """Return the studies with names of methods that mean the same in all of them."""
    labels = iter(method_labels([run for one in studies for run in one.runs]))
    return [replace(one, labels=with_rates(one.runs, [next(labels) for _ in one.runs]))
            for one in studies]


def cell(run: Run) -> dict[str, str]:
    """Return what all methods of a comparison share: the spec without the method and the seed."""
    return {pointer: value for pointer, value in differences.flattened(run.spec).items()
            if not belongs(pointer, OF_METHOD) and not differences.is_ignored(pointer)}


def cell_labels(runs: list[Run]) -> list[str]:
    """Return the cell of each run in words: the entries in which cells differ, such as
    "n=16, alpha=0.1"."""
    cells = [cell(run) for run in runs]
    pointers = dict.fromkeys(pointer for each in cells for pointer in each)
    varied = [p for p in pointers if len({each.get(p) for each in cells}) > 1]
    short = {"/replicas": "n"}
    return [", ".join(f"{short.get(p, differences.called(p))}={each[p]}"
                      for p in varied if p in each) or "all" for each in cells]


def spec_of(run: Run) -> dict:
    """Return the spec without name and output, which a reader of the page does not need."""
    return {key: value for key, value in run.spec.items() if key not in ("name", "output")}


def spec_hash(run: Run) -> str:
    """Return the first 16 digits of the SHA-256 of the spec without name, output and seed."""
    kept = {key: value for key, value in spec_of(run).items() if key != "seed"}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:16]


def commit(run: Run) -> str:
    """Return the commit of the program, with a + if it had local changes."""
    build = run.provenance.get("build", {})
    if not isinstance(build, dict):
        return ""
    return str(build.get("commit", "")) + "+" * bool(build.get("dirty"))
