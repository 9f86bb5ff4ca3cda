"""Makes the quadratics of RelaySGD's figures: f(x) = mean_i ||A_i x - b_i||^2.

    python quadratics.py FOLDER relaysgd-fig7|relaysgd-fig2

The authors draw the numbers with PyTorch in float64: A [n, 10, 10], directions [n, 10, 1], start
[10, 1]. This script draws the same numbers with NumPy. PyTorch's generator is the Mersenne Twister
with 53 bits for a uniform number; normal numbers come from Box-Muller in blocks of 16, or in pairs
if there are fewer than 16. If their number is no multiple of 16, the last 16 are drawn anew.

Files: quadratics-NAME.npz for each problem, and values.json with the least mean loss `lowest-NAME`
of the model least_squares, which is 1/2 ||A x - b||^2 / rows. The names of Figure 7 give the
heterogeneity zeta^2. Those of Figure 2, such as n8-z0.01-s1, give the number of replicas, zeta^2
and the seed.
"""

import json
import sys
from pathlib import Path

import numpy as np

SIZE, LEAST = 10, 0.5


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
        if count < 16:  # an even number here
            first, second = drawn.reshape(-1, 2).T
            radius, angle = np.sqrt(-2 * np.log1p(-second)), 2 * np.pi * first
            return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).reshape(shape)
        whole, values = count // 16 * 16, np.empty(count)
        values[:whole] = blocks(drawn[:whole])
        if whole < count:
            values[-16:] = blocks(self.uniform(16))
        return values.reshape(shape)


def blocks(drawn):
    """Return normal numbers from uniform ones, in blocks of 16."""
    first, second = drawn.reshape(-1, 2, 8).transpose(1, 0, 2)
    radius, angle = np.sqrt(-2 * np.log(1 - first)), 2 * np.pi * second
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).ravel()


def drawn(zeta2, replicas=32, distance=1.0, seed=0):
    """Return A [10 replicas, 10] and b [10 replicas]; replica i has rows 10 i to 10 i + 9. The
    minimiser has the norm `distance`."""
    draws = Draws(seed)
    left, _, right = np.linalg.svd(draws.normal(replicas, SIZE, SIZE))
    matrices = (left * np.linspace(LEAST, 1, SIZE)) @ right
    rows, directions = matrices.reshape(-1, SIZE), draws.normal(replicas, SIZE, 1)

    def best(targets):
        return np.linalg.solve(rows.T @ rows, rows.T @ targets.reshape(-1, 1))

    # Bisection for the scale of the offsets that gives zeta^2 at the minimiser. The authors' loop
    # does not begin if zeta^2 is 0.
    scale, low, high, targets = 1.0, 0.0, None, np.zeros_like(directions)
    while zeta2 > 0:
        targets = matrices @ (directions * scale)
        targets = targets - matrices @ best(targets)
        gradients = matrices.transpose(0, 2, 1) @ (matrices @ best(targets) - targets)
        found = float((gradients ** 2).sum((1, 2)).mean())
        if abs(found - zeta2) <= 1e-5:
            break
        low, high = (scale, high) if found < zeta2 else (low, scale)
        scale = 2 * scale if high is None else (low + high) / 2
    start = draws.normal(SIZE, 1)
    start *= distance / np.linalg.norm(start)
    return rows, (targets + matrices @ start).reshape(-1)


def write(folder, problems):
    """Write the files of the problems: {name: (A, b)}."""
    values = {}
    for name, (rows, targets) in problems.items():
        np.savez(folder / f"quadratics-{name}.npz", x=rows, y=targets)
        misfit = rows @ np.linalg.lstsq(rows, targets, rcond=None)[0] - targets
        values[f"lowest-{name}"] = float(0.5 * np.mean(misfit ** 2))
    (folder / "values.json").write_text(json.dumps(values))


def figure2():
    return {f"n{size}-z{name}-s{seed}": drawn(float(name), size, 10.0, seed)
            for size in (4, 6, 8, 12, 16, 24, 32, 48, 64) for name in ("0", "0.01", "0.1")
            for seed in (0, 1)}


def figure7():
    return {name: drawn(float(name)) for name in ("0", "0.1", "10")}


if __name__ == "__main__":
    problems = {"relaysgd-fig2": figure2, "relaysgd-fig7": figure7}[sys.argv[2]]
    write(Path(sys.argv[1]), problems())
