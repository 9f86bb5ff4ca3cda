"""The site file: what differs between clusters. Examples: scripts/slurm/sites/."""

import os
import re

from .jsonfile import read_object
from .problem import Problem
from .text import minutes_of, whole

# key: (default, meaning)
KEYS = {
    "partition": (None, "sbatch --partition"),
    "account": (None, "sbatch --account"),
    "qos": (None, "sbatch --qos"),
    "sbatch": ([], "more options for #SBATCH lines, such as \"--exclusive\" or \"--mem=4G\""),
    "prologue": ([], "shell lines, run before the program starts: modules, exports"),
    "launcher": (["srun", "--mpi=pmix"], "words that start ranks; -n RANKS follows"),
    "step": (["--exact"], "more words for the launcher with --pack, where steps share a job"),
    "gpu_step": (["--gpus-per-task=1"], "words in addition to \"step\" for runs on GPUs"),
    "gpu_launch": ([], "more words for the launcher of runs on GPUs without --pack: binding"),
    "gpus_per_node": (0, "GPUs of a node; 0: none"),
    "cpus_per_task": (1, "processors of a rank"),
    "time_limit": (None, "the longest job the site takes, in Slurm's forms"),
    "signal_seconds": (120, "how long before its time limit a job receives the signal to stop"),
    "max_jobs": (None, "jobs of this sweep in the queue at once, at most"),
    "max_array": (1000, "tasks of a job array, at most (Slurm's MaxArraySize - 1)"),
    "throttle": (None, "tasks of an array that run at once, at most"),
}

OPTION = re.compile(r"[^\s=]+(=.*)?")  # an option of sbatch is one word: its value follows a "="


def good_text(key, value):
    """Return whether the value is one line of text that cannot end a line of a batch script."""
    if not isinstance(value, str):
        return False
    plain = value.replace("\t", " ") if key == "prologue" else value
    return plain.isprintable() and (key != "sbatch" or OPTION.fullmatch(value))


def good(key, value):
    """Return whether the value is valid for the key."""
    default = KEYS[key][0]
    if isinstance(default, list):
        return isinstance(value, list) and all(good_text(key, word) for word in value)
    if value is None and default is None:
        return True
    if isinstance(default, int) or key in ("max_jobs", "throttle"):
        return whole(value, 0 if key == "gpus_per_node" else 1)
    return minutes_of(value) if key == "time_limit" else good_text(key, value)


class Site:
    """The values of a site file, as an attribute for each of KEYS."""

    gpus_per_node: int
    signal_seconds: int
    time_limit: "str | int | None"  # quoted for Python 3.6

    def __init__(self, path=None):
        self.path = os.path.abspath(path) if path else None
        given = read_object(path) if path else {}
        for key, value in given.items():
            if key not in KEYS:
                raise Problem(f"{path}: /{key}", "unknown key",
                              "there are: " + ", ".join(KEYS))
            if not good(key, value):
                raise Problem(f"{path}: /{key}", f"not a valid value (one line): {KEYS[key][1]}",
                              f"the default is {KEYS[key][0]!r}")
        for key, (default, _) in KEYS.items():
            setattr(self, key, given.get(key, default))
        self.longest = minutes_of(self.time_limit) if self.time_limit else None

    def minutes(self, wanted):
        """Return a job's time limit for `wanted` minutes of work, including the time to stop."""
        return wanted + self.signal_seconds / 60.0

    def nodes(self, ranks):
        """Return (nodes, GPUs per node) of a job with one GPU per rank. Nodes are filled one after
        the other, and the last node gets as many GPUs as the others."""
        return -(-ranks // self.gpus_per_node), min(ranks, self.gpus_per_node)

    def refuses(self, run):
        """Return why this run cannot be queued at this site; "" if it can."""
        if run.gpus and not self.gpus_per_node:
            return "it needs GPUs and the site file has no \"gpus_per_node\""
        if self.longest and self.minutes(run.minutes) > self.longest:
            return (f"it may take {run.minutes:g} min, with the signal's {self.signal_seconds} s "
                    f"more than the site's limit of {self.longest:g} min")
        return ""
