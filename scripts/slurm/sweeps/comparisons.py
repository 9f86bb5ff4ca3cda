"""The comparisons that the runs of a sweep permit: of times, accuracy and bytes."""

import collections
import json

from . import axes as axis

# Keys of a sweep file that change what `dbench check` names as an obstacle.
IN_SWEEP = {"ranks": "\"ranks\" or \"gpus\": \"replicas\" in the sweep file",
            "/reduction": "\"reduction\": \"library\" in the base"}

Comparison = collections.namedtuple("Comparison", "name permitted text")


def obstacles(runs, purpose):
    """Return the obstacles that `dbench check` names for the purpose as one text; "" if there are
    none."""
    found: "dict[tuple, list]" = {}
    for run in runs:
        for each in run.comparisons.get(purpose, []):
            key = each.get("key", "")
            reason = ("several replicas on a rank" if key == "ranks" and "replicas on" in
                      each["reason"] else each["reason"])
            found.setdefault((reason, IN_SWEEP.get(key, each["remedy"])), []).append(run)
    return "; ".join("{} ({}); {} would permit it".format(
        reason, "all runs" if len(some) == len(runs) else f"{len(some)} of {len(runs)} runs",
        remedy) for (reason, remedy), some in found.items())


def is_seed(name):
    """Return whether an axis varies the seed."""
    pointer = axis.pointer(name)
    return pointer == "/seed" or pointer.startswith("/seed/")


def fewest_seeds(runs):
    """Return the smallest number of runs that differ in nothing but the seed."""
    groups = collections.Counter(
        json.dumps([[name, value] for name, value in run.point.items() if not is_seed(name)],
                   sort_keys=True) for run in runs)
    return min(groups.values())


def comparisons(runs):
    """Return what the runs of a plan permit to compare; empty if fewer than two can run."""
    sound = [run for run in runs if run.spec is not None]
    if len(sound) < 2:
        return []
    found = []
    for purpose, name in (("time", "times"), ("accuracy", "accuracy"), ("bytes", "bytes")):
        against = obstacles(sound, purpose)
        text = "no: " + against if against else "yes"
        if purpose == "accuracy" and not against:
            seeds = fewest_seeds(sound)
            text += (f", with {seeds} seeds of each setting" if seeds > 1 else
                     ", but each setting has one seed, so that a difference may be chance; an axis "
                     "\"seed\": [1, 2, 3] would permit a test")
        found.append(Comparison(name, not against, text))
    return found
