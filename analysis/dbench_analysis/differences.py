"""What tells the specs of several runs apart."""

import json

from . import names
from .run import Run

IGNORED = ("/name", "/output", "/notes")
# in which runs of one setting may differ: the seed, and what is of no consequence to what they
# learn and to the numbers that are reported of it
ASIDE = (*IGNORED, "/seed", "/checkpoint", "/profile", "/evaluate/every", "/evaluate/replicas",
         "/evaluate/batch_size", "/device")


def is_aside(pointer: str) -> bool:
    return any(pointer == place or pointer.startswith(place + "/") for place in ASIDE)


def alike(runs: list[Run]) -> list[list[Run]]:
    """The runs by setting: those of a group differ in nothing but the seed and the like."""
    groups: dict[frozenset, list[Run]] = {}
    for run in runs:
        setting = frozenset((p, v) for p, v in flattened(run.spec).items() if not is_aside(p))
        groups.setdefault(setting, []).append(run)
    return list(groups.values())


def flattened(value, pointer: str = "") -> dict[str, str]:
    """A JSON value as {pointer: text of the leaf}."""
    if isinstance(value, dict) and value:
        found: dict[str, str] = {}
        for key, below in value.items():
            found |= flattened(below, f"{pointer}/{key}")
        return found
    return {pointer: value if isinstance(value, str) else json.dumps(value)}


def differences(runs: list[Run]) -> list[tuple[str, list[str]]]:
    """(JSON pointer, its value in each run) of every entry in which the specs differ."""
    specs = [flattened(run.spec) for run in runs]
    pointers = dict.fromkeys(pointer for spec in specs for pointer in spec)
    rows = [(p, [spec.get(p, "-") for spec in specs]) for p in pointers if p not in IGNORED]
    return [(pointer, values) for pointer, values in rows if len(set(values)) > 1]


def setting_labels(runs: list[Run]) -> list[str]:
    """Labels of runs that stand for their settings: the communication, n where it varies, and what
    else the settings of one communication differ in, such as "D_ring, n=8, lr=0.2"."""
    told = [names.communication(run) for run in runs]
    if len({run.replicas for run in runs}) > 1:
        told = [f"{name}, n={run.replicas}" for name, run in zip(told, runs)]
    family = ("/replicas", "/implementation", "/algorithm/type", "/graph/type")
    found = []
    for name in told:
        same = [flattened(run.spec) for run, other in zip(runs, told) if other == name]
        found.append([p for p in dict.fromkeys(p for spec in same for p in spec)
                      if p not in family and not is_aside(p)
                      and len({spec.get(p) for spec in same}) > 1])
    labels = []
    for name, run, pointers in zip(told, runs, found):
        spec = flattened(run.spec)
        labels.append(", ".join(
            [name, *(f"{p.rsplit('/', 1)[-1]}={spec[p]}" for p in pointers if p in spec)]))
    return labels


def differing(a: list[dict[str, str]], b: list[dict[str, str]]) -> list[tuple[str, str, str]]:
    """(pointer, values in a, values in b) of the entries whose sets of values differ between two
    lists of flattened specs."""
    def values(side, pointer):
        return dict.fromkeys(spec.get(pointer, "-") for spec in side)

    pointers = dict.fromkeys(pointer for spec in (*a, *b) for pointer in spec)
    rows = [(pointer, values(a, pointer), values(b, pointer)) for pointer in pointers]
    return [(pointer, ", ".join(left), ", ".join(right))
            for pointer, left, right in rows if left.keys() != right.keys()]
