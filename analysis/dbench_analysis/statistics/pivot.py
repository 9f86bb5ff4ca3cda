"""Arranges runs by their fields in rows and columns: mean and deviation of metrics in each cell."""

import math
from dataclasses import dataclass, field

import pandas as pd

from ..basics.formatting import counted, percent
from ..naming import differences
from ..quantities.fields import Field
from ..reading.files import natural
from ..reading.metrics import METRICS
from ..selection.collection import Collection

LOCAL = (*(f"{metric}_{edge}" for metric in METRICS for edge in ("min", "median", "max")),
         "accuracy_local_best")
EVALUATED = "/evaluate/replicas"  # over which the worst, median and best local model are taken


@dataclass(frozen=True)
class Cell:
    """The mean over `count` runs and their standard deviation (n - 1; NaN for one run)."""

    mean: float
    deviation: float
    count: int


@dataclass
class Pivot:
    """cells[row key][column key, metric]. A key is the tuple of the fields' values."""

    rows: list[Field]
    columns: list[Field]
    metrics: list[Field]
    row_keys: list[tuple]
    column_keys: list[tuple]
    cells: dict[tuple, dict[tuple, Cell]]
    notes: list[str] = field(default_factory=list)

    def cell(self, row: tuple, column: tuple, metric: str) -> Cell | None:
        """Return a cell; None if it has no run."""
        return self.cells[row].get((column, metric))

    def counts(self) -> set[int]:
        """Return the numbers of runs that occur in the cells."""
        return {cell.count for row in self.cells.values() for cell in row.values()}

    def best(self, along: str) -> set[tuple]:
        """Return (row, column, metric) of the best means: of each column, of each row, or of all
        cells."""
        groups: dict[tuple, list] = {}
        for row, cells in self.cells.items():
            for (column, key), cell in cells.items():
                where = {"column": (column, key), "row": (row, key), "all": (key,)}.get(along)
                if where and math.isfinite(cell.mean):
                    groups.setdefault(where, []).append((cell.mean, (row, column, key)))
        better = {metric.key: metric.better for metric in self.metrics}
        chosen = set()
        for found in groups.values():
            sense = better[found[0][1][2]]
            if sense and len(found) > 1:
                top = (max if sense == "high" else min)(mean for mean, _ in found)
                chosen |= {place for mean, place in found if mean == top}
        return chosen


def distinguished(found: Collection, fields: list[Field]) -> Collection:
    """Return the runs with distinct names of communications: a name gets the parameters in which
    graphs or algorithms of one name differ, unless another field of the pivot has them. base_k with
    k = 1 and k = 3 becomes two rows."""
    keys = {f.key for f in fields}
    if "graph_label" in keys:
        return found
    labels = found.frame.get("graph_label", pd.Series([""] * len(found.frame)))
    specs = [spec if spec is not None else in_label(str(label))
             for spec, label in zip(found.specs, labels)]
    frame = found.frame.copy()
    shown = keys | {"/graph/type", "/algorithm/type"} | (
        {differences.MOMENTUM} if "momentum" in keys else set())
    for key in keys & {"implementation", "graph", "algorithm"}:
        frame[key] = differences.distinguished(
            list(frame[key]), specs,
            lambda p, key=key: differences.concerns(key, p) and p not in shown)
    return Collection(frame, found.specs, found.faults)


def in_label(label: str) -> dict[str, str]:
    """Return the parameters in a `graph_label`, such as "base_k k=3", as entries of a spec."""
    return {f"/graph/{key}": value for key, equals, value in
            (word.partition("=") for word in label.split()) if equals}


def pivot(found: Collection, rows: list[Field], columns: list[Field],
          metrics: list[Field]) -> Pivot:
    """Return the pivot of the runs in `found`."""
    found = distinguished(found, [*rows, *columns])
    frame, by = found.frame, [f.key for f in (*rows, *columns)]
    keys = [tuple(plain_value(v) for v in values)
            for values in frame[by].itertuples(index=False, name=None)]
    groups: dict[tuple, list[int]] = {}
    for i, key in enumerate(keys):
        groups.setdefault(key, []).append(i)
    split = len(rows)
    result = Pivot(rows, columns, metrics, ordered(k[:split] for k in groups),
                   ordered(k[split:] for k in groups), {})
    result.cells = {key: {} for key in result.row_keys}
    for key, members in groups.items():
        for metric in metrics:
            values = pd.to_numeric(frame[metric.key].iloc[members], errors="coerce")
            values = values[values.map(math.isfinite)]
            if len(values):
                result.cells[key[:split]][key[split:], metric.key] = Cell(
                    float(values.mean()), float(values.std(ddof=1)), len(values))
    result.notes = notes(found, groups, metrics)
    return result


def plain_value(value):
    """Return a whole number as int, whatever its column's type, and a missing value as a dash."""
    if isinstance(value, float):
        return "-" if math.isnan(value) else int(value) if value.is_integer() else value
    return "-" if value is None else value


