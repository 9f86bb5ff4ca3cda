"""Slurm's commands: the states of jobs, new jobs, and cancelling."""

import os
import re
import time

from .problem import Problem
from .process import call, last_line, lines_of
from .text import shown

WAITING = {"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD"}
RUNNING = {"RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "STOPPED", "RESIZING",
           "SIGNALING", "STAGE_OUT"}
RESUMABLE = {"TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE"}

# Parts of Slurm's messages for temporary refusals.
TEMPORARY = ("timed out", "temporarily", "unable to contact", "connection refused", "maxsubmit",
             "submitjob", "submit limit", "maxjob", "maximum number of jobs",
             "communication", "try again", "in backup mode", "zero bytes", "unexpected message")
# Slurm ends each refusal by a limit with this message, which names three limits; the line before it
# names the one.
POLICY = "(job submit limit"
LONGEST_WAIT = 3600  # seconds between two tries
# The variables of Slurm that belong to the user or the site and not to one job.
OWN = ("SLURM_CONF", "SLURM_CLUSTERS", "SLURM_MPI_TYPE", "SLURM_JWT")
# The long names of short options.
LONG = {"A": "account", "C": "constraint", "J": "job-name", "N": "nodes", "M": "clusters",
        "c": "cpus-per-task", "p": "partition", "q": "qos", "w": "nodelist", "x": "exclude"}
MEMORY = ("MEM_PER_NODE", "MEM_PER_CPU", "MEM_PER_GPU")
# The variables of sbatch with another name than their option, and those that undo an option.
VARIABLES = {"array": ("ARRAY_INX",), "time": ("TIMELIMIT",), "requeue": ("REQUEUE", "NO_REQUEUE"),
             "gpus-per-node": ("GPUS_PER_NODE", "GPUS", "GPUS_PER_TASK", "GPUS_PER_SOCKET"),
             "mem": MEMORY, "mem-per-cpu": MEMORY, "mem-per-gpu": MEMORY}


def from_squeue():
    """Return {queue id: (state, reason)} of the user's jobs."""
    status, out, errors = call(["squeue", "-h", "-r", "-t", "all", "-u", str(os.getuid()),
                                "-o", "%i|%T|%r"])
    if status != 0:
        raise Problem("squeue", last_line(errors), "run this where Slurm's commands work")
    lines = [line.split("|", 2) for line in out.splitlines() if line.count("|") >= 2]
    return {job: (state, "" if reason == "None" else reason) for job, state, reason in lines}


def from_sacct(ids):
    """Return {queue id: (state, "")} of jobs that squeue no longer lists; empty without
    accounting."""
    status, out, _ = call(["sacct", "-n", "-P", "-X", "-j", ",".join(ids),
                           "-o", "JobID,State,Reason"])
    if status != 0:
        return {}
    lines = [line.split("|", 2) for line in out.splitlines() if line.count("|") >= 2]
    return {job: (state.split()[0] if state else "", "") for job, state, _ in lines}


def states(ids):
    """Return {queue id (job or job_task): (state, reason)}. squeue is more recent than sacct, and
    knows every job that waits or runs: the accounts of a job whose end was lost say RUNNING for
    ever."""
    if not ids:
        return {}
    found = {job: state for job, state in from_sacct(ids).items()
             if state[0] not in WAITING | RUNNING}
    found.update(from_squeue())
    known = set(ids)
    return {job: state for job, state in found.items() if job.split("_")[0] in known}


def environment(text):
    """Return the environment for sbatch. Its variables have priority over the #SBATCH lines of the
    script `text`, so those of options in the script are removed. The variables of a job from which
    the sweep is submitted would change how srun starts ranks in the new job."""
    set_here: set[str] = set()
    for long, short in re.findall(r'^#SBATCH "?(?:--([a-z-]+)|-([a-zA-Z]))', text, re.M):
        option = long or LONG.get(short, short)
        names = VARIABLES.get(option, (option.replace("-", "_").upper(),))
        set_here.update("SBATCH_" + name for name in names)
    return {name: value for name, value in os.environ.items()
            if name not in set_here and (name in OWN or not name.startswith(("SLURM_", "SRUN_")))}


def is_temporary(errors):
    """Return whether sbatch may accept the job later."""
    lines = lines_of(errors.lower())
    if len(lines) > 1:
        lines = [line for line in lines if POLICY not in line]
    return any(word in line for word in TEMPORARY for line in lines)


def named(name):
    """Return the ids of the user's jobs of this name; None if squeue does not list them."""
    status, out, _ = call(["squeue", "-h", "-t", "all", "-u", str(os.getuid()), "-o", "%F|%j"])
    if status != 0:
        return None
    jobs = (line.partition("|") for line in out.splitlines())
    return {job for job, _, other in jobs if other == name and re.fullmatch("[0-9]+", job)}


def accepted(name, before):
    """Return the id of the job that has joined the jobs `before` of this name; None without one.
    Slurm may accept a job although its answer does not reach sbatch."""
    now = None if before is None else named(name)
    new = sorted(now - before) if now else []
    if len(new) > 1:
        raise Problem("sbatch", f"{len(new)} jobs called {shown(name)} have joined the queue: "
                      + " ".join(new), "cancel those of this sweep, and submit again")
    return new[0] if new else None


def submit(text, name, tries, first_wait, tell):
    """Submit a batch script, whose job has this name, and return the job's id. A temporary refusal
    is tried again, each time after twice the wait."""
    wait, left, before = first_wait, tries, named(name)
    while True:
        status, out, errors = call(["sbatch", "--parsable"], text, environment(text))
        if status == 0:
            return id_in(out)
        left -= 1
        why = "; ".join(lines_of(errors)) or "no message"
        if "Invalid job array specification" in errors:
            raise Problem("sbatch", why, "lower \"max_array\" in the site file below MaxArraySize "
                          "of `scontrol show config`")
        if not is_temporary(errors):
            raise Problem("sbatch", why)
        if left:
            tell(f"refused ({why}): again in {wait:g} s")
            time.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)
        job = accepted(name, before)
        if job:
            tell(f"job {job} is in the queue: Slurm had accepted it")
            return job
        if not left:
            raise Problem("sbatch", why, f"after {tries} tries")


def id_in(printed):
    """Return the job's id from "17" or "17;cluster"."""
    found = re.fullmatch(r"([0-9]+)(;.*)?", last_line(printed))
    if not found:
        raise Problem("sbatch", "accepted a job, but printed '"
                      f"{shown(last_line(printed))}' instead of its id",
                      "look for it with squeue, and cancel it")
    return found.group(1)


def cancel(ids):
    status, _, errors = call(["scancel"] + list(ids))
    if status != 0:
        raise Problem("scancel", last_line(errors))
