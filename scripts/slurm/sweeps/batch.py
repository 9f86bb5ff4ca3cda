"""The text for sbatch: job arrays of runs of one size, and packs of many runs in one job."""

import os
import re
import shlex

from .program import find
from .text import time_text

NO_STEPS = ("mpirun", "mpiexec", "orterun", "prterun")  # launchers without --exact and its like
PASSED = ("DBENCH_DATA", "DBENCH_TIMEOUT")  # to jobs that do not inherit the environment
HERE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def words(parts):
    """Return the parts as words of a shell's command line."""
    return " ".join(shlex.quote(str(part)) for part in parts)


def option(text):
    """Return an #SBATCH line. sbatch ends a word at a space or # outside quotes, and removes
    backslashes, so that other words are quoted."""
    if re.fullmatch(r"[A-Za-z0-9_@%+=:,./-]*", text):
        return "#SBATCH " + text
    return '#SBATCH "' + re.sub(r'(["\\])', r"\\\1", text) + '"'


def size(site, ranks, gpus):
    """Return sbatch's options for this number of ranks."""
    options = [f"--ntasks={ranks}", f"--cpus-per-task={site.cpus_per_task}"]
    if gpus:
        nodes, on_a_node = site.nodes(ranks)
        options += [f"--nodes={nodes}", f"--ntasks-per-node={on_a_node}",
                    f"--gpus-per-node={site.gpus(on_a_node)}"]
    return options


def head(site, name, folder, log, minutes, options):
    """Return the lines before the command: options, prologue, environment and folder."""
    named = [f"--{key}={getattr(site, key)}" for key in ("partition", "account", "qos")
             if getattr(site, key)]
    options = ["--job-name=" + name, *named, *options, *site.sbatch,
               "--time=" + time_text(minutes), f"--signal=B:USR1@{site.signal_seconds}",
               "--requeue", "--open-mode=append", "--output=" + os.path.join(folder, "logs", log)]
    given = [f"export {name}=" + shlex.quote(os.environ[name]) for name in PASSED
             if os.environ.get(name)]
    return ["#!/bin/bash", *map(option, options), "",
            # With SBATCH_EXPORT=NONE, srun would start ranks without the job's own variables.
            "unset SLURM_EXPORT_ENV", *given, *site.prologue,
            "export DBENCH_PROGRAM=" + shlex.quote(find()), "export DBENCH_REQUEUE=yes",
            # Since Slurm 22.05, srun ignores the job's --cpus-per-task.
            f"export SRUN_CPUS_PER_TASK={site.cpus_per_task}",
            f"cd {shlex.quote(os.getcwd())} || exit"]


def array_name(sweep, runs):
    return f"{os.path.basename(sweep.output)}-{runs[0].ranks}"


def pack_name(sweep):
    return os.path.basename(sweep.output) + "-pack"


def array(site, sweep, runs, throttle):
    """Return one job array. Task k is runs[k]; all runs have the same size."""
    first = runs[0]
    options = ["--array=0-{}{}".format(len(runs) - 1, f"%{throttle}" if throttle else "")]
    options += size(site, first.ranks, first.gpus)
    lines = head(site, array_name(sweep, runs), sweep.folder, "slurm-%A_%a.out",
                 site.minutes(first.minutes), options)
    launch = site.launcher + (site.gpu_launch if first.gpus else [])
    lines += ["runs=(", *("    " + shlex.quote(run.name) for run in runs), ")",
              "name=${runs[$SLURM_ARRAY_TASK_ID]}",
              'exec {} {}/specs/"$name".json {}/"$name".h5 {} >>{}/logs/"$name".log 2>&1'.format(
                  shlex.quote(os.path.join(HERE, "run-one")), shlex.quote(sweep.folder),
                  shlex.quote(sweep.output), words(launch + ["-n", first.ranks]),
                  shlex.quote(sweep.folder))]
    return "\n".join(lines) + "\n"


def pack(site, sweep, runs, ranks, minutes):
    """Return one job of `ranks` ranks that runs all these runs, concurrently as far as they fit."""
    gpus = runs[0].gpus
    lines = head(site, pack_name(sweep), sweep.folder, "slurm-%j.out",
                 site.minutes(minutes), size(site, ranks, gpus))
    launch = site.launcher + site.step + (site.gpu_step if gpus else []) + [
        f"--cpus-per-task={site.cpus_per_task}"]
    if gpus:  # else srun gives each step all GPUs of its nodes
        lines.append("unset SLURM_GPUS_PER_NODE")
    lines += ["exec {} 3<<'RUNS'".format(
                  words([os.path.join(HERE, "run-pack"), ranks, sweep.output] + launch)),
              *(f"{run.ranks} {run.name}" for run in runs), "RUNS"]
    return "\n".join(lines) + "\n"


def split_by_size(runs, most):
    """Yield lists of runs with equal ranks and time, at most `most` long; large runs first."""
    classes: dict[tuple, list] = {}
    for run in runs:
        classes.setdefault((run.ranks, run.gpus, run.minutes), []).append(run)
    for key in sorted(classes, key=lambda key: (-key[0], -key[2])):
        for k in range(0, len(classes[key]), most):
            yield classes[key][k:k + most]


def makespan(runs, ranks):
    """Return the minutes until all runs are done, if each starts as soon as its ranks are free, in
    this order."""
    running: list[tuple[float, int]] = []
    now, free = 0.0, ranks
    for run in runs:
        while free < run.ranks:
            running.sort()
            now, returned = running.pop(0)
            free += returned
        running.append((now + run.minutes, run.ranks))
        free -= run.ranks
    return max([end for end, _ in running] or [0.0])


def split_by_time(site, runs, ranks):
    """Return (runs, minutes) of each pack: as many runs as end within the site's limit; large runs
    first."""
    rest, packs = sorted(runs, key=lambda run: (-run.ranks, -run.minutes)), []
    while rest:
        count = len(rest)
        if site.longest:  # makespan grows with the list: bisect
            low, high = 1, len(rest)
            while low < high:
                middle = (low + high + 1) // 2
                fits = site.minutes(makespan(rest[:middle], ranks)) <= site.longest
                low, high = (middle, high) if fits else (low, middle - 1)
            count = low
        packs.append((rest[:count], makespan(rest[:count], ranks)))
        rest = rest[count:]
    return packs
