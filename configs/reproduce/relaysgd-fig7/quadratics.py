"""Makes the quadratics of RelaySGD's Figure 7: f(x) = mean_i ||A_i x - b_i||^2.

    python quadratics.py FOLDER

The authors draw the numbers with PyTorch, seed 0, in float64: A [32, 10, 10], directions
[32, 10, 1], start [10, 1]. This script draws the same numbers with NumPy. PyTorch's generator is
the Mersenne Twister with 53 bits for a uniform number; normal numbers come from Box-Muller in
blocks of 16, or in pairs if there are fewer than 16. Files: quadratics-Z.npz for each amount Z of
heterogeneity (zeta^2), and values.json with the least mean loss `lowest-Z` of the model
least_squares, which is 1/2 ||A x - b||^2 / rows.
"""

import json
import sys
from pathlib import Path

import numpy as np

REPLICAS, SIZE, LEAST = 32, 10, 0.5
HETEROGENEITIES = ("0", "0.1", "10")


class Draws:
    """PyTorch's normal numbers on the CPU in float64."""

    def __init__(self, seed):
        self.words = np.random.RandomState(seed)

    def uniform(self, count):
        words = self.words.randint(0, 2 ** 32, 2 * count, dtype=np.uint32).astype(np.uint64)
        high, low = words.reshape(-1, 2).T
        return ((high << np.uint64(32) | low) & np.uint64(2 ** 53 - 1)) * 2.0 ** -53

    def normal(self, *shape):
        count = int(np.prod(shape))
        drawn = self.uniform(count)
        if count >= 16:  # a multiple of 16 here
            first, second = drawn.reshape(-1, 2, 8).transpose(1, 0, 2)
            radius, angle = np.sqrt(-2 * np.log(1 - first)), 2 * np.pi * second
        else:  # an even number here
            first, second = drawn.reshape(-1, 2).T
            radius, angle = np.sqrt(-2 * np.log1p(-second)), 2 * np.pi * first
        return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).reshape(shape)


def drawn(zeta2):
    """Return A [320, 10] and b [320]; replica i has rows 10 i to 10 i + 9."""
    draws = Draws(0)
    left, _, right = np.linalg.svd(draws.normal(REPLICAS, SIZE, SIZE))
    matrices = (left * np.linspace(LEAST, 1, SIZE)) @ right
    rows, directions = matrices.reshape(-1, SIZE), draws.normal(REPLICAS, SIZE, 1)

    def best(targets):
        return np.linalg.solve(rows.T @ rows, rows.T @ targets.reshape(-1, 1))

    # Bisection for the scale of the offsets that gives zeta^2 at the minimiser.
    scale, low, high = 1.0, 0.0, None
    while True:
        targets = matrices @ (directions * scale)
        targets = targets - matrices @ best(targets)
        gradients = matrices.transpose(0, 2, 1) @ (matrices @ best(targets) - targets)
        found = float((gradients ** 2).sum((1, 2)).mean())
        if abs(found - zeta2) <= 1e-5:
            break
        low, high = (scale, high) if found < zeta2 else (low, scale)
        scale = 2 * scale if high is None else (low + high) / 2
    start = draws.normal(SIZE, 1)
    return rows, (targets + matrices @ (start / np.linalg.norm(start))).reshape(-1)


def main(folder):
    values = {}
    for name in HETEROGENEITIES:
        rows, targets = drawn(float(name))
        np.savez(folder / f"quadratics-{name}.npz", x=rows, y=targets)
        misfit = rows @ np.linalg.lstsq(rows, targets, rcond=None)[0] - targets
        values[f"lowest-{name}"] = float(0.5 * np.mean(misfit ** 2))
    (folder / "values.json").write_text(json.dumps(values))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
