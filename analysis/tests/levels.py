"""Bounds for simulated levels."""

import numpy as np


def above(level, times) -> float:
    """Return a bound that the observed share of an event of probability `level` exceeds in only one
    of 1,000 simulations. It must lie within 0.01 of the level."""
    tolerance = 3.1 * np.sqrt(level * (1 - level) / times)
    assert tolerance <= 0.01, f"{times} draws do not tell {level} from {level + 0.01}"
    return level + tolerance


def same(found, expected) -> None:
    np.testing.assert_allclose(np.asarray(found, dtype=float), np.asarray(expected, dtype=float),
                               rtol=1e-9, atol=1e-12)
