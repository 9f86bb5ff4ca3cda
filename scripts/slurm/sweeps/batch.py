"""The text that sbatch gets: job arrays of runs of one size, and packs of many runs in one job."""

import os
import re
import shlex

from .program import find
from .text import time_text

HERE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def words(parts):
    """As words of a shell's command line."""
    return " ".join(shlex.quote(str(part)) for part in parts)


def option(text):
    """A line for sbatch, which ends a word at any space or # that is not between quotes, and takes
    off backslashes there too."""
    if re.fullmatch(r"[A-Za-z0-9_@%+=:,./-]*", text):
        return "#SBATCH " + text
    return '#SBATCH "' + re.sub(r'(["\\])', r"\\\1", text) + '"'


def size(site, ranks, gpus):
    """sbatch's options for so many ranks."""
    options = [f"--ntasks={ranks}", f"--cpus-per-task={site.cpus_per_task}"]
    if gpus:
        nodes, on_a_node = site.nodes(ranks)
        options += [f"--nodes={nodes}", f"--ntasks-per-node={on_a_node}",
                    f"--gpus-per-node={on_a_node}"]
    return options


def head(site, name, folder, log, minutes, options):
    named = [f"--{key}={getattr(site, key)}" for key in ("partition", "account", "qos")
             if getattr(site, key)]
    options = ["--job-name=" + name, *named, *options, *site.sbatch,
               "--time=" + time_text(minutes), f"--signal=B:USR1@{site.signal_seconds}",
               "--requeue", "--open-mode=append", "--output=" + os.path.join(folder, "logs", log)]
    return ["#!/bin/bash", *map(option, options), "", *site.prologue,
            "export DBENCH_PROGRAM=" + shlex.quote(find()), "export DBENCH_REQUEUE=yes",
            f"export SRUN_CPUS_PER_TASK={site.cpus_per_task}",  # since 22.05 not from the job
            f"cd {shlex.quote(os.getcwd())} || exit"]


def array(site, sweep, runs, throttle):
    """One job array: task k is runs[k]; all have the same size."""
    first = runs[0]
    options = ["--array=0-{}{}".format(len(runs) - 1, f"%{throttle}" if throttle else "")]
    options += size(site, first.ranks, first.gpus)
    lines = head(site, f"{os.path.basename(sweep.output)}-{first.ranks}", sweep.folder,
                 "slurm-%A_%a.out", site.minutes(first.minutes), options)
    launch = site.launcher + (site.gpu_launch if first.gpus else [])
    lines += ["runs=(", *("    " + shlex.quote(run.name) for run in runs), ")",
              "name=${runs[$SLURM_ARRAY_TASK_ID]}",
              'exec {} {}/specs/"$name".json {}/"$name".h5 {} >>{}/logs/"$name".log 2>&1'.format(
                  shlex.quote(os.path.join(HERE, "run-one")), shlex.quote(sweep.folder),
                  shlex.quote(sweep.output), words(launch + ["-n", first.ranks]),
                  shlex.quote(sweep.folder))]
    return "\n".join(lines) + "\n"


def pack(site, sweep, runs, ranks, minutes):
    """One job of `ranks` ranks for all these runs, side by side and one after the other."""
    gpus = runs[0].gpus
    lines = head(site, os.path.basename(sweep.output) + "-pack", sweep.folder, "slurm-%j.out",
                 site.minutes(minutes), size(site, ranks, gpus))
    launch = site.launcher + site.step + (site.gpu_step if gpus else []) + [
        f"--cpus-per-task={site.cpus_per_task}"]
    if gpus:  # which srun takes from the job, and gives each step all cards of its nodes
        lines.append("unset SLURM_GPUS_PER_NODE")
    lines += ["exec {} 3<<'RUNS'".format(
                  words([os.path.join(HERE, "run-pack"), ranks, sweep.output] + launch)),
              *(f"{run.ranks} {run.name}" for run in runs), "RUNS"]
    return "\n".join(lines) + "\n"


def split_by_size(runs, most):
    """Lists of runs of equal ranks and time, none longer than `most`; large runs first."""
    classes: dict[tuple, list] = {}
    for run in runs:
        classes.setdefault((run.ranks, run.gpus, run.minutes), []).append(run)
    for key in sorted(classes, key=lambda key: (-key[0], -key[2])):
        for k in range(0, len(classes[key]), most):
            yield classes[key][k:k + most]


def makespan(runs, ranks):
    """Minutes until all are done, each started as soon as its ranks are free, in this order."""
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
    """(runs, minutes) of each pack: as many as end within the site's limit; large runs first."""
    rest, packs = sorted(runs, key=lambda run: (-run.ranks, -run.minutes)), []
    while rest:
        count = len(rest)
        if site.longest:  # makespan grows with the list, so halving finds the longest that fits
            low, high = 1, len(rest)
            while low < high:
                middle = (low + high + 1) // 2
                fits = site.minutes(makespan(rest[:middle], ranks)) <= site.longest
                low, high = (middle, high) if fits else (low, middle - 1)
            count = low
        packs.append((rest[:count], makespan(rest[:count], ranks)))
        rest = rest[count:]
    return packs
