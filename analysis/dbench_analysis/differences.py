"""What tells the specs of several runs apart."""

import collections
import json

from . import fields, names
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


def told(pointer: str, value: str) -> bool:
    """Whether the name of a communication says this already, or nobody needs to be told."""
    return (pointer in ("/replicas", "/implementation", "/algorithm", "/graph", "/algorithm/type",
                        "/algorithm/order", "/graph/type")
            or (pointer, value) in (("/graph/weights", "auto"), ("/graph/lazy", "1")))


def told_apart(texts: list[str], specs: list[dict[str, str]], use) -> list[str]:
    """The texts, those of one text followed by the entries of their specs in which they differ, if
    `use(pointer)`: "base_k, k=1" and "base_k, k=3"."""
    groups: dict[str, list[int]] = {}
    for i, text in enumerate(texts):
        groups.setdefault(text, []).append(i)
    found = list(texts)
    for members in groups.values():
        kept = [{p: v for p, v in specs[i].items() if use(p) and not told(p, v)} for i in members]
        for pointer in dict.fromkeys(p for spec in kept for p in spec):
            if len({spec.get(pointer) for spec in kept}) > 1:
                for i, spec in zip(members, kept):
                    if pointer in spec:
                        found[i] += f", {called(pointer)}={spec[pointer]}"
    return found


def called(pointer: str) -> str:
    """The last word of a JSON pointer that tells what it is of."""
    *above, last = pointer.strip("/").split("/")
    return above[-1] if last == "type" and above else last


def of_communication(pointer: str) -> bool:
    return pointer.startswith(("/graph", "/algorithm", "/message"))


def communications(runs: list[Run]) -> list[str]:
    """What the runs' communications are called, with what graphs or algorithms of one name differ
    in."""
    return told_apart([names.implementation(run) for run in runs],
                      [flattened(run.spec) for run in runs], of_communication)


def setting_labels(runs: list[Run], sized: bool = True) -> list[str]:
    """Labels of runs that stand for their settings: the communication, n where it varies (if
    `sized`), and what else the settings of one communication differ in, such as
    "D_ring, n=8, lr=0.2"."""
    texts = [names.communication(run) for run in runs]
    if sized and len({run.replicas for run in runs}) > 1:
        texts = [f"{name}, n={run.replicas}" for name, run in zip(texts, runs)]
    return told_apart(texts, [flattened(run.spec) for run in runs], lambda p: not is_aside(p))


def labels(runs: list[Run]) -> list[str]:
    """Distinct labels: of the setting, then the seed, the name, the file, as far as needed."""
    texts = setting_labels(runs)
    for more in (lambda run: f"seed {fields.seed(run)}", lambda run: run.name,
                 lambda run: str(run.path)):
        counts = collections.Counter(texts)
        texts = [f"{text}, {more(run)}" if counts[text] > 1 else text
                 for text, run in zip(texts, runs)]
    return texts


def differing(a: list[dict[str, str]], b: list[dict[str, str]]) -> list[tuple[str, str, str]]:
    """(pointer, values in a, values in b) of the entries whose sets of values differ between two
    lists of flattened specs."""
    def values(side, pointer):
        return dict.fromkeys(spec.get(pointer, "-") for spec in side)

    pointers = dict.fromkeys(pointer for spec in (*a, *b) for pointer in spec)
    rows = [(pointer, values(a, pointer), values(b, pointer)) for pointer in pointers]
    return [(pointer, ", ".join(left), ", ".join(right))
            for pointer, left, right in rows if left.keys() != right.keys()]
