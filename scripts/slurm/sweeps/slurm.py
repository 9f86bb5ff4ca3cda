"""Slurm's commands: what it says of jobs, and giving it new ones."""

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

# Refusals that pass by themselves, by what Slurm prints.
TEMPORARY = ("timed out", "temporarily", "unable to contact", "connection refused", "submitlimit",
             "submit limit", "job submit limit", "maxjob", "maximum number of jobs",
             "communication", "try again", "in backup mode", "zero bytes", "unexpected message")
LONGEST_WAIT = 3600  # seconds between two tries


def from_squeue():
    status, out, errors = call(["squeue", "-h", "-r", "-t", "all", "-u", getpass.getuser(),
                                "-o", "%i|%T|%r"])
    if status != 0:
        raise Problem("squeue", last_line(errors), "run this where Slurm's commands work")
    lines = [line.split("|", 2) for line in out.splitlines() if line.count("|") >= 2]
    return {job: (state, "" if reason == "None" else reason) for job, state, reason in lines}


def from_sacct(ids):
    """Of jobs that squeue no longer lists; a site without accounting has none."""
    status, out, _ = call(["sacct", "-n", "-P", "-X", "-j", ",".join(ids),
                           "-o", "JobID,State,Reason"])
    if status != 0:
        return {}
    lines = [line.split("|", 2) for line in out.splitlines() if line.count("|") >= 2]
    return {job: (state.split()[0] if state else "", "") for job, state, _ in lines}


def states(ids):
    """Queue id (job or job_task) -> (state, reason). squeue's word is newer than sacct's."""
    if not ids:
        return {}
    found = from_sacct(ids)
    found.update(from_squeue())
    known = set(ids)
    return {job: state for job, state in found.items() if job.split("_")[0] in known}


def submit(text, tries, first_wait, tell):
    """The new job's id. Refusals that pass are tried again, each time after twice as long."""
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
    """From "17" or "17;cluster"."""
    found = re.fullmatch(r"([0-9]+)(;.*)?", last_line(printed))
    if not found:
        raise Problem("sbatch", "took a job, but where its id should be it said '"
                      f"{shown(last_line(printed))}'",
                      "look for it with squeue, and cancel it")
    return found.group(1)


def cancel(ids):
    status, _, errors = call(["scancel"] + list(ids))
    if status != 0:
        raise Problem("scancel", last_line(errors))
