"""Predicts by how much a graph falls behind all-reduce, from properties of the graph that are known
before training, and compares these predictions by rank correlation."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ..naming import names
from ..quantities import fields
from ..reading.run import Run
from ..statistics import significance
from .family import grouped, reference_of
from .runs import Study, without_rate

DRAWS = 1000  # of the bootstrap
FEWEST = 3    # graphs of a cell below which nothing is ranked within it


@dataclass(frozen=True)
class Setting:
    """A graph in a cell: means over the seeds.

    gap        by how much the metric is worse than that of all-reduce
    batch      samples of a replica in an iteration
    effective  effective number of neighbours, for one gamma in all runs
    """

    study: str
    cell: str
    graph: str
    replicas: int
    gap: float
    lr: float
    batch: float
    degree: float
    rho: float
    effective: float


def missing(s: Setting) -> float:
    """Return by how much the mean over the effective neighbours has more variance than the mean
    over all replicas, for noise of variance 1."""
    return 1 / s.effective - 1 / s.replicas


# Each grows with the gap that it predicts.
PREDICTORS: dict[str, Callable[[Setting], float]] = {
    "lr and gradient noise": lambda s: s.lr / s.batch * missing(s),
    "effective neighbours": missing,
    "rho": lambda s: s.rho,
    "degree": lambda s: -s.degree,
}
MODEL = next(iter(PREDICTORS))


@dataclass(frozen=True)
class Agreement:
    """How well a predictor orders and predicts the gaps. An interval is (low, high), 95 %.

    over_all          Spearman's rank correlation of predictor and gap over all settings
    within            the mean of the rank correlations within each cell
    *_interval        their intervals
    *_model_ahead     intervals of the correlation of MODEL minus this one
    error             median absolute error of gaps of graphs that were not part of the fit
    """

    predictor: str
    over_all: float
    over_all_interval: tuple[float, float]
    over_all_model_ahead: tuple[float, float]
    within: float
    within_interval: tuple[float, float]
    within_model_ahead: tuple[float, float]
    error: float


def effective_neighbours(run: Run) -> float:
    """Return n_W(gamma) of the run's first graph; NaN if it is not known."""
    found = run.certificate.get("effective_neighbours")
    value = found.get("value") if isinstance(found, dict) else None
    return float(value) if value is not None else float("nan")


def compared(study: Study) -> Iterator[tuple[str, str, list[Run], list[Run]]]:
    """Yield (cell, method, its runs, those of all-reduce) of each graph whose cell has
    all-reduce."""
    for cell, methods in grouped(study).items():
        all_reduce = reference_of(methods)
        if all_reduce is None:
            continue
        for method, runs in methods.items():
            if names.algorithm(runs[0]) != "centralized":
                yield cell, method, runs, methods[all_reduce]


def is_lost(run: Run, metric: str) -> bool:
    """Return whether a run says nothing about the metric: it is not complete, or diverged."""
    return run.status != "complete" or not np.isfinite(float(fields.find(metric).value(run)))


def lost(study: Study, metric: str) -> list[str]:
    """Return the graphs with their cells that `settings` leaves out because a run of theirs or of
    all-reduce is lost. A mean over the other seeds would favour a graph that often fails."""
    return [f"{method} ({study.name}, {cell})" for cell, method, runs, reference in compared(study)
            if any(is_lost(run, metric) for run in (*runs, *reference))]


