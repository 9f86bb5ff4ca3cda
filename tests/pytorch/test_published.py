"""Compares runs with the numbers of iterations that the RelaySGD paper publishes.

Figure 7 of the appendix of RelaySGD (Vogels et al. 2021, arXiv 2110.04175; notebook
appendix_figure_7_heterogeneity.ipynb of epfml/relaysgd) counts iterations on quadratics
f(x) = mean_i ||A_i x - b_i||^2 from x = 0, for three amounts of heterogeneity zeta^2. Only the
iterations of a grid are tested. The count of D-PSGD is the first tested iteration at which the last
three tested values of f(mean x) - f* are within 1e-8 of their mean; that of the others is the first
tested iteration with f(mean x) - f* < 1e-6. One of the twelve counts, 19818 of D-PSGD, is left out
here; tests/program/test_relaysgd.py has all twelve, on data that are drawn without PyTorch.

The model least_squares has 1/2 ||A x - b||^2 / m with m = 10 rows for each of 32 replicas. The
published rates belong to 2 A'(A x - b), so they are multiplied by 20 here (D-PSGD: to A'(A x - b),
so by 10), and f - f* is 20 times the difference of losses.
"""

import importlib.util
import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

try:
    import torch
except (ImportError, OSError) as error:
    pytest.skip(f"no PyTorch in this Python ({error}): set DBENCH_TORCH_PYTHON to one that has it",
                allow_module_level=True)
h5py = pytest.importorskip("h5py")

PROGRAM = os.environ.get("DBENCH_PROGRAM", "build/dbench")
REPLICAS, SIZE = 32, 10


def grid(last):
    """Return the iterations that are tested in a run of `last` iterations at most."""
    return {round(2 ** (np.log2(last) * k / 999)) for k in range(1000)}


def first_accurate(iterations, above):
    tested = grid(10000)
    return next((t for t, f in zip(iterations, above) if t in tested and f < 1e-6), None)


def first_plateau(iterations, above):
    tested, last = grid(70000), []
    for t, f in zip(iterations, above):
        if t in tested:
            last = [*last, f][-3:]
            if len(last) == 3 and max(abs(each - np.mean(last)) for each in last) < 1e-8:
                return t
    return None


# Algorithm, graph, factor of the rate; by zeta^2: the published rate and number of iterations.
PUBLISHED = {
    "dsgd": ({"type": "dsgd"}, "ring", 10, {0: (1.25, 13), 0.1: (0.0103759765625, 1469)}),
    "d2": ({"type": "d2"}, "ring", 20,
           {0: (0.394287109375, 18), 0.1: (0.1953125, 34), 10: (0.15625, 54)}),
    "gradient_tracking": ({"type": "gradient_tracking", "start": "averaged"}, "ring", 20,
                          {0: (0.4345703125, 10), 0.1: (0.019330978393554688, 301),
                           10: (0.0095367431640625, 641)}),
    "relaysgd": ({"type": "relaysgd", "missing": "start"}, "path", 20,
                 {0: (0.869140625, 51), 0.1: (0.869140625, 51), 10: (0.8984375, 54)}),
}
CASES = [(name, zeta2) for name, (*_, counts) in PUBLISHED.items() for zeta2 in counts]


