"""The key "tune" of a sweep file: how `sweep tune` chooses a learning rate for each method.

    "tune": {
      "key": "/optimizer/lr",             // the entry that is tuned
      "factors": [0.25, 0.5, 1, 2, 4],    // its values, as multiples of each method's own value
      "seeds": [101, 102],                // of the trials
      "final_seeds": [1, 2, 3, 4, 5, 6],  // of the runs at the chosen value
      "metric": "accuracy",               // of the mean model on the validation set; or "loss"
      "extend": 2                         // how often a grid grows whose best value is at its end
    }
"""

import math

from . import axes as axis
from .problem import Problem
from .text import whole

DEFAULTS = {"key": "/optimizer/lr", "factors": [0.25, 0.5, 1, 2, 4], "seeds": [101, 102],
            "final_seeds": [1, 2, 3, 4, 5, 6], "metric": "accuracy", "extend": 2}
METRICS = ("accuracy", "loss")
MOST_EXTENSIONS = 10


def number(value):
    """Return whether the value is a finite number above 0."""
    return (isinstance(value, (int, float)) and not isinstance(value, bool)
            and math.isfinite(value) and value > 0)


def rounded(value):
    """Return a rate without the last digits, so that 3 * 0.1 is 0.3."""
    return float(f"{value:.12g}")


class Rates:
    """The settings under "tune", checked."""

    def __init__(self, sweep):
        given = sweep.tune
        if given is None:
            raise Problem(f"{sweep.path}: /tune", "missing, so nothing says how to choose a rate",
                          "add \"tune\": {}, or use the commands without `tune`")
        if not isinstance(given, dict):
            raise Problem(f"{sweep.path}: /tune", "not an object", "such as {} for the defaults")
        for key in given:
            if key not in DEFAULTS:
                raise Problem(f"{sweep.path}: /tune/{key}", "unknown key",
                              "there are: " + ", ".join(DEFAULTS))
        found = dict(DEFAULTS, **given)
        self.key, self.metric, self.extend = found["key"], found["metric"], found["extend"]
        self.factors, self.seeds = found["factors"], found["seeds"]
        self.final_seeds = found["final_seeds"]
        try:
            self._check(sweep)
        except Problem as problem:
            raise Problem(sweep.path, str(problem)) from problem
        self.factors = sorted(self.factors)

    def _check(self, sweep):
        if not isinstance(self.key, str):
            raise Problem("/tune/key", "not a JSON pointer", "such as \"/optimizer/lr\"")
        axis.check_axis("/tune", self.key, [1])
        if not self.key.startswith("/"):
            raise Problem("/tune/key", f"{self.key} has no number to tune",
                          "give a JSON pointer such as \"/optimizer/lr\"")
        factors = self.factors if isinstance(self.factors, list) else []
        if len(set(map(str, factors))) < 3 or not all(map(number, factors)):
            raise Problem("/tune/factors", "not a list of three or more different numbers above 0",
                          "a best value inside the grid needs one on each side of it: "
                          "[0.25, 0.5, 1, 2, 4]")
        for name in ("seeds", "final_seeds"):
            seeds = getattr(self, name)
            if (not isinstance(seeds, list) or not seeds or not all(whole(s, 0) for s in seeds)
                    or len(set(seeds)) < len(seeds)):
                raise Problem("/tune/" + name, "not a list of different whole numbers from 0",
                              f"such as {DEFAULTS[name]}")
        both = sorted(set(self.seeds) & set(self.final_seeds))
        if both:
            raise Problem("/tune/final_seeds", f"holds {both[0]}, which is a seed of the trials, "
                          "too: its run would not be independent of the choice", "give other seeds")
        if self.metric not in METRICS:
            raise Problem("/tune/metric", "not one of " + ", ".join(METRICS),
                          "both are measured on the validation set, for the mean model")
        if not whole(self.extend, 0) or self.extend > MOST_EXTENSIONS:
            raise Problem("/tune/extend", f"not a whole number from 0 to {MOST_EXTENSIONS}",
                          "0 never extends a grid")
        for name in sweep.points[0][1]:
            if axis.pointer(name).startswith("/seed"):
                raise Problem(f"/axes/{name}", "seeds belong to \"tune\" here",
                              "give \"seeds\" and \"final_seeds\" there")

    def columns(self):
        """Return (column of the validation set, column of the test set) in /evaluations."""
        return "validation_mean_" + self.metric, "mean_" + self.metric

    def worse(self, value, than):
        """Return by how much a value of the metric is worse than another one."""
        return than - value if self.metric == "accuracy" else value - than

    def label(self):
        """Return the tuned key's name in a run's name."""
        return self.key.rsplit("/", 1)[-1]
