"""The statements of a study: each method against the reference of its cell, corrected as one
family."""

import math
from dataclasses import dataclass

import numpy as np

from ..basics.errors import AnalysisError
from ..naming import names
from ..quantities import fields
from ..reading.run import Run
from ..statistics import medians, power, significance
from ..statistics.pairing import FEW
from .runs import Study, cell_labels

SEEDS = 6  # pairs below which there is no verdict
BETTER, WORSE, EQUIVALENT, UNDECIDED = "better", "worse", "equivalent", "undecided"
METRIC, LOSS = "accuracy_mean_model", "loss_mean_model"


@dataclass(frozen=True)
class Terms:
    """The margin of equivalence (a fraction), the level of the family, and the metric."""

    margin: float = 0.005
    alpha: float = 0.05
    metric: str = METRIC


@dataclass(frozen=True)
class Statement:
    """A method against the reference of its cell, over the seeds that both have.

    d                differences method - reference, one for each seed
    interval         of their mean, by flipping signs: low, high, coverage
    p                of the paired t-test;  p_family: corrected by Holm's method
    flips_p          by flipping signs, not corrected; sign_p: of the sign test of the median
    equivalence_p    of two one-sided t-tests; equivalence_family: corrected by Holm's method
    power            the probability that these tests show equivalence if there is no difference
    lost             shared seeds without a difference, because a run has no finite value
    incomplete       seeds of which the method or the reference has only a run that is not complete
    """

    cell: str
    method: str
    reference: str
    d: np.ndarray
    interval: tuple[float, float, float]
    p: float
    p_family: float
    flips_p: float
    sign_p: float
    equivalence_p: float
    equivalence_family: float
    power: float
    terms: Terms
    lost: int = 0
    incomplete: int = 0

    @property
    def mean(self) -> float:
        return float(self.d.mean()) if len(self.d) else math.nan

    @property
    def verdict(self) -> str:
        """Return the verdict; a difference that is shown and shown to be within the margin has both
        words. If values are not finite or missing, it is undecided: the other seeds were not
        chosen at random."""
        if len(self.d) < SEEDS or self.lost or self.incomplete:
            return UNDECIDED
        low = fields.find(self.terms.metric).better == "low"
        found = []
        if self.p_family <= self.terms.alpha:
            found.append(BETTER if (self.mean > 0) != low else WORSE)
        if self.equivalence_family <= self.terms.alpha:
            found.append(EQUIVALENT)
        return ", ".join(found) or UNDECIDED


def own_metric(study: Study) -> str:
    """Return the metric of a study: the loss if it chose the rates, or if no final run has a finite
    accuracy; else the accuracy."""
    by_loss = any("validation_loss" in row for row in study.tuning.values())
    finite = any(math.isfinite(float(fields.find(METRIC).value(run))) for run in study.finals)
    return LOSS if by_loss or not finite else METRIC


def is_reference(run: Run) -> bool:
    """Return whether a run is all-reduce, the reference."""
    return names.implementation(run) == "C_complete"


def values(runs: list[Run], metric: str) -> dict[object, float]:
    """Return {seed: value} of runs of one method and cell; NaN for a run that is not complete."""
    column = fields.find(metric)
    return {names.seed(run): float(column.value(run)) if run.status == "complete" else math.nan
            for run in runs}


def grouped(study: Study) -> dict[str, dict[str, list[Run]]]:
    """Return {cell: {method: its runs}}, in the order of the runs. Lost runs come last. Raises
    AnalysisError if a seed occurs twice in one method and cell."""
    found: dict[str, dict[str, list[Run]]] = {}
    for run, method, cell in zip(study.runs, study.labels, cell_labels(study.runs)):
        others = found.setdefault(cell, {}).setdefault(method, [])
        seed = names.seed(run)
        if any(names.seed(other) == seed for other in others):
            raise AnalysisError(run.path, f"seed {seed} occurs twice in one method and cell",
                                "give a folder that holds one study")
        others.append(run)
    return found


def reference_of(methods: dict[str, list[Run]]) -> str | None:
    """Return the method of the cell that uses all-reduce; None unless there is exactly one."""
    found = [method for method, runs in methods.items() if is_reference(runs[0])]
    return found[0] if len(found) == 1 else None


def with_several_references(study: Study) -> list[str]:
    """Return the cells in which several methods use all-reduce, so that nothing is compared."""
    return [cell for cell, methods in grouped(study).items()
            if sum(is_reference(runs[0]) for runs in methods.values()) > 1]


def statements(study: Study, terms: Terms) -> list[Statement]:
    """Return a statement for each method of each cell with a reference and a shared seed. Holm's
    correction is over all statements with enough seeds: differences and equivalence are a family
    each."""
    pairs, lost = [], []
    for cell, methods in grouped(study).items():
        reference = reference_of(methods)
        if reference is None:
            continue
        theirs = values(methods[reference], terms.metric)
        for method, runs in methods.items():
            ours = values(runs, terms.metric)
            shared = {s: ours[s] - theirs[s] for s in ours if s in theirs}
            finite = np.array([d for d in shared.values() if math.isfinite(d)])
            if method != reference and shared:
                missing = {names.seed(run) for run in (*runs, *methods[reference])
                           if run.status != "complete"}
                pairs.append((cell, method, reference, finite))
                lost.append((len(shared.keys() - missing) - len(finite), len(missing)))
    enough = [len(d) >= SEEDS for *_, d in pairs]
    p = [significance.paired_t(d) for *_, d in pairs]
    equal = [significance.tost(d, terms.margin) for *_, d in pairs]
    families = [significance.holm([v if use else math.nan for v, use in zip(side, enough)])
                for side in (p, equal)]
    rng = np.random.default_rng(0)
    return [Statement(
        cell, method, reference, d, significance.mean_interval(d, 1 - terms.alpha, rng), p[i],
        float(families[0][i]), significance.sign_flip(d, rng)[0], medians.sign_test(d), equal[i],
        float(families[1][i]),
        power.equivalence_power(len(d), float(d.std(ddof=1)), terms.margin, terms.alpha, FEW)
        if len(d) > 1 else 0.0, terms, *lost[i])
        for i, (cell, method, reference, d) in enumerate(pairs)]
