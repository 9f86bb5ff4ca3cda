"""The entries in which the specs of several runs differ, and labels made from them."""

import collections
import json

from ..reading.run import Run
from . import names

IGNORED = ("/name", "/output", "/notes")
# Runs of one setting may differ in the seed, and in entries that change neither the training nor
# the reported numbers.
MOMENTUM = "/optimizer/momentum"
COMMUNICATION = ("/implementation", "/algorithm", "/graph")
INTERVAL = "/evaluate/every"  # changes the best and the first of several evaluations, not the last
IGNORED_BY_SETTINGS = (*IGNORED, "/seed", "/checkpoint", "/profile", INTERVAL, "/evaluate/replicas",
                       "/evaluate/batch_size", "/device")


def is_ignored(pointer: str) -> bool:
    """Return whether runs that differ in this entry belong to the same setting."""
    return any(pointer == place or pointer.startswith(place + "/") for place in IGNORED_BY_SETTINGS)


def is_interval(pointer: str) -> bool:
    """Return whether an entry says how often a run is evaluated."""
    return pointer == INTERVAL or pointer.startswith(INTERVAL + "/")


def by_setting(runs: list[Run]) -> list[list[Run]]:
    """Return the runs in groups: the runs of a group differ only in ignored entries, such as the
    seed. A group has one run of each seed, so that means are over seeds: the first complete one, or
    the first if none is complete."""
    groups: dict[frozenset, dict[str, Run]] = {}
    for run in runs:
        seeds, seed = groups.setdefault(whole_setting(run), {}), str(names.seed(run))
        if seed not in seeds or (run.status == "complete" != seeds[seed].status):
            seeds[seed] = run
    return [list(seeds.values()) for seeds in groups.values()]


def repeated(runs: list[Run]) -> list[Run]:
    """Return the runs that `by_setting` leaves out, because another run has the same setting and
    seed."""
    kept = {id(run) for group in by_setting(runs) for run in group}
    return [run for run in runs if id(run) not in kept]


def repeated_note(runs: list[Run]) -> str:
    """Return a sentence that names the runs that `by_setting` leaves out; empty if there are
    none."""
    left = repeated(runs)
    return ("Left out, because another run has the same setting and seed: "
            f"{', '.join(run.path.name for run in left)}.") * bool(left)


def whole_setting(run: Run) -> frozenset:
    """Return the whole spec except for ignored entries, such as the seed."""
    return frozenset((p, v) for p, v in flattened(run.spec).items() if not is_ignored(p))


def flattened(value, pointer: str = "") -> dict[str, str]:
    """Return a JSON value as {pointer: text of the leaf}."""
    if isinstance(value, dict) and value:
        found: dict[str, str] = {}
        for key, below in value.items():
            found |= flattened(below, f"{pointer}/{key}")
        return found
    return {pointer: value if isinstance(value, str) else json.dumps(value)}


def differences(runs: list[Run]) -> list[tuple[str, list[str]]]:
    """Return (JSON pointer, its value in each run) of every entry in which the specs differ."""
    specs = [flattened(run.spec) for run in runs]
    pointers = dict.fromkeys(pointer for spec in specs for pointer in spec)
    rows = [(p, [spec.get(p, "-") for spec in specs]) for p in pointers if p not in IGNORED]
    return [(pointer, values) for pointer, values in rows if len(set(values)) > 1]


def is_redundant(pointer: str, value: str) -> bool:
    """Return whether the name of a communication already contains this entry, or it is a usual
    value."""
    return (pointer in ("/replicas", "/implementation", "/algorithm", "/graph", "/algorithm/type",
                        "/algorithm/order", "/graph/type")
            or (pointer, value) in (("/graph/weights", "auto"), ("/graph/lazy", "1")))


def is_implied(pointer: str, specs: list[dict[str, str]]) -> bool:
    """Return whether an entry says no more than the type of its section: only specs with certain
    types have it, and all of these have the same value."""
    kind = pointer.rpartition("/")[0] + "/type"
    having = [spec for spec in specs if pointer in spec]
    lacking = [spec for spec in specs if pointer not in spec]
    types = [{spec.get(kind) for spec in side} for side in (having, lacking)]
    return len({spec[pointer] for spec in having}) == 1 and types[0].isdisjoint(types[1])


