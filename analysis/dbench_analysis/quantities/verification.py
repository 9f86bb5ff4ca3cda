"""Recomputes the dispersion measures from the recorded norms, as a check of a file."""

from dataclasses import astuple, dataclass

import numpy as np
import pandas as pd

from ..basics.errors import names_the_run
from ..reading.run import Run
from ..reading.schema import MEASURES

COLUMNS = ["measure", "values", "skipped", "difference", "largest", "agrees"]


@dataclass
class Agreement:
    """The comparison of one measure: values compared and skipped, largest difference, largest
    value, and the verdict."""

    values: int = 0
    skipped: int = 0
    difference: float = 0.0
    largest: float = 0.0
    agrees: bool = True


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Return the quotient, and 0 if the denominator is 0 (the rule of the result file)."""
    zero = denominator == 0
    with np.errstate(invalid="ignore"):
        return np.where(zero, 0.0, numerator / np.where(zero, 1.0, denominator))


def dispersion(norms: np.ndarray) -> dict[str, np.ndarray]:
    """Return the four measures over the replicas' norms: norms [J, n, T] -> each [J, T],
    float64."""
    norms = np.sort(np.asarray(norms, dtype=np.float64), axis=1)
    n = norms.shape[1]
    mean, variance = norms.mean(axis=1), norms.var(axis=1)
    # sum_ij |a_i-a_j| = 2 sum_k rank_k a_(k)
    rank = (2 * np.arange(1, n + 1) - n - 1)[None, :, None]
    q1, q3 = np.quantile(norms, [0.25, 0.75], axis=1)
    return {
        "gini": ratio((rank * norms).sum(axis=1), n * n * mean),
        "index_of_dispersion": ratio(variance, mean),
        "coefficient_of_variation": ratio(np.sqrt(variance), mean),
        "quartile_coefficient": ratio(q3 - q1, q3 + q1),
    }


@names_the_run
def verify(run: Run) -> pd.DataFrame:
    """Return the largest |recorded - recomputed| of each measure over all rows and tensors.

    `difference` is absolute, to be compared with `largest`, the largest recorded value of the
    measure. Norms have the run's precision, so float32 runs agree to about 1e-6 of the norms'
    scale. Values with norms that are not finite are skipped and counted. The frame is empty if
    norms were not recorded.
    """
    if "norm" not in run.parameters:
        return pd.DataFrame(columns=COLUMNS)
    norm = run.parameters["norm"]
    resolution = float(np.finfo(norm.dtype).eps)
    found = {m: Agreement() for m in MEASURES if m in run.parameters}
    for first, values in norm.blocks():
        again = dispersion(values)
        size = np.abs(values).max(axis=1).astype(np.float64)
        for measure, result in found.items():
            recorded = run.parameters[measure][first : first + len(values)]
            rows = len(recorded)
            use = np.isfinite(recorded) & np.isfinite(again[measure][:rows])
            error = np.abs(recorded - again[measure][:rows])[use]
            # var/mean has the unit of the norms, the other three measures have none
            scale = np.maximum(size[:rows], 1e-30)[use] if measure == "index_of_dispersion" else 1.0
            result.values += int(use.size)
            result.skipped += int((~use).sum())
            if error.size:
                result.difference = max(result.difference, float(error.max()))
                result.largest = max(result.largest, float(np.abs(recorded[use]).max()))
                result.agrees &= bool(np.all(error <= 64 * resolution * scale))
    return pd.DataFrame([[m, *astuple(result)] for m, result in found.items()], columns=COLUMNS)
