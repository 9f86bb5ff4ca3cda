"""The state of each run of a sweep, from the queue, then result files, heartbeats and logs.

A run may end between two of these reads. A job writes its result before it leaves the queue, so the
queue is read first, and the result of a run that seems to have ended otherwise is read again.
"""

import shutil
import time

from . import heartbeat, log, slurm
from .heartbeat import progress_text
from .record import Record
from .text import table

ORDER = ("complete", "running", "pending", "interrupted", "failed", "cancelled", "refused", "to do")
ENDED = ("interrupted", "failed", "cancelled")
LATER = (1, 2)  # seconds before a file system may show what another host wrote
FIRST = ("running", "failed", "interrupted", "refused", "cancelled", "pending", "to do",
         "complete")  # in a short table


def joined(*parts):
    """Return the parts that are not empty, separated by semicolons."""
    return "; ".join(part for part in parts if part)


def goes_on(run):
    """Return from which checkpoint the run continues; "" without one."""
    at = heartbeat.checkpoint(run.output)
    return "" if at is None else f"goes on from iteration {at} of {run.iterations}"


def in_its_job(run, found, state, entry, since):
    """Return (state, details) of a run whose job is running."""
    fresh = found is not None and heartbeat.belongs(found["written"], since)
    beat = heartbeat.read(run.output, since)
    if fresh and found["status"] == "failed":
        return "failed", found["error"]
    if beat:
        return "running", beat.text()
    if fresh and found["status"] == "running":
        return "running", progress_text(found["done"], run.iterations)
    begun = heartbeat.belongs(log.written(run.log), since)
    if entry["kind"] == "pack":  # the job's state says nothing about a single run
        crash = heartbeat.crash(run.output, since)
        if crash or not begun:
            return ("failed", crash) if crash else ("pending", "waits in its pack")
    at = log.progress(run.log)
    if at and begun:
        return "running", progress_text(*at)
    return "running", "ends" if state == "COMPLETING" else "starts"


def of_run(run, found, job, entry):
    """Return (state, details). `found`: its result file; `job`: its state in the queue, or None;
    `entry`: the record of its last submission, or None."""
    if run.complete:
        return "complete", ""
    if run.error:
        return "refused", run.error
    state, why = job or ("", "")
    since = entry["submitted"] - 1 if entry else 0
    if state in slurm.WAITING:
        return "pending", joined("" if why == "None" else why, goes_on(run))
    if state in slurm.RUNNING:
        return in_its_job(run, found, state, entry, since)
    beat, crash = heartbeat.read(run.output, since), heartbeat.crash(run.output, since)
    if beat and beat.alive() and (not state or not beat.job):
        return "running", beat.text()  # by `sweep local`, or by hand
    if state.startswith("CANCEL"):
        return "cancelled", goes_on(run)
    status, error = (found["status"], found.get("error", "")) if found else ("", "")
    resumable = state in slurm.RESUMABLE
    if status == "preempted":
        return "interrupted", "stopped at a checkpoint, " + progress_text(
            found["done"], run.iterations)
    if status == "failed" and (not state or heartbeat.belongs(found["written"], since)):
        stopped = resumable or "stopped by SIG" in error
        return "interrupted" if stopped else "failed", joined(
            state if resumable else "", error or crash)
    if state in ("FAILED", "OUT_OF_MEMORY"):
        return "failed", joined("" if state == "FAILED" else state, crash or log.reason(run.log))
    if crash and not resumable:
        return "failed", crash
    if resumable or status == "running":
        silent = "its writer is gone"
        if beat and not beat.alive():
            silent = beat.silence()
        return "interrupted", joined(state or silent, goes_on(run) or "begins anew")
    if status == "unreadable":
        return "failed", error
    if state == "COMPLETED":
        return "failed", "its job ended without a result: " + (
            log.reason(run.log) or "see " + run.log)
    if entry:
        return "interrupted", joined("its job is gone from the queue", goes_on(run))
    return "to do", ""


class Status:
    """The states of all runs at one moment. Reads the plan's result files again."""

    def __init__(self, plan):
        self.plan, self.record = plan, Record(plan.sweep)
        self.queue = slurm.states(self.record.ids())
        self.latest = self.record.latest()
        plan.refresh()
        self.of = {}
        self._judge(plan.runs)
        # A run by hand may have ended after its result and before its heartbeat was read.
        doubtful = self.runs(*ENDED)
        if doubtful:
            plan.refresh()
            self._judge(doubtful)
        for seconds in LATER:
            doubtful = [run for run in self.runs(*ENDED) if self._job(run) == "COMPLETED"]
            if not doubtful:
                break
            time.sleep(seconds)
            plan.refresh(afresh=[run.output for run in doubtful])
            self._judge(doubtful)

    def _job(self, run):
        """Return the state of the run's job in the queue; "" without one."""
        return self.queue.get(self.latest.get(run.name, (None,))[0], ("",))[0]

    def _judge(self, runs):
        for run in runs:
            job, entry = self.latest.get(run.name, (None, None))
            self.of[run.name] = of_run(run, self.plan.results.at(run.output),
                                       self.queue.get(job) if job else None, entry)

    def runs(self, *states):
        return [run for run in self.plan.runs if self.of[run.name][0] in states]

    def live_jobs(self):
        """Return the ids of jobs that wait or run; the tasks of an array count separately."""
        live = slurm.WAITING | slurm.RUNNING
        return [job for job, (state, _) in self.queue.items() if state in live]

    def counts(self):
        return {state: len(self.runs(state)) for state in ORDER if self.runs(state)}

    def as_json(self):
        return {"sweep": self.plan.sweep.path, "counts": self.counts(), "runs": [
            {"name": run.name, "state": self.of[run.name][0], "detail": self.of[run.name][1],
             "job": self.latest.get(run.name, (None,))[0], "output": run.output, "log": run.log}
            for run in self.plan.runs]}

    def as_text(self, most=None):
        """Return the table with at most `most` rows, the most important states first."""
        runs, left = self.plan.runs, 0
        if most is not None and len(runs) > most:
            by_interest = sorted(runs, key=lambda run: FIRST.index(self.of[run.name][0]))
            shown = {run.name for run in by_interest[:most]}
            runs, left = [run for run in runs if run.name in shown], len(runs) - most
        rows = [(run.name, self.latest.get(run.name, ("",))[0], *self.of[run.name]) for run in runs]
        return "{}\n{}{} runs: {}".format(
            table(("run", "job", "state", ""), rows), f"... and {left} more\n" if left else "",
            len(self.plan.runs),
            ", ".join(f"{count} {state}" for state, count in self.counts().items()))

    def on_terminal(self):
        """Return the table from the top of a cleared screen, cut to the screen's size."""
        size = shutil.get_terminal_size()
        lines = self.as_text(max(1, size.lines - 5)).splitlines()
        return "\033[H\033[2J" + "\n".join(line[:size.columns] for line in lines)
