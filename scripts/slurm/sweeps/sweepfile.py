"""The sweep file: one JSON object, // comments allowed.

    {
      "base": "base.json",             // a spec: a path relative to this file, or the object itself
      "axes": {                        // every combination of:
        "graph": ["ring", "complete"], // or implementation, algorithm, replicas, seed, model, data
        "/optimizer/lr": [0.1, 0.2],   // anything by JSON pointer
        "zip": [{"replicas": [4, 8], "/data/batch_size": [64, 32]}]   // lists that advance together
      },
      "exclude": [{"graph": "ring", "replicas": [8]}],   // dropped: points that match any of these
      "only": [],                                        // kept: points that match any of these
      "name": "{graph}-n{replicas}",   // {axis}, or {lr} for {/optimizer/lr}; default: all axes
      "output": "results/first",       // folder (relative to the working directory) for <name>.h5
      "ranks": 4,                      // or "replicas", or {"replicas_per_rank": 2, "most": 64};
                                       // or "gpus" instead, with one GPU per rank
      "time": "00:10:00",              // limit of one run, in Slurm's forms
      "tune": {}                       // only for `sweep tune` (rates.py): each point is a method
    }
"""

import os
import re

from . import axes as axis
from .files import NOT_ORDINARY
from .jsonfile import read_object
from .problem import Problem
from .text import minutes_of, shown, whole

KEYS = ("base", "axes", "exclude", "only", "name", "output", "ranks", "gpus", "time", "tune")
MOST_IN_TEMPLATE = 1000  # characters


def file_of_base(folder, name):
    """Return the path of the base spec."""
    path = os.path.join(folder, name)
    if not path.isprintable() or not os.path.exists(path):
        raise Problem("/base", "no file " + shown(path), "paths start at the sweep file's folder")
    if not os.path.isfile(path):
        raise Problem("/base", f"{path} is {NOT_ORDINARY}", "name a spec's file")
    return path


def folder_of_output(name):
    """Return the absolute path of the output folder, which need not exist yet. The path becomes
    part of batch scripts."""
    shell = re.search(r"^~|\$\w+|\$\{\w+\}|\{[\w.]+\}", name)
    if shell and not os.path.lexists(name):
        raise Problem("/output", f"'{shown(name)}' contains {shell.group()}, which only a shell "
                      "replaces, or which stands for nothing here",
                      "write the whole path; placeholders such as {seed} belong to \"name\"")
    path = os.path.abspath(name)
    if not (name + path).isprintable() or "%" in path or "\\" in path:
        raise Problem("/output", f"'{shown(name)}' holds a control character, a '%' or a '\\', or "
                      "is not Unicode", "use other characters: these have a meaning for Slurm")
    place = path
    while not os.path.lexists(place):
        place = os.path.dirname(place)
    if not os.path.isdir(place):
        raise Problem("/output", f"{place} is not a folder", "move it away, or name another folder")
    if not os.access(place, os.W_OK | os.X_OK):
        raise Problem("/output", f"{place} cannot be written to", "name another folder")
    return path


class Sweep:
    """The `points` of the sweep, and the settings that all points share.

    tune      the value of "tune", not yet examined; None without the key
    metrics   the columns of /evaluations whose last value is read from each result file
    """

    def __init__(self, path):
        self.path, self.metrics = os.path.abspath(path), ()
        given = read_object(path)
        for key in given:
            if key not in KEYS:
                raise Problem(f"{path}: /{key}", "unknown key",
                              "there are: " + ", ".join(KEYS))
        try:
            self._read(given)
        except Problem as problem:
            raise Problem(path, str(problem)) from problem

    def _read(self, given):
        for key in ("base", "axes", "output"):
            if key not in given:
                raise Problem("/" + key, "missing", {
                    "base": "a spec's path, or the spec itself",
                    "output": "the folder for result files",
                    "axes": "such as {\"seed\": [1, 2]}"}[key])
        self.base, folder = given["base"], os.path.dirname(self.path)
        if isinstance(self.base, str):
            self.base = file_of_base(folder, self.base)
        elif not isinstance(self.base, dict):
            raise Problem("/base", "neither a path nor an object", "give a spec")
        elif isinstance(self.base.get("base"), str):
            self.base["base"] = file_of_base(folder, self.base["base"])
        if not isinstance(given["axes"], dict):
            raise Problem("/axes", "not an object", "such as {\"seed\": [1, 2]}")
        if not isinstance(given["output"], str) or not given["output"]:
            raise Problem("/output", "not the path of a folder", "such as \"results/first\"")
        self.output = folder_of_output(given["output"])
        self.folder = os.path.join(self.output, ".sweep")  # files of this tool
        conditions = {}
        for key in ("exclude", "only"):
            conditions[key] = given.get(key, [])
            if not isinstance(conditions[key], list) or not all(
                    isinstance(condition, dict) and condition for condition in conditions[key]):
                raise Problem("/" + key, "not a list of conditions",
                              "such as [{\"graph\": \"ring\", \"seed\": [1, 2]}]")
        points = axis.points(given["axes"], **conditions)
        template = given.get("name", axis.default_template(given["axes"]) or "run")
        if not isinstance(template, str) or len(template) > MOST_IN_TEMPLATE:
            raise Problem("/name", f"not a string of at most {MOST_IN_TEMPLATE} letters",
                          "such as \"{graph}-n{replicas}\"")
        self.points = [(axis.name(template, point), point) for point in points]
        if not self.points:
            raise Problem("/axes", "no run is left", "\"exclude\" and \"only\" drop all of them")
        self._read_size(given)
        self.tune = given.get("tune")

    def _read_size(self, given):
        if "ranks" in given and "gpus" in given:
            raise Problem("/gpus", "given together with \"ranks\"",
                          "give one of them; with \"gpus\" a rank has one GPU")
        self.on_gpus = "gpus" in given
        key = "gpus" if self.on_gpus else "ranks"
        self.ranks = given.get(key, 1)
        rule = self.ranks if isinstance(self.ranks, dict) else {"replicas_per_rank": 1}
        known = whole(self.ranks) or self.ranks == "replicas" or isinstance(self.ranks, dict)
        if not (known and whole(rule.get("replicas_per_rank")) and whole(rule.get("most", 1))
                and set(rule) <= {"replicas_per_rank", "most"}):
            raise Problem("/" + key, "neither a number nor a rule",
                          "such as 4, \"replicas\", {\"replicas_per_rank\": 2, \"most\": 64}")
        self.minutes = minutes_of(given.get("time", "01:00:00"))
        if not self.minutes:
            raise Problem("/time", "not a duration",
                          "such as \"02:30:00\", \"1-12:00:00\", or 90 for minutes")

    def ranks_for(self, replicas):
        """Return the ranks for this number of replicas."""
        if whole(self.ranks):
            return self.ranks
        rule = self.ranks if isinstance(self.ranks, dict) else {"replicas_per_rank": 1}
        ranks = -(-replicas // rule["replicas_per_rank"])
        return min(ranks, rule.get("most", ranks))
