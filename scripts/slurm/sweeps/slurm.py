"""Slurm's commands: the states of jobs, new jobs, and cancelling."""

import getpass
import re
import time

from .problem import Problem
from .process import call, last_line
from .text import shown

WAITING = {"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD"}
RUNNING = {"RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "STOPPED", "RESIZING",
           "SIGNALING", "STAGE_OUT"}
RESUMABLE = {"TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE"}

# Parts of Slurm's messages for temporary refusals.
TEMPORARY = ("timed out", "temporarily", "unable to contact", "connection refused", "submitlimit",
             "submit limit", "job submit limit", "maxjob", "maximum number of jobs",
             "communication", "try again", "in backup mode", "zero bytes", "unexpected message")
LONGEST_WAIT = 3600  # seconds between two tries


def from_squeue():
    """Return {queue id: (state, reason)} of the user's jobs."""
    status, out, errors = call(["squeue", "-h", "-r", "-t", "all", "-u", getpass.getuser(),
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
    """Return {queue id (job or job_task): (state, reason)}. squeue is more recent than sacct."""
    if not ids:
        return {}
    found = from_sacct(ids)
    found.update(from_squeue())
    known = set(ids)
    return {job: state for job, state in found.items() if job.split("_")[0] in known}


def submit(text, tries, first_wait, tell):
    """Submit a batch script and return the job's id. A temporary refusal is tried again, each time
    after twice the wait."""
    wait, left = first_wait, tries
    while True:
        status, out, errors = call(["sbatch", "--parsable"], text)
        if status == 0:
            return id_in(out)
        left -= 1
        why = last_line(errors)
        if not any(word in errors.lower() for word in TEMPORARY):
            raise Problem("sbatch", why)
        if not left:
            raise Problem("sbatch", why, f"after {tries} tries")
        tell(f"refused ({why}): again in {wait:g} s")
        time.sleep(wait)
        wait = min(2 * wait, LONGEST_WAIT)


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
