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
    "gpu_type": (None, "the type of GPU that jobs request, such as \"a100\""),
    "cpus_per_task": (1, "processors of a rank"),
    "time_limit": (None, "the longest job the site takes, in Slurm's forms"),
    "signal_seconds": (120, "how long before its time limit a job receives the signal to stop"),
    "max_jobs": (None, "jobs of this sweep in the queue at once, at most"),
    "max_array": (1000, "tasks of a job array, at most (Slurm's MaxArraySize - 1)"),
    "throttle": (None, "tasks of an array that run at once, at most"),
}

OPTION = re.compile(r"[^\s=]+(=.*)?")  # an option of sbatch is one word: its value follows a "="
SHAPE = re.compile(r"(--[A-Za-z][A-Za-z-]*(=.*)?|-[A-Za-z].*)")
ALONE = ("H", "I", "O", "Q", "V", "W", "h", "k", "s", "v")  # short options without a value
# Each sweep gives these options, by the named key.
SET = {"array": "", "output": "", "time": "time_limit", "ntasks": "", "open-mode": "",
       "signal": "signal_seconds", "wrap": "prologue"}
SHORT = {"a": "array", "n": "ntasks", "o": "output", "t": "time"}
UNLIMITED = ("unlimited", "infinite")


def good_text(key, value):
    """Return whether the value is one line of text that cannot end a line of a batch script."""
    if not isinstance(value, str):
        return False
    plain = value.replace("\t", " ") if key == "prologue" else value
    return plain.isprintable() and (key != "sbatch" or OPTION.fullmatch(value))


def check_option(where, word):
    """Raise Problem for a word under "sbatch" that sbatch refuses, or that breaks the sweep."""
    if not SHAPE.fullmatch(word):
        raise Problem(where, f"'{word}' is not an option of sbatch",
                      "give each option and its value as one word, such as \"--constraint=a100\"")
    if len(word) == 2 and word[1] not in ALONE:
        raise Problem(where, f"'{word}' has no value",
                      f"give both as one word, such as \"{word}VALUE\"")
    name = word[2:].split("=")[0] if word.startswith("--") else SHORT.get(word[1], "")
    if name in SET:
        raise Problem(where, f"'{word}': each sweep sets --{name} itself",
                      f"use \"{SET[name]}\"" if SET[name] else "leave it out")


def limit(value):
    """Return the minutes of a time limit; None without one."""
    return None if str(value).lower() in UNLIMITED else minutes_of(value)


def good(key, value):
    """Return whether the value is valid for the key."""
    default = KEYS[key][0]
    if isinstance(default, list):
        return isinstance(value, list) and all(good_text(key, word) for word in value) and (
            key != "launcher" or any(value[:1]))
    if value is None and default is None:
        return True
    if isinstance(default, int) or key in ("max_jobs", "throttle"):
        return whole(value, 0 if key == "gpus_per_node" else 1)
    if key == "time_limit":
        return limit(value) or str(value).lower() in UNLIMITED
    if key == "gpu_type":
        return isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9_.-]+", value)
    return good_text(key, value)


class Site:
    """The values of a site file, as an attribute for each of KEYS."""

    gpus_per_node: int
    gpu_type: "str | None"  # quoted for Python 3.6
    gpu_step: "list[str]"
    signal_seconds: int
    time_limit: "str | int | None"

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
        for word in given.get("sbatch", []):
            check_option(f"{path}: /sbatch", word)
        for key, (default, _) in KEYS.items():
            setattr(self, key, given.get(key, default))
        if self.gpu_type and "gpu_step" not in given:
            self.gpu_step = ["--gpus-per-task=" + self.gpus(1)]
        self.longest = limit(self.time_limit) if self.time_limit else None

    def minutes(self, wanted):
        """Return a job's time limit for `wanted` minutes of work, including the time to stop."""
        return wanted + self.signal_seconds / 60.0

    def gpus(self, count):
        """Return so many GPUs as options of sbatch and srun name them: 4, or a100:4."""
        return f"{self.gpu_type}:{count}" if self.gpu_type else str(count)

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
