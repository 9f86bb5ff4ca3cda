"""Submits a sweep to Slurm, as job arrays or as packs."""

import contextlib
import fcntl
import os
import sys

from . import batch, files, jsonfile, slurm
from .problem import Problem
from .record import Record
from .site import Site
from .status import Status
from .text import time_text


def site_for(sweep, path):
    """Return the site that is named by `path`, by DBENCH_SITE, or at the last submission; else
    plain Slurm."""
    return Site(path or os.environ.get("DBENCH_SITE") or Record(sweep).site())


def site_of_plan(sweep, path):
    """Return the same site; None if no site is named now and the last one no longer exists."""
    try:
        return site_for(sweep, path)
    except Problem:
        if path or os.environ.get("DBENCH_SITE"):
            raise
        return None


def require_accepted(site, runs):
    """Raise Problem if the site refuses some run."""
    refused = [(run, site.refuses(run)) for run in runs if site.refuses(run)]
    if refused:
        run, why = refused[0]
        raise Problem(site.path or "site", f"{len(refused)} of {len(runs)} runs cannot be queued "
                      f"here, nothing was submitted; {run.name}: {why}",
                      "change \"time\", \"ranks\" or \"gpus\" in the sweep file, or the site file")


def jobs_for(site, sweep, runs, options):
    """Yield (kind, runs, job's name, sbatch text, description) of every job."""
    if options.pack:
        if os.path.basename(site.launcher[0]).startswith(batch.NO_STEPS):
            raise Problem("--pack", f"'{site.launcher[0]}' cannot start steps on parts of a job",
                          "use srun as the \"launcher\" of the site file, or leave out --pack")
        widest = max(run.ranks for run in runs)
        if options.pack < widest:
            raise Problem("--pack", f"{options.pack} ranks, but a run has {widest}",
                          "give at least that many")
        for part, minutes in batch.split_by_time(site, runs, options.pack):
            text = batch.pack(site, sweep, part, options.pack, minutes)
            limit = time_text(site.minutes(minutes))
            about = f"one job of {options.pack} ranks for {len(part)} runs, {limit}"
            yield "pack", part, batch.pack_name(sweep), text, about
        return
    throttle = options.throttle or site.throttle
    for part in batch.split_by_size(runs, site.max_array):
        text = batch.array(site, sweep, part, throttle)
        about = "an array of {} runs of {} ranks{}, {}".format(
            len(part), part[0].ranks, f", {throttle} at once" if throttle else "",
            time_text(site.minutes(part[0].minutes)))
        yield "array", part, batch.array_name(sweep, part), text, about


def note(sweep, job, kind, part, site):
    """Record a submitted job."""
    try:
        Record(sweep).add(job, kind, [run.name for run in part], site.path)
    except Problem as problem:
        raise Problem(f"job {job}", f"was submitted, but could not be recorded: {problem}",
                      f"`scancel {job}` cancels it") from problem


@contextlib.contextmanager
def alone(sweep):
    """Keep other processes from submitting this sweep: two that read the list of jobs at the same
    time would each submit every run. Raise Problem if another one does. A file system without locks
    keeps nobody out."""
    jsonfile.make_folder(sweep.folder)
    path = os.path.join(sweep.folder, "submitting")
    handle = files.opened(path, os.O_RDWR | os.O_CREAT)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Problem(path, "another process is submitting this sweep",
                          "wait until it has ended, then look at `sweep status`") from error
        except OSError:
            pass
        yield
    finally:
        os.close(handle)


def submit(plan, site, again, options):
    """Submit the runs that are still to be done and return the exit status. `again`: also submit
    runs that ended without completing."""
    plan.require_sound()
    with contextlib.ExitStack() as held:
        if not options.dry_run:
            held.enter_context(alone(plan.sweep))
        return submit_needed(plan, site, again, options)


def submit_needed(plan, site, again, options):
    """Submit while no other process submits the same sweep."""
    sweep = plan.sweep
    if options.dry_run and not Record(sweep).jobs:
        runs, live = plan.needed(), 0
    else:
        status = Status(plan)
        plan.require_sound()  # a result may have appeared since
        runs = status.runs("to do", *(("interrupted", "failed", "cancelled") if again else ()))
        live = len(status.live_jobs())
        ended = len(status.runs("interrupted", "failed", "cancelled"))
        if ended and not again:
            print(f"{ended} runs ended without completing: `sweep resubmit` takes them")
    require_accepted(site, runs)
    most, left = options.max_jobs or site.max_jobs, 0
    if most and not options.pack and len(runs) + live > most:
        room = max(most - live, 0)
        runs, left = runs[:room], len(runs) - room
    jobs = list(jobs_for(site, sweep, runs, options)) if runs else []
    if most and options.pack and len(jobs) + live > most:
        room = max(most - live, 0)
        jobs, left = jobs[:room], sum(len(part) for _, part, *_ in jobs[room:])
    if not jobs:
        full = f": {live} jobs are in the queue, the most allowed"
        print("nothing to submit" + (full if left else ""))
        return 0
    for kind, part, name, text, about in jobs:
        if options.dry_run:
            print(f"# {about}\n{text}")
            continue
        for run in part:
            run.write_spec()
        job = slurm.submit(text, name, options.tries, options.wait,
                           lambda line: sys.stderr.write("sweep: " + line + "\n"))
        note(sweep, job, kind, part, site)
        print(f"job {job}: {about}")
    if left:
        print(f"{left} runs were left for later (--max-jobs {most}): "
              "submit again when some are done")
    return 0


def cancel(plan):
    """Cancel the jobs of this sweep that wait or run."""
    status = Status(plan)
    live = sorted({job.split("_")[0] for job in status.live_jobs()})
    if not live:
        print("nothing is in the queue")
        return 0
    try:
        slurm.cancel(live)
    except Problem:  # scancel also fails if a job has ended in the meantime
        if {job.split("_")[0] for job in Status(plan).live_jobs()} & set(live):
            raise
    print("cancelled {} jobs: {}".format(len(live), " ".join(live)))
    return 0
