"""Communication graphs as `dbench graph` describes them, and what their matrices do."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from .errors import AnalysisError
from .textual import number

CHECKOUT = Path(__file__).parents[2] / "build" / "dbench"
KEPT = 32  # rounds of a sequence that are asked for at once, and stay in memory
MOST = 300  # rounds that are looked at unasked
ROUNDING = 1e-14  # disagreement below is none


def program(given: str | None = None) -> str:
    """The dbench program: as given, of DBENCH_PROGRAM, of the checkout, on the PATH."""
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
    """A type with its parameters on n replicas; certificate and matrices come from the program."""

    program: str
    type: str
    n: int
    keys: dict[str, str] = field(default_factory=dict)
    known: dict[int, np.ndarray] = field(default_factory=dict, repr=False)

    def ask(self, *how: str) -> str:
        keys = [word for key, value in self.keys.items() for word in (f"--{key}", value)]
        command = [self.program, "graph", self.type, "--n", str(self.n), *keys, *how]
        ended = subprocess.run(command, capture_output=True, text=True)
        if ended.returncode:
            said = ended.stderr.strip().splitlines() or [f"status {ended.returncode}"]
            raise AnalysisError(self.label, said[0].removeprefix("dbench: error: "),
                                "dbench graph refuses")
        return ended.stdout

    @property
    def label(self) -> str:
        return " ".join([self.type, *(f"{key}={value}" for key, value in self.keys.items())])

    @cached_property
    def certificate(self) -> dict:
        return json.loads(self.ask("--json"))

    def certify(self) -> dict:
        """The certificate; raises AnalysisError where the program refuses the graph."""
        return self.certificate

    @property
    def period(self) -> int | None:
        return self.certificate["period"]

    @property
    def static(self) -> bool:
        return self.period == 1

    @property
    def rate(self) -> float | None:
        """Contraction of the disagreement per round."""
        found = self.certificate
        if found.get("rate") is not None:
            return found["rate"]
        if found["period"] and found["rho_period"] is not None:
            return found["rho_period"] ** (1 / found["period"])
        return found["rho_expected"]

    @property
    def horizon(self) -> int:
        """Rounds that are worth looking at: to exactness or a thousandth, and half as many
        again."""
        known = self.certificate["finite_time"] or self.certificate["iterations_to_1e3"] or 100
        return int(np.clip(1.5 * known, 10, MOST))

    def matrix(self, time: int = 0) -> np.ndarray:
        """W of a round; W[i, j] is the weight with which i uses x_j."""
        time = time % self.period if self.period else time
        if time not in self.known:
            first = time // KEPT * KEPT
            end = min(first + KEPT, self.period or first + KEPT)
            text = self.ask("--edges", "--rounds", f"{first}:{end}")
            self.known = {first + k: w for k, w in enumerate(parsed(text, self.n))}
            if len(self.known) != end - first:
                raise AnalysisError("dbench graph --rounds",
                                    f"{len(self.known)} rounds of {end - first} asked for")
        return self.known[time]

    def matrices(self, rounds: int) -> Iterator[np.ndarray]:
        """W_0, W_1, ... of so many rounds."""
        return map(self.matrix, range(rounds))


def parsed(text: str, n: int) -> Iterator[np.ndarray]:
    """The matrices of rounds of lines "to from weight", each round under a line of its own."""
    for part in text.split("# round ")[1:]:
        edges = np.fromstring(part.partition("\n")[2], sep=" ")
        if edges.size % 3:
            raise AnalysisError("dbench graph --edges", "a line is not 'to from weight'")
        to, source, weights = edges.reshape(-1, 3).T
        w = np.zeros((n, n))
        w[to.astype(int), source.astype(int)] = weights
        yield w


def disagreement(matrices: Iterable[np.ndarray], n: int, seed: int = 0,
                 dimensions: int = 32) -> np.ndarray:
    """||x - mean|| / ||x_0 - mean|| from a random start x_0, and after each of the matrices.

    A last column of ones becomes the weights by which push-sum divides; it stays 1 where rows sum
    to 1.
    """
    x = np.random.default_rng(seed).standard_normal((n, dimensions + 1))
    x[:, -1] = 1

    def spread():
        ratio = x[:, :-1] / x[:, -1:]
        return np.linalg.norm(ratio - ratio.mean(axis=0))

    found = [spread()]
    for w in matrices:
        x = w @ x
        found.append(spread())
    ratio = np.array(found) / (found[0] or 1)
    return np.where(ratio < ROUNDING, 0.0, ratio)


def symmetric(w: np.ndarray) -> bool:
    return np.allclose(w, w.T, rtol=0, atol=1e-12)


def circulant(w: np.ndarray) -> bool:
    i = np.arange(len(w))
    return np.allclose(w, w[(i[:, None] - i) % len(w), 0], rtol=0, atol=1e-15)


def eigenvalues(w: np.ndarray) -> np.ndarray:
    """From the largest modulus down; real where W is symmetric."""
    if symmetric(w):
        found = np.linalg.eigvalsh(w)
    else:
        found = np.fft.fft(w[:, 0]) if circulant(w) else np.linalg.eigvals(w)
    return found[np.argsort(-np.abs(found), kind="stable")]


def product(matrices: Iterable[np.ndarray], n: int) -> np.ndarray:
    """... W_1 W_0: what the rounds do together."""
    found = np.eye(n)
    for w in matrices:
        found = w @ found
    return found


def links(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (from, to), each [links, 2]: one way, and both ways (named once)."""
    to, source = np.nonzero(w)
    other = to != source
    to, source = to[other], source[other]
    mutual = w[source, to] != 0
    both = mutual & (source < to)
    return np.stack([source[~mutual], to[~mutual]], 1), np.stack([source[both], to[both]], 1)


def comparing(graphs: list[Graph]) -> list[list[str]]:
    """Heads, and what sets the graphs apart, a row each; a dash where the certificate says
    nothing."""
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
