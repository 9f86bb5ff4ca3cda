"""Runs a sweep on this machine, with as many concurrent runs as its cores and GPUs allow."""

import itertools
import os
import re
import signal
import stat
import subprocess
import sys
import time

from . import files, heartbeat, log
from .plan import Plan
from .problem import Problem
from .process import call, outside_a_step
from .program import cores, find
from .text import Progress, duration_text

RUN_ONE = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "run-one")


def launcher(ranks):
    """Return the words before the program. Open MPI needs further options for more ranks than
    cores, and for root in a container."""
    if ranks == 1:
        return []
    status, version, errors = call(["mpirun", "--version"])
    if status == 127:
        raise Problem("mpirun", f"not found, and a run has {ranks} ranks",
                      "load an MPI module, or set \"ranks\": 1")
    words = ["mpirun", "-n", str(ranks)]
    if any(word in version + errors for word in ("Open MPI", "OpenRTE", "prte")):
        words += ["--oversubscribe", "--bind-to", "none"]
        words += ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return words


def gpu_names(runs, path):
    """Return the names of this machine's GPUs for CUDA_VISIBLE_DEVICES, if some run needs a GPU.
    GPUs are not shared between runs, so a run that needs more GPUs than there are is refused."""
    most = max(runs, key=lambda run: run.gpus) if runs else None
    if not most or not most.gpus:
        return []
    given = os.environ.get("CUDA_VISIBLE_DEVICES")
    if given is not None:
        words = re.findall(r"[^,\s]+", given)  # CUDA ignores everything after a -1
        found = list(itertools.takewhile(lambda word: word != "-1", words))
        where = "in CUDA_VISIBLE_DEVICES"
    else:
        _, listed, _ = call(["nvidia-smi", "-L"])
        found, where = re.findall(r"^GPU .*\(UUID: ([^)]+)\)", listed, re.M), "by nvidia-smi -L"
    if most.gpus > len(found):
        raise Problem(f"{path}: /gpus", f"{most.name} needs {most.gpus} GPUs, of "
                      f"{len(found)} here ({where})", "lower \"gpus\", or let several replicas "
                      "share a GPU:  {\"replicas_per_rank\": k}")
    return found


def work(run):
    """Return a measure of a run's work."""
    return run.iterations * run.replicas


class Local:
    """The runs that wait, run and have ended. `later` is the work of runs that follow these: the
    time left includes it."""
    def __init__(self, plan, jobs, later=0):
        self.plan, self.jobs, self.cores = plan, jobs, cores()
        self.program = find()
        self.waiting, self.running, self.failed, self.done = plan.needed(), {}, [], 0
        self.elsewhere, self.begun = 0, {}  # begun: the size of a run's log when the run started
        self.complete_before = sum(1 for run in plan.runs if run.complete)
        self.free, self.taken = gpu_names(self.waiting, plan.sweep.path), {}
        self.total, self.stopped, self.show = len(self.waiting), 0, Progress()
        self.began = time.time()
        self.work, self.worked = later + sum(work(run) for run in self.waiting), 0

    def fits(self, run):
        if run.gpus > len(self.free):
            return False
        if not self.running:
            return True
        if self.jobs:
            return len(self.running) < self.jobs
        return sum(other.ranks for other in self.running) + run.ranks <= self.cores

    def start(self, run):
        beat = heartbeat.read(run.output)
        if beat and beat.alive() and not beat.killed():
            self.elsewhere += 1
            self.worked += work(run)
            self.show.clear()
            print(f"{run.name}  is running already ({beat.text()})", flush=True)
            return
        run.write_spec()
        environment = dict(outside_a_step(), DBENCH_PROGRAM=self.program)
        if run.gpus:
            self.taken[run], self.free = self.free[:run.gpus], self.free[run.gpus:]
            environment["CUDA_VISIBLE_DEVICES"] = ",".join(self.taken[run])
        with files.appended(run.log) as output:
            self.begun[run] = os.fstat(output.fileno()).st_size
            self.running[run] = subprocess.Popen(
                [RUN_ONE, run.spec_file, run.output] + launcher(run.ranks), stdout=output,
                stderr=subprocess.STDOUT, env=environment, start_new_session=True)

    def stop(self, *_):
        """End the runs at their next step; if called again, terminate them."""
        self.stopped += 1
        for process in self.running.values():
            process.send_signal(signal.SIGUSR1 if self.stopped == 1 else signal.SIGTERM)

    def hang_up(self, *_):
        """End the runs after the terminal is gone. A closing terminal may send several signals."""
        for stream in (sys.stdout, sys.stderr):
            if stat.S_ISCHR(os.fstat(stream.fileno()).st_mode):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if not self.stopped:
            self.stop()

    def collect(self):
        for run, process in list(self.running.items()):
            if process.poll() is None:
                continue
            del self.running[run]
            self.free += self.taken.pop(run, [])
            done = process.returncode == 0
            if not done:  # a launcher may fail after the run is complete
                self.plan.refresh(afresh=[run.output])
                done = bool(run.complete)
            self.done += done
            if not done:
                self.failed.append(run)
            self.show.clear()
            why = log.reason(run.log, self.begun[run]) or f"status {process.returncode}"
            ended = ("done" if done else "stopped" if self.stopped else
                     f"FAILED: {why} ({run.log})")
            self.worked += work(run)
            left = self.left() if self.running or self.waiting and not self.stopped else ""
            print(f"{self.done + len(self.failed):>3} of {self.total}  {run.name}  {ended}{left}")
            sys.stdout.flush()

    def left(self):
        """Return about how long the remaining runs take, as ", about 5 min left", from the share of
        all work that is done; "" before the first measurement."""
        done = self.worked
        for run in self.running:
            at = log.progress(run.log, self.begun[run])
            done += work(run) * at[0] / max(at[1], 1) if at else 0
        seconds, rest = time.time() - self.began, self.work - done
        if done <= 0 or seconds < 1 or rest <= 0:
            return ""
        return f", about {duration_text(seconds * rest / done)} left"

    def line(self):
        parts = []
        for run in self.running:
            at = log.progress(run.log, self.begun[run])
            parts.append(f"{run.name} {100.0 * at[0] / max(at[1], 1):.0f} %" if at else run.name)
        return "{} of {} done, {:.0f} s{}  {}".format(
            self.done, self.total, time.time() - self.began, self.left(), "  ".join(parts))

    def run(self):
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, self.stop)
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup
            signal.signal(signal.SIGHUP, self.hang_up)
        while self.running or (self.waiting and not self.stopped):
            while self.waiting and not self.stopped and self.fits(self.waiting[0]):
                self.start(self.waiting.pop(0))
            time.sleep(0.05)
            self.collect()
            self.show(self.line())
        self.show.clear()
        print("{} runs done, {} {}{}{} in {:.0f} s; {} were complete before".format(
            self.done, len(self.failed), "stopped" if self.stopped else "failed",
            f", {self.elsewhere} running already" if self.elsewhere else "",
            f", {len(self.waiting)} not started" if self.waiting else "",
            time.time() - self.began, self.complete_before))
        return 1 if self.failed or self.stopped or self.elsewhere else 0


def run(sweep, jobs):
    plan = Plan(sweep)
    plan.require_sound()
    return Local(plan, jobs).run()