def ordered(keys) -> list[tuple]:
    """Return the distinct keys: numbers by size, then words in natural order."""
    def rank(key):
        return [(0, v, []) if isinstance(v, (int, float)) and not isinstance(v, bool)
                else (1, 0, natural_words(v)) for v in key]

    return sorted(dict.fromkeys(keys), key=rank)


def natural_words(value) -> list:
    return [(0, part, "") if isinstance(part, int) else (1, 0, part) for part in natural(value)]


def notes(found: Collection, groups: dict[tuple, list[int]], metrics: list[Field]) -> list[str]:
    """Return what a reader must know about the cells: other differences inside them, repeated
    seeds, missing values."""
    remarks = []
    for pointer, values in mixed(found, groups.values()).items():
        remarks.append(f"Cells hold runs that differ in {pointer}: {', '.join(values)}.")
    seeds = found.frame["seed"] if "seed" in found.frame else None
    twice = [key for key, members in groups.items() if seeds is not None
             and seeds.iloc[members].duplicated().any()]
    if twice and not remarks:
        some = ", ".join(str(v) for v in twice[0])
        remarks.append(f"{counted(len(twice), 'cell')} with the same seed more than once (such as "
                    f"{some}): n counts runs, not seeds.")
    remarks += interval_notes(found, metrics)
    remarks += replica_notes(found.frame, metrics)
    for metric in metrics:
        values = pd.to_numeric(found.frame[metric.key], errors="coerce")
        lost = int((~values.map(math.isfinite)).sum())
        if lost:
            remarks.append(f"{counted(lost, 'run')} without a finite {metric.title} left out.")
    return remarks


def interval_notes(found: Collection, metrics: list[Field]) -> list[str]:
    """Return a warning if the best of many evaluations is compared with the best of few."""
    values = {tuple((p, v) for p, v in spec.items() if differences.is_interval(p))
              for spec in found.specs if spec is not None}
    if len(values) < 2 or not any(takes_the_best(metric) for metric in metrics):
        return []
    return [f"Runs differ in {differences.INTERVAL}: the best of more evaluations is better by "
            "chance."]


def takes_the_best(metric: Field) -> bool:
    """Return whether a metric is the best of all evaluations of a run."""
    return metric.key.endswith("_best")


def replica_notes(frame: pd.DataFrame, metrics: list[Field]) -> list[str]:
    """Return over how many replicas the worst, the median and the best local model are taken."""
    if not {"evaluated", "replicas"} <= {*frame} or not any(m.key.startswith(LOCAL)
                                                            for m in metrics):
        return []
    pairs = sorted({(int(a), int(n)) for a, n in frame[["evaluated", "replicas"]].dropna().to_numpy(
        dtype=float)})
    said = ", ".join(f"{n} replicas" if a == n else f"{a} of {n} replicas" for a, n in pairs)
    return [f"Local models: over {said}, as evaluated."] if said else []


def mixed(found: Collection, groups) -> dict[str, list[str]]:
    """Return the entries of the spec in which runs of one cell differ, with their values, without
    ignored entries such as seeds."""
    differing: dict[str, dict[str, None]] = {}
    for members in groups:
        specs = [found.specs[i] for i in members if found.specs[i] is not None]
        for pointer in dict.fromkeys(p for spec in specs for p in spec):
            values = {spec.get(pointer, "-"): None for spec in specs}
            if len(values) > 1 and (pointer == EVALUATED or not differences.is_ignored(pointer)):
                differing.setdefault(pointer, {}).update(values)
    return {pointer: list(values) for pointer, values in differing.items()}


def shown(cell: Cell, metric: Field, pm: str = "±", with_count: bool = False) -> str:
    """Return a cell as text: 75.12 ± 0.30 %, or with the two leading digits of the deviation."""
    count = f" (n={cell.count})" if with_count else ""
    if not math.isfinite(cell.deviation):
        return metric.show(cell.mean) + count
    if metric.show is percent:
        return f"{100 * cell.mean:.2f} {pm} {100 * cell.deviation:.2f} %{count}"
    if metric.timed or metric.key == "bytes":  # units of their own
        return f"{metric.show(cell.mean)} {pm} {metric.show(cell.deviation)}{count}"
    if cell.deviation == 0:
        return f"{cell.mean:.4g} {pm} 0{count}"
    power = 0 if 1e-4 <= abs(cell.mean) < 1e6 else math.floor(math.log10(
        abs(cell.mean) or cell.deviation))
    mean, deviation = cell.mean / 10.0**power, cell.deviation / 10.0**power
    digits = min(8, max(0, 1 - math.floor(math.log10(deviation))))
    text = f"{mean:.{digits}f} {pm} {deviation:.{digits}f}"
    return (f"({text})e{power:+03d}" if power else text) + count
