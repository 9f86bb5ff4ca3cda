"""The definition of a reproduction: one JSON file, `reproduction.json`, in a folder of its own.

The file has the published numbers with their source, the spec of each cell, how the number of a run
is formed, the tolerance with its reason, and what the source leaves open. A new reproduction is a
new folder. docs/analysis.md lists the keys.
"""

import copy
import json
import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..basics.errors import AnalysisError
from . import metrics
from .checking import NUMBER, OBJECT, POINTERS, TEXT, TEXTS, Key, checked, is_object

FILE = "reproduction.json"
CHECKOUT = Path(__file__).parents[3] / "configs" / "reproduce"

SEEDS = ("a list of different whole numbers", lambda value: (
    isinstance(value, list) and bool(value) and len(set(map(str, value))) == len(value)
    and all(isinstance(seed, int) and not isinstance(seed, bool) and seed >= 0 for seed in value)))
DIGITS = ("a whole number from 0 to 9", lambda value: value in range(10) and value is not True)
BY_SEED = ("an object of numbers by seed", lambda value: is_object(value) and all(
    key.isdigit() and NUMBER[1](number) for key, number in value.items()))
PUBLISHED = ("a number, or null if it was not read",
             lambda value: value is None or NUMBER[1](value))
METRIC = ("the name of a metric, or an object with \"of\"",
          lambda value: TEXT[1](value) or is_object(value) and TEXT[1](value.get("of")))
CELLS = ("a list of objects", lambda value: isinstance(value, list) and bool(value))
LEAST = ("a number from 0", lambda value: NUMBER[1](value) and value >= 0)

TOP = {
    "title": Key(*TEXT, True), "source": Key(*OBJECT, True), "unit": Key(*TEXT, True),
    "digits": Key(*DIGITS), "script": Key(*TEXT), "base": Key(*OBJECT, True), "seeds": Key(*SEEDS),
    "metrics": Key(*OBJECT, True), "tolerance": Key(*OBJECT, True),
    "assumptions": Key(*TEXTS, True), "differs": Key(*TEXTS), "cost": Key(*OBJECT, True),
    "stand_in": Key(*OBJECT), "cells": Key(*CELLS, True), "reduced": Key(*OBJECT),
}
SOURCE = {name: Key(*TEXT, True) for name in ("paper", "code", "commit", "place", "seeds",
                                             "number")}
TOLERANCE = {"value": Key(*LEAST, True), "reason": Key(*TEXT, True)}
COST = {"core_seconds": Key(*LEAST), "flop": Key(*LEAST), "iterations": Key(*LEAST),
        "how": Key(*TEXT, True)}
STAND_IN = {"reason": Key(*TEXT, True), "set": Key(*POINTERS, True)}
CELL = {"cell": Key(*TEXT, True), "published": Key(*PUBLISHED, True), "seeds": Key(*BY_SEED),
        "set": Key(*POINTERS), "metric": Key(*METRIC, True), "tolerance": Key(*OBJECT),
        "lacks": Key(*TEXTS), "differs": Key(*TEXTS), "cost": Key(*OBJECT),
        "beside": Key(*OBJECT)}
BESIDE = {"cell": Key(*TEXT, True), "reason": Key(*TEXT, True)}
REDUCED = {"reason": Key(*TEXT, True), "set": Key(*POINTERS, True), "seeds": Key(*SEEDS),
           "cells": Key(*CELLS, True), "orders": Key(*CELLS, True), "cost": Key(*OBJECT, True),
           "assumptions": Key(*TEXTS)}
REDUCED_CELL = {"cell": Key(*TEXT, True), "set": Key(*POINTERS)}
ORDER = {"above": Key(*TEXT, True), "below": Key(*TEXT, True)}


@dataclass(frozen=True)
class Cell:
    """One published number.

    published   None if the number was not read from the source
    by_seed     published numbers of single seeds
    metric      how the number of a run is formed (`metrics.value`)
    lacks       features that dbench does not have yet, without which the cell cannot be run
    differs     known differences between our runs and the source
    cost        of one iteration, and how it was found
    beside      the published cell ("cell") beside which this one stands, and what differs
                ("reason"); empty if the cell itself was published
    """

    name: str
    published: float | None
    by_seed: dict[int, float]
    set: dict[str, Any]
    metric: dict[str, Any]
    tolerance: float
    reason: str
    lacks: list[str] = field(default_factory=list)
    differs: list[str] = field(default_factory=list)
    cost: dict[str, Any] = field(default_factory=dict)
    beside: dict[str, str] = field(default_factory=dict)

    @property
    def stem(self) -> str:
        """Return the cell's name as a part of a file name."""
        return re.sub(r"[^A-Za-z0-9]+", "-", self.name).strip("-").lower()


