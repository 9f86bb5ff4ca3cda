"""Communication graphs as `dbench graph` describes them."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from ..basics.errors import AnalysisError
from ..basics.formatting import number

CHECKOUT = Path(__file__).parents[3] / "build" / "dbench"
KEPT = 32  # rounds of a sequence that are queried at once and kept in memory
MOST = 300  # rounds of a figure, unless the user asks for more


def program(given: str | None = None) -> str:
    """Return the path of the program dbench: `given`, or $DBENCH_PROGRAM, or the checkout's build,
    or the one on the PATH. Raises AnalysisError if there is none."""
    for place, name in ((given, "--program"), (os.environ.get("DBENCH_PROGRAM"), "DBENCH_PROGRAM")):
        if place:
            found = shutil.which(place)
            if not found:
                raise AnalysisError(place, "no such program", f"{name} names it")
            return found
    found = shutil.which(CHECKOUT) or shutil.which("dbench")
    if not found:
        raise AnalysisError("dbench", "program not found",
                            "build it, or give --program or DBENCH_PROGRAM")
    return str(found)


@dataclass
class Graph:
    """A graph type with its parameters on n replicas. Certificate and matrices come from the
    program."""

    program: str
    type: str
    n: int
    keys: dict[str, str] = field(default_factory=dict)
    known: dict[int, np.ndarray] = field(default_factory=dict, repr=False)  # round: matrix

    def ask(self, *how: str) -> str:
        """Run `dbench graph` for this graph with further options, and return what it prints. Raises
        AnalysisError if the program refuses the graph."""
        keys = [word for key, value in self.keys.items() for word in (f"--{key}", value)
                if key != "gamma" or "--edges" not in how]  # gamma is of the certificate
        command = [self.program, "graph", self.type, "--n", str(self.n), *keys, *how]
        ended = subprocess.run(command, capture_output=True, encoding="utf-8",
                               errors="replace")
        if ended.returncode:
            lines = ended.stderr.strip().splitlines() or [f"status {ended.returncode}"]
            raise AnalysisError(self.label, lines[0].removeprefix("dbench: error: "),
                                "dbench graph refuses")
        return ended.stdout

    @property
    def label(self) -> str:
        """Return the type with its parameters."""
        return " ".join([self.type, *(f"{key}={value}" for key, value in self.keys.items())])

    @cached_property
    def certificate(self) -> dict:
        return json.loads(self.ask("--json"))

    def certify(self) -> dict:
        """Return the certificate. Raises AnalysisError if the program refuses the graph."""
        return self.certificate

    @property
    def period(self) -> int | None:
        return self.certificate["period"]

    @property
    def static(self) -> bool:
        return self.period == 1

    @property
    def rate(self) -> float | None:
        """Return the contraction of the disagreement per round."""
        found = self.certificate
        if found.get("rate") is not None:
            return found["rate"]
        if found["period"] and found["rho_period"] is not None:
            return found["rho_period"] ** (1 / found["period"])
        return found["rho_expected"]

    @property
    def horizon(self) -> int:
        """Return how many rounds a figure shows: 1.5 times the rounds to exactness or to a
        thousandth."""
        known = self.certificate["finite_time"] or self.certificate["iterations_to_1e3"] or 100
        return int(np.clip(1.5 * known, 10, MOST))

    def matrix(self, time: int = 0) -> np.ndarray:
        """Return W of a round; W[i, j] is the weight of x_j in the average of replica i."""
        time = time % self.period if self.period else time
        if time not in self.known:
            first = time // KEPT * KEPT
            end = min(first + KEPT, self.period or first + KEPT)
            text = self.ask("--edges", "--rounds", f"{first}:{end}")
            self.known = {first + k: w for k, w in enumerate(parsed(text, self.n))}
            if len(self.known) != end - first:
                raise AnalysisError("dbench graph --rounds",
                                    f"{len(self.known)} rounds of the {end - first} requested")
        return self.known[time]

    def matrices(self, rounds: int) -> Iterator[np.ndarray]:
        """Yield W_0, W_1, ... of the first `rounds` rounds."""
        return map(self.matrix, range(rounds))


def parsed(text: str, n: int) -> Iterator[np.ndarray]:
    """Yield the matrix of each round from lines "to from weight"; a line "# round" starts each
    round."""
    for part in text.split("# round ")[1:]:
        edges = np.fromstring(part.partition("\n")[2], sep=" ")
        if edges.size % 3:
            raise AnalysisError("dbench graph --edges", "a line is not 'to from weight'")
        to, source, weights = edges.reshape(-1, 3).T
        w = np.zeros((n, n))
        w[to.astype(int), source.astype(int)] = weights
        yield w


def comparing(graphs: list[Graph]) -> list[list[str]]:
    """Return a head and a row for each graph with its numbers; a dash if the certificate has no
    such number."""
    rows = [["graph", "rho", "contraction per round", "exact after", "effective neighbours",
             "degree",
             "models sent per iteration"]]
    for graph in graphs:
        c = graph.certificate
        effective = c.get("effective_neighbours") or {}
        values = (c["rho"], graph.rate, c["finite_time"], effective.get("value"),
                  c["degree"]["mean"],
                  c.get("models_sent"))
        rows.append([graph.label, *map(number, values)])
    return rows
