"""The comparisons that the runs of a sweep permit: of times, accuracy and bytes."""

import collections
import json

from . import axes as axis

LIBRARY = "\"reduction\": \"library\" in the base"
RANK_EACH = "\"ranks\" or \"gpus\": \"replicas\" in the sweep file"

Comparison = collections.namedtuple("Comparison", "name permitted text")


def reproducible(run):
    """Return whether the sums of a run are reproducible; "auto" stands for that on the CPU."""
    kind = run.spec.get("reduction", "auto")
    return kind == "reproducible" or (kind == "auto" and not run.gpus)


def obstacles_to_times(runs):
    """Return why dbench-analyze would not compare times of these runs (comparability.py of the
    analysis), with the key that would permit it; "" if it would."""
    found = []
    for reason, remedy, some in (
            ("reproducible reductions", LIBRARY, [run for run in runs if reproducible(run)]),
            ("several replicas on a rank", RANK_EACH,
             [run for run in runs if run.replicas > run.ranks])):
        if some:
            share = "all runs" if len(some) == len(runs) else f"{len(some)} of {len(runs)} runs"
            found.append(f"{reason} ({share}); {remedy} would permit it")
    return "; ".join(found)


def obstacles_to_accuracies(runs):
    """Return why accuracies cannot be compared; "" if they can."""
    model = [run.spec.get("model") for run in runs]
    if any(isinstance(each, dict) and each.get("type") == "least_squares" for each in model):
        return "the data has real targets, and the runs measure losses only; compare losses"
    return ""


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
    times, accuracies = obstacles_to_times(sound), obstacles_to_accuracies(sound)
    seeds = fewest_seeds(sound)
    told = (f"yes, with {seeds} seeds of each setting" if seeds > 1 else
            "yes, but each setting has one seed, so that a difference may be chance; an axis "
            "\"seed\": [1, 2, 3] would permit a test")
    return [Comparison("times", not times, "no: " + times if times else "yes"),
            Comparison("accuracy", not accuracies, "no: " + accuracies if accuracies else told),
            Comparison("bytes", True, "yes")]