@dataclass(frozen=True)
class Reproduction:
    """A published table with the runs that reproduce it; `seeds` [None]: one run, the base's seed.

    given    the whole file
    orders   pairs of cells, the one with the larger published number first; if there are any, only
             their order is judged
    """

    name: str
    folder: Path
    given: dict[str, Any]
    seeds: list[int | None]
    cells: list[Cell]
    orders: list[tuple[Cell, Cell]] = field(default_factory=list)

    @property
    def deterministic(self) -> bool:
        """Return whether one run decides a cell, because nothing in it is random."""
        return self.seeds == [None]

    def spec(self, cell: Cell, seed: int | None, stand_in: bool = False) -> dict[str, Any]:
        """Return the spec of one run of the cell."""
        spec = copy.deepcopy(self.given["base"])
        settings = dict(cell.set)
        if stand_in:
            settings |= self.given["stand_in"]["set"]
        if seed is not None:
            settings["/seed"] = seed
        for pointer, value in settings.items():
            put(spec, pointer, copy.deepcopy(value))
        return spec

    def text(self, value: float | None) -> str:
        """Return a number of this table as text, with its unit."""
        return "-" if value is None else f"{value:.{self.given.get('digits', 0)}f} " \
            f"{self.given['unit']}"


def put(spec: dict[str, Any], pointer: str, value):
    """Set the value at a JSON pointer; null removes it. Objects on the way are made."""
    *above, last = pointer.split("/")[1:]
    place = spec
    for key in above:
        if not isinstance(place.get(key), dict):
            place[key] = {"type": place[key]} if isinstance(place.get(key), str) else {}
        place = place[key]
    if value is None:
        place.pop(last, None)
    else:
        place[last] = value


def homes() -> list[Path]:
    """Return the folders in which reproductions are looked for: $DBENCH_REPRODUCTIONS, the working
    directory's configs/reproduce, and the checkout's."""
    named = os.environ.get("DBENCH_REPRODUCTIONS")
    places = [Path(named)] if named else []
    return [*places, Path("configs/reproduce"), CHECKOUT]


def found() -> dict[str, Path]:
    """Return the folder of each reproduction by name; the first home that has it counts."""
    names: dict[str, Path] = {}
    for home in homes():
        for path in sorted(home.glob(f"*/{FILE}")):
            names.setdefault(path.parent.name, path.parent)
    return dict(sorted(names.items()))


def read(folder: Path) -> Reproduction:
    """Read the definition in a folder. Raises AnalysisError, which names the key that is wrong."""
    path = folder / FILE
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise AnalysisError(path, f"not JSON: {error}", "correct it") from error
    where = f"{path}: "
    checked(where, given, TOP)
    checked(f"{where}/source", given["source"], SOURCE)
    checked(f"{where}/tolerance", given["tolerance"], TOLERANCE)
    checked(f"{where}/cost", given["cost"], COST)
    if "stand_in" in given:
        checked(f"{where}/stand_in", given["stand_in"], STAND_IN)
    if "script" in given and not (folder / given["script"]).is_file():
        raise AnalysisError(f"{where}/script", f"no file {given['script']} in the folder",
                            "it makes the data")
    for name, metric in given["metrics"].items():
        metrics.check(f"{where}/metrics/{name}", metric)
    cells = [cell_of(f"{where}/cells/{k}", one, given) for k, one in enumerate(given["cells"])]
    stems = [cell.stem for cell in cells]
    for k, stem in enumerate(stems):
        if stem in stems[:k]:
            raise AnalysisError(f"{where}/cells/{k}/cell", "another cell has nearly this name",
                                "files are called by it: give it another one")
    published = {cell.name: cell.published for cell in cells}
    for k, cell in enumerate(cells):
        if cell.beside:
            check_beside(f"{where}/cells/{k}", cell, published)
    if "reduced" in given:
        check_reduced(f"{where}/reduced", given["reduced"], published)
    return Reproduction(folder.name, folder, given, given.get("seeds") or [None], cells)