def distinguished(texts: list[str], specs: list[dict[str, str]], use) -> list[str]:
    """Return the texts; equal texts get the entries in which their specs differ, as far as
    `use(pointer)` is true: "base_k, k=1" and "base_k, k=3"."""
    groups: dict[str, list[int]] = {}
    for i, text in enumerate(texts):
        groups.setdefault(text, []).append(i)
    found = list(texts)
    for members in groups.values():
        kept = [{p: v for p, v in specs[i].items() if use(p) and not is_redundant(p, v)}
                for i in members]
        for pointer in dict.fromkeys(p for spec in kept for p in spec):
            if len({spec.get(pointer) for spec in kept}) > 1 and not is_implied(pointer, kept):
                for i, spec in zip(members, kept):
                    if pointer in spec:
                        found[i] += f", {called(pointer)}={spec[pointer]}"
    return found


def called(pointer: str) -> str:
    """Return the last word of a JSON pointer that describes the entry."""
    *above, last = pointer.strip("/").split("/")
    return above[-1] if last == "type" and above else last


def concerns_communication(pointer: str) -> bool:
    """Return whether the entry belongs to the graph, the algorithm or the message."""
    return pointer.startswith(("/graph", "/algorithm", "/message"))


def concerns(field: str, pointer: str) -> bool:
    """Return whether an entry belongs in the label of `graph`, `algorithm` or `implementation`: in
    a graph's label only entries of the graph. The momentum, which algorithms share with the
    optimizer, belongs to the algorithm."""
    if field == "graph":
        return pointer.startswith("/graph")
    if field == "algorithm":
        return pointer.startswith(("/algorithm", "/message")) or pointer == MOMENTUM
    return concerns_communication(pointer) or pointer == MOMENTUM


def communications(runs: list[Run]) -> list[str]:
    """Return the name of each run's communication; graphs or algorithms of one name also get the
    parameters in which they differ."""
    return distinguished([names.implementation(run) for run in runs],
                      [flattened(run.spec) for run in runs], concerns_communication)


def setting_labels(runs: list[Run], sized: bool = True) -> list[str]:
    """Return labels of runs that represent their settings: the communication, n if it varies (if
    `sized`), and other differences, such as "D_ring, n=8, lr=0.2"."""
    texts = [names.communication(run) for run in runs]
    if sized and len({run.replicas for run in runs}) > 1:
        texts = [f"{name}, n={run.replicas}" for name, run in zip(texts, runs)]
    return distinguished(texts, [flattened(run.spec) for run in runs], lambda p: not is_ignored(p))


def labels(runs: list[Run]) -> list[str]:
    """Return distinct labels: the setting, then the seed, the name and the file as far as
    needed."""
    texts = setting_labels(runs)
    for more in (lambda run: f"seed {names.seed(run)}", lambda run: run.name,
                 lambda run: str(run.path)):
        counts = collections.Counter(texts)
        texts = [f"{text}, {more(run)}" if counts[text] > 1 else text
                 for text, run in zip(texts, runs)]
    return texts


def differing(a: list[dict[str, str]], b: list[dict[str, str]]) -> list[tuple[str, str, str]]:
    """Return (pointer, values in a, values in b) of the entries whose sets of values differ between
    two lists of flattened specs."""
    def values(side, pointer):
        return dict.fromkeys(spec.get(pointer, "-") for spec in side)

    pointers = dict.fromkeys(pointer for spec in (*a, *b) for pointer in spec)
    rows = [(pointer, values(a, pointer), values(b, pointer)) for pointer in pointers]
    return [(pointer, ", ".join(left), ", ".join(right))
            for pointer, left, right in rows if left.keys() != right.keys()]


def setting_of(run: Run) -> frozenset:
    """Return the whole spec except for communication, names, seed and other ignored entries, but
    with the number of replicas."""
    spec = flattened(run.spec)
    kept = {p: v for p, v in spec.items() if not p.startswith(COMMUNICATION)
            and not is_ignored(p)}
    return frozenset({**kept, "/replicas": str(run.replicas)}.items())


def without_replicas(run: Run) -> frozenset:
    """Return the setting without the number of replicas."""
    return frozenset((p, v) for p, v in setting_of(run) if p != "/replicas")


def over_replicas(runs: list[Run]) -> list[list[int]]:
    """Return the numbers of the runs, which represent settings, in groups that differ in the number
    of replicas. A group has one communication. If a number of replicas occurs twice with it, the
    rest of the setting divides the group; otherwise a learning rate may change with the replicas.
    """
    by_name: dict[str, list[int]] = {}
    for i, run in enumerate(runs):
        by_name.setdefault(names.communication(run), []).append(i)
    found = []
    for members in by_name.values():
        divided: dict[frozenset, list[int]] = {}
        if len({runs[i].replicas for i in members}) < len(members):
            for i in members:
                divided.setdefault(without_replicas(runs[i]), []).append(i)
        found += [*divided.values()] or [members]
    return found


def group_of(run: Run) -> frozenset:
    """Return the setting and the seed: runs of one group can be compared."""
    return setting_of(run) | {("/seed", str(names.seed(run)))}