def settings(study: Study, metric: str) -> list[Setting]:
    """Return the graphs of a study whose cell has all-reduce, and whose first mixing matrix has a
    number of effective neighbours. Graphs with lost runs are left out."""
    column = fields.find(metric)
    sign = 1 if column.better == "low" else -1

    def mean(runs: list[Run], value: Callable[[Run], float]) -> float:
        return float(np.mean([value(run) for run in runs]))

    def result(run: Run) -> float:
        return float(column.value(run))

    found = []
    for cell, method, runs, reference in compared(study):
        if any(is_lost(run, metric) for run in (*runs, *reference)):
            continue
        setting = Setting(
            study.name, cell, method, runs[0].replicas,
            sign * (mean(runs, result) - mean(reference, result)),
            mean(runs, lambda run: float(fields.find("lr").value(run))),
            mean(runs, lambda run: fields.batch(run) / run.replicas),
            mean(runs, lambda run: float(fields.find("degree").value(run))),
            mean(runs, fields.rho), mean(runs, effective_neighbours))
        if np.isfinite([setting.gap, setting.batch, setting.rho, setting.effective]).all():
            found.append(setting)
    return found


def held_out(found: list[Setting], predictor: Callable[[Setting], float]) -> np.ndarray:
    """Return the predicted gap of each setting: a line fitted by least squares to the settings of
    all other graphs, so that a graph is never part of its own fit. NaN if there is one graph."""
    x = np.array([predictor(s) for s in found])
    y = np.array([s.gap for s in found])
    design = np.stack([x, np.ones_like(x)], axis=1)
    predicted = np.full(len(found), np.nan)
    graphs = [without_rate(s.graph) for s in found]
    for graph in dict.fromkeys(graphs):
        own = np.array([other == graph for other in graphs])
        if not own.all():
            weights = np.linalg.lstsq(design[~own], y[~own], rcond=None)[0]
            predicted[own] = design[own] @ weights
    return predicted


def correlation(x: np.ndarray, y: np.ndarray) -> float:
    """Return Spearman's rank correlation, quickly; NaN if one side is constant."""
    a, b = (significance.ranks(v) for v in (x, y))
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale > 0 else float("nan")


def within_cells(cells: list[np.ndarray], x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the rank correlation of each cell; NaN for a cell of too few settings."""
    return np.array([correlation(x[cell], y[cell]) if len(cell) >= FEWEST else np.nan
                     for cell in cells])


def both(cells: list[np.ndarray], within: np.ndarray, x: np.ndarray, y: np.ndarray
         ) -> tuple[float, float]:
    """Return the rank correlation over all settings of these cells, and the mean of those within
    each cell (`within_cells`) that are finite."""
    rows, finite = np.concatenate(cells), within[np.isfinite(within)]
    return correlation(x[rows], y[rows]), float(finite.mean()) if len(finite) else float("nan")


def interval(values: np.ndarray) -> tuple[float, float]:
    """Return the 2.5 % and the 97.5 % quantile of the finite values; NaN without one."""
    values = values[np.isfinite(values)]
    if not len(values):
        return float("nan"), float("nan")
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def agreements(found: list[Setting], seed: int = 0) -> list[Agreement]:
    """Return the agreement of each predictor. The intervals come from drawing cells with
    replacement, because all gaps of a cell have the same all-reduce in them."""
    labels = [(s.study, s.cell) for s in found]
    cells = [np.array([i for i, label in enumerate(labels) if label == one])
             for one in dict.fromkeys(labels)]
    y = np.array([s.gap for s in found])
    x = {name: np.array([predictor(s) for s in found]) for name, predictor in PREDICTORS.items()}
    rng = np.random.default_rng(seed)
    picks = [rng.integers(0, len(cells), len(cells))
             for _ in range(DRAWS if len(cells) > 1 else 0)]
    each = {name: within_cells(cells, values, y) for name, values in x.items()}
    drawn = {name: np.array([both([cells[k] for k in taken], each[name][taken], values, y)
                             for taken in picks]).reshape(-1, 2)
             for name, values in x.items()}
    made = []
    for name, values in x.items():
        over_all, within = both(cells, each[name], values, y)
        ahead = drawn[MODEL] - drawn[name]
        errors = np.abs(held_out(found, PREDICTORS[name]) - y)
        made.append(Agreement(
            name, over_all, interval(drawn[name][:, 0]), interval(ahead[:, 0]),
            within, interval(drawn[name][:, 1]), interval(ahead[:, 1]),
            float(np.median(errors))))
    return made
