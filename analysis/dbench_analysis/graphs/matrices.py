"""Effects of mixing matrices: disagreement over rounds, eigenvalues, products and links."""

from collections.abc import Iterable

import numpy as np

ROUNDING = 1e-14  # a smaller disagreement counts as none


def disagreement(matrices: Iterable[np.ndarray], n: int, seed: int = 0,
                 dimensions: int = 32) -> np.ndarray:
    """Return ||x - mean|| / ||x_0 - mean|| for a random start x_0, and after each of the matrices.

    A last column of ones becomes the weights by which push-sum divides. It remains 1 if rows sum to
    1.
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
    """Return whether W is symmetric up to rounding."""
    return np.allclose(w, w.T, rtol=0, atol=1e-12)


def circulant(w: np.ndarray) -> bool:
    """Return whether every column of W is a shift of the first one."""
    i = np.arange(len(w))
    return np.allclose(w, w[(i[:, None] - i) % len(w), 0], rtol=0, atol=1e-15)


def eigenvalues(w: np.ndarray) -> np.ndarray:
    """Return the eigenvalues by decreasing modulus; they are real if W is symmetric."""
    if symmetric(w):
        found = np.linalg.eigvalsh(w)
    else:
        found = np.fft.fft(w[:, 0]) if circulant(w) else np.linalg.eigvals(w)
    return found[np.argsort(-np.abs(found), kind="stable")]


def product(matrices: Iterable[np.ndarray], n: int) -> np.ndarray:
    """Return ... W_1 W_0, the effect of all rounds together."""
    found = np.eye(n)
    for w in matrices:
        found = w @ found
    return found


def links(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs (from, to), each [links, 2]: links in one direction, and links in both
    directions, which are listed once."""
    to, source = np.nonzero(w)
    other = to != source
    to, source = to[other], source[other]
    mutual = w[source, to] != 0
    both = mutual & (source < to)
    return np.stack([source[~mutual], to[~mutual]], 1), np.stack([source[both], to[both]], 1)
