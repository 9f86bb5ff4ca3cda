"""The project's question in minutes of one GPU: how much accuracy do five ways to average lose on
real data? The seeds are run one after another, each with all five, so that a call that ends early
leaves whole comparisons."""

import json
import math
import shutil
import statistics
import time

import steps

from .journal import FAILED, MISSING, OK, Stop
from .setting import Step, reason

SECTION = "study"
IMPLEMENTATIONS = ("C_complete", "D_complete", "D_exponential", "D_torus", "D_ring")
SEEDS = 6         # with fewer, no test of flipped signs reaches p = 0.05
FIRST_CALL = 3    # seeds that should fit into the call that chooses the number of epochs
MOST_EPOCHS = 60
MOST_BYTES = 16 << 20  # of a result file
PLAN = "epochs of a run"


def choose_epochs(seconds, start, epoch):
    """Return the largest number of epochs, up to MOST_EPOCHS, with which FIRST_CALL seeds of all
    implementations take at most `seconds`. A run takes `start` seconds and `epoch` seconds for each
    epoch. Return 0 if not even one epoch fits."""
    runs = FIRST_CALL * len(IMPLEMENTATIONS)
    return max(0, min(MOST_EPOCHS, math.floor((seconds / runs - start) / epoch)))


class Study:
    """The runs of one study."""

    def __init__(self, bench):
        self.setting, self.journal = bench.setting, bench.journal

    def spec(self, implementation, seed, epochs, every=1):
        """Return the spec of a run, whose parameters are recorded in every `every`-th iteration."""
        return {"base": str(self.setting.study), "name": f"{implementation}-seed{seed}",
                "implementation": implementation, "seed": seed, "device": self.setting.device,
                "length": {"epochs": epochs}, "evaluate": {"every": {"epochs": 1}},
                "profile": {"every": {"iterations": every}}}

    def interval(self, epochs):
        """Return how many iterations apart the parameters must be recorded, so that a result file
        has at most MOST_BYTES before compression. Raise Stop if DBench refuses the spec, or if
        the file is larger even with one record."""
        every, iterations = 1, 1
        while every <= iterations:
            given = self.setting.output("study-plan", ".json")
            given.write_text(json.dumps(self.spec(IMPLEMENTATIONS[-1], 1, epochs, every)))
            done = self.setting.call([self.setting.program, "check", given, "--json"], 60)
            if done.returncode:
                raise Stop(MISSING, reason(done))
            found = json.loads(done.stdout)
            if found["result_bytes"] <= MOST_BYTES:
                return every
            every, iterations = 2 * every, found["iterations"]
        raise Stop(FAILED, f"a result file would have {found['result_bytes']} bytes, and may have "
                   f"{MOST_BYTES}: train fewer replicas, or a smaller model")

    def plan(self):
        """Measure the time of an epoch, and choose the number of epochs. All later calls keep it.
        Raise Stop with the status "missing" if the data are not there, so that a later call tries
        again."""
        self.interval(1)  # names missing data at once
        begun = time.monotonic()
        path = self.setting.run("study-trial", self.spec(IMPLEMENTATIONS[-1], 1, 2), "--overwrite")
        took = time.monotonic() - begun
        with steps.h5py.File(path) as file:
            ends = file["evaluations/elapsed"][:]
        epoch = float(ends[2] - ends[1])
        start = max(0.0, took - 2 * epoch)
        epochs = choose_epochs(0.9 * self.setting.left(), start, epoch)
        if epochs == 0:
            raise Stop(MISSING, f"{FIRST_CALL} seeds of one epoch do not fit into this call (an "
                       f"epoch takes {epoch:.0f} s): give more --minutes")
        return {"status": OK, "epochs": epochs, "every": self.interval(epochs),
                "seconds_of_an_epoch": epoch, "seconds_to_start": start}

    def run(self, implementation, seed):
        """Train one run, or continue it where an earlier call ended."""
        plan = self.journal.steps(SECTION).get(PLAN, {})
        if plan.get("status") != OK:
            raise Stop(MISSING, f"the step '{PLAN}' has no result")
        name = f"study/{implementation}-{plan['epochs']}epochs-seed{seed}"
        begun = time.monotonic()
        path = self.setting.run(
            name, self.spec(implementation, seed, plan["epochs"], plan["every"]),
            "--resume" if self.setting.resume else "--overwrite", most=float("inf"))
        # A run that the end of a call interrupted has left a checkpoint.
        shutil.rmtree(f"{path}.checkpoints", ignore_errors=True)
        with steps.h5py.File(path) as file:
            ends = {column: float(file[f"evaluations/{column}"][-1])
                    for column in ("mean_accuracy", "mean_loss")}
        return {"status": OK, "implementation": implementation, "seed": seed, **ends,
                "seconds": time.monotonic() - begun, "bytes": path.stat().st_size}


def plan(bench):
    """Return the steps of the study: the choice of the number of epochs, then all runs."""
    study = Study(bench)
    names = [(implementation, seed) for seed in range(1, SEEDS + 1)
             for implementation in IMPLEMENTATIONS]
    titles = [f"{implementation} / {seed}" for implementation, seed in names]
    return [Step(SECTION, PLAN, 20, study.plan), *(
        Step(SECTION, title, 60, lambda name=name: study.run(*name), like=tuple(titles[:k]))
        for k, (title, name) in enumerate(zip(titles, names)))]


def summary(journal):
    """Return the lines of a table: accuracy and loss of the mean model after the last epoch, for
    each implementation, and the difference in accuracy from C_complete over the seeds that both
    have."""
    ends = {}
    for result in journal.steps(SECTION).values():
        if "implementation" in result and result["status"] == OK:
            ends.setdefault(result["implementation"], {})[result["seed"]] = result
    if not ends:
        return []
    central = ends.get("C_complete", {})
    rows = [("implementation", "seeds", "accuracy", "loss", "over C_complete")]
    for name in IMPLEMENTATIONS:
        runs = ends.get(name, {})
        above = [100 * (run["mean_accuracy"] - central[seed]["mean_accuracy"])
                 for seed, run in runs.items() if seed in central and name != "C_complete"]
        rows.append((name, str(len(runs)),
                     spread([100 * run["mean_accuracy"] for run in runs.values()], "{:.2f}", " %"),
                     spread([run["mean_loss"] for run in runs.values()], "{:.4f}", ""),
                     spread(above, "{:+.2f}", " points")))
    return rows


def spread(values, form, unit):
    """Return mean and standard deviation as text; empty if there is no value."""
    if not values:
        return ""
    text = form.format(statistics.fmean(values))
    if len(values) > 1:
        text += " ± " + form.replace("+", "").format(statistics.stdev(values))
    return text + unit