def cell_of(where: str, given: dict[str, Any], whole: dict[str, Any]) -> Cell:
    """Read one cell of the file."""
    checked(where, given, CELL)
    tolerance = checked(f"{where}/tolerance", given.get("tolerance", whole["tolerance"]), TOLERANCE)
    named = given["metric"] if isinstance(given["metric"], dict) else {"of": given["metric"]}
    if named["of"] not in whole["metrics"]:
        raise AnalysisError(f"{where}/metric", f"no metric '{named['of']}'",
                            f"there are: {', '.join(whole['metrics'])}")
    metric = whole["metrics"][named["of"]] | {k: v for k, v in named.items() if k != "of"}
    metrics.check(f"{where}/metric", metric)
    return Cell(given["cell"], given["published"],
                {int(seed): number for seed, number in given.get("seeds", {}).items()},
                given.get("set", {}), metric, tolerance["value"], tolerance["reason"],
                given.get("lacks", []), [*whole.get("differs", []), *given.get("differs", [])],
                checked(f"{where}/cost", given.get("cost", whole["cost"]), COST),
                given.get("beside", {}))


def check_beside(where: str, cell: Cell, published: dict[str, float | None]):
    """Raise AnalysisError unless the cell stands beside a cell with a published number, and has
    none of its own."""
    checked(f"{where}/beside", cell.beside, BESIDE)
    if cell.published is not None or cell.by_seed:
        raise AnalysisError(f"{where}/published", "a cell beside another one is not published",
                            "write null, and no \"seeds\"")
    if published.get(cell.beside["cell"]) is None:
        raise AnalysisError(f"{where}/beside/cell", f"no published cell '{cell.beside['cell']}'",
                            "name a cell with a published number")


def reduced(what: Reproduction) -> Reproduction:
    """Return the table's reduced form: smaller runs, of which only the order is judged. Raises
    AnalysisError if there is none."""
    if "reduced" not in what.given:
        raise AnalysisError(what.name, "this table has no reduced form", "leave out --reduced")
    given = what.given["reduced"]
    whole = {cell.name: cell for cell in what.cells}
    cells = {}
    for one in given["cells"]:
        cell = whole[one["cell"]]
        settings = cell.set | given["set"] | one.get("set", {})
        cells[cell.name] = replace(cell, set=settings, by_seed={}, cost=given["cost"])
    orders = [(cells[one["above"]], cells[one["below"]]) for one in given["orders"]]
    changed = what.given | {
        "title": f"{what.given['title']} (reduced: the order alone)",
        "assumptions": [f"REDUCED: {given['reason']}. The numbers of these runs are not those of "
                        "the source; only their order is compared with the published one.",
                        *given.get("assumptions", [])]}
    return Reproduction(f"{what.name}-reduced", what.folder, changed,
                        given.get("seeds") or what.seeds, list(cells.values()), orders)


def check_reduced(where: str, given: dict[str, Any], names: dict[str, float | None]):
    """Raise AnalysisError unless this is a reduced form of a table whose cells have these names and
    published numbers."""
    checked(where, given, REDUCED)
    checked(f"{where}/cost", given["cost"], COST)
    here = []
    for k, one in enumerate(given["cells"]):
        checked(f"{where}/cells/{k}", one, REDUCED_CELL)
        if one["cell"] not in names:
            raise AnalysisError(f"{where}/cells/{k}/cell", f"no cell '{one['cell']}'",
                                "name a cell of the table")
        if one["cell"] in here:
            raise AnalysisError(f"{where}/cells/{k}/cell", f"'{one['cell']}' is there twice",
                                "keep one of the two")
        here.append(one["cell"])
    for k, order in enumerate(given["orders"]):
        checked(f"{where}/orders/{k}", order, ORDER)
        for key in ("above", "below"):
            if order[key] not in here:
                raise AnalysisError(f"{where}/orders/{k}/{key}", f"no cell '{order[key]}'",
                                    "name a cell of /reduced/cells")
        above, below = names[order["above"]], names[order["below"]]
        if above is None or below is None or above <= below:
            raise AnalysisError(f"{where}/orders/{k}", "the published numbers have another order",
                                "exchange the cells, or leave the pair out")