def drawn(zeta2, least=0.5):
    """Return A [32, 10, 10] and b [32, 10], drawn in the order of the authors' code."""
    torch.manual_seed(0)
    kind = torch.float64
    matrices = torch.randn(REPLICAS, SIZE, SIZE, dtype=kind)
    values = torch.diag(torch.linspace(least, 1, SIZE, dtype=kind))
    for i in range(REPLICAS):
        left, _, right = torch.linalg.svd(matrices[i])
        matrices[i] = left @ values @ right
    directions = torch.randn(REPLICAS, SIZE, 1, dtype=kind)
    rows = matrices.reshape(-1, SIZE)

    def best(targets):
        return torch.linalg.solve(rows.T @ rows, rows.T @ targets.reshape(-1, 1))

    # Bisection for the scale of the offsets that gives zeta^2 at the minimiser.
    scale, low, high = 1.0, 0.0, None
    for _ in range(200):
        targets = matrices @ (directions * scale)
        targets = targets - matrices @ best(targets)
        gradients = matrices.mT @ (matrices @ best(targets) - targets)
        found = float((gradients ** 2).sum((1, 2)).mean())
        if abs(found - zeta2) <= 1e-5:
            break
        low, high = (scale, high) if found < zeta2 else (low, scale)
        scale = 2 * scale if high is None else (low + high) / 2
    start = torch.randn(SIZE, 1, dtype=kind)
    targets = targets + matrices @ (start / start.norm())
    return matrices.numpy(), targets[..., 0].numpy()


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The result files of all cases, from one start of the program; the specs and minima."""
    folder = tmp_path_factory.mktemp("published")
    lowest, specs = {}, []
    for k, (name, zeta2) in enumerate(CASES):
        algorithm, graph, factor, counts = PUBLISHED[name]
        data = folder / f"quadratics-{zeta2}.npz"
        if zeta2 not in lowest:
            matrices, targets = drawn(zeta2)
            rows, b = matrices.reshape(-1, SIZE), targets.reshape(-1)
            np.savez(data, x=rows, y=b)
            lowest[zeta2] = 0.5 * np.mean((rows @ np.linalg.lstsq(rows, b, rcond=None)[0] - b)
                                          ** 2)
        rate, iterations = counts[zeta2]
        # The smallest eigenvalue of the ring is -1/3, which D2 allows for the mean alone.
        at_limit = {"allow_biased": True, "allow_unstable": True} if name == "d2" else {}
        specs.append(folder / f"{k}.json")
        specs[-1].write_text(json.dumps({
            "replicas": REPLICAS, "model": "least_squares", "precision": "float64",
            "init": "zeros", "algorithm": algorithm, "graph": graph,
            "optimizer": {"type": "sgd", "lr": factor * rate},
            "data": {"type": "npz", "train": str(data), "test": str(data), "batch_size": SIZE,
                     "partition": "contiguous"},
            "length": {"iterations": iterations},
            "evaluate": {"every": {"iterations": 1}, "replicas": 1, "batch_size": 512},
            "profile": {"norms": False, "variance": "off"}, **at_limit}))
    done = subprocess.run([PROGRAM, "run", *specs, "--output", folder, "--quiet"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder, lowest


@pytest.mark.parametrize("name, zeta2", CASES)
def test_iterations_to_the_published_accuracy(runs, name, zeta2):
    folder, lowest = runs
    with h5py.File(folder / f"{CASES.index((name, zeta2))}.h5") as file:
        done = file["evaluations/iteration"][()]
        above = 20 * (file["evaluations/mean_loss"][()] - lowest[zeta2])
    count = first_plateau if name == "dsgd" else first_accurate
    assert count(done, above) == PUBLISHED[name][3][zeta2][1]
    assert above[-1] < 1e-6


def test_the_permutation_that_a_split_draws_is_that_of_pytorch():
    script = (Path(__file__).resolve().parents[2] / "configs" / "reproduce" / "momentum-tracking"
              / "split.py")
    found = importlib.util.spec_from_file_location("split", script)
    split = importlib.util.module_from_spec(found)
    found.loader.exec_module(split)
    for count in (2, 10, 1001, split.IMAGES):
        torch.manual_seed(7)
        assert split.permutation(count, 7) == torch.randperm(count).tolist()


def test_the_numbers_that_reproductions_draw_are_those_of_pytorch():
    """The script of configs/reproduce draws the figures' problems without PyTorch."""
    script = Path(__file__).resolve().parents[2] / "configs" / "reproduce" / "quadratics.py"
    found = importlib.util.spec_from_file_location("quadratics", script)
    quadratics = importlib.util.module_from_spec(found)
    found.loader.exec_module(quadratics)
    draws = quadratics.Draws(3)
    torch.manual_seed(3)
    for shape in ((10, 1), (4, 10, 1), (6, 10, 10), (2, 8), (17,), (32, 10, 10), (6,)):
        wanted = torch.randn(shape, dtype=torch.float64).numpy()
        np.testing.assert_allclose(draws.normal(*shape), wanted, rtol=0, atol=1e-14)
    for zeta2 in (0.1, 10):
        rows, targets = quadratics.drawn(zeta2)
        matrices, b = drawn(zeta2)
        np.testing.assert_allclose(rows, matrices.reshape(-1, SIZE), rtol=0, atol=1e-12)
        np.testing.assert_allclose(targets, b.reshape(-1), rtol=0, atol=1e-12)
