"""Fixtures that write synthetic result files for the tests."""

from pathlib import Path

import pytest
from matplotlib.figure import Figure
from synthetic import Plan, write

FIVE = (("C_complete", None), ("D_complete", "complete"), ("D_ring", "ring"), ("D_torus", "torus"),
        ("D_exponential", "exponential"))

# Runs that lack something, one for each possibility; every command must handle all of them.
ODD = {
    "one_replica": Plan(name="one_replica", replicas=1, ranks=1),
    "one_iteration": Plan(name="one_iteration", per_epoch=1, epochs=1),
    "just_started": Plan(name="just_started", epochs=0, status="running"),
    "no_norms": Plan(name="no_norms", norms=False),
    "no_variance": Plan(name="no_variance", variance=False),
    "nothing_profiled": Plan(name="nothing_profiled", norms=False, variance=False),
    "centralized": Plan(name="centralized", implementation="C_complete", graph=None),
    "diverged": Plan(name="diverged", bad_from=30),
    "no_finite_value": Plan(name="no_finite_value", bad_from=0),
    "no_accuracy": Plan(name="no_accuracy", accuracy=False),
    "everything": Plan(name="everything", after=True, validation=True, precision="f8"),
    "failed": Plan(name="failed", status="failed", implementation=None, graph="ring"),
}


@pytest.fixture
def blank_figures(monkeypatch):
    """Write files of figures without drawing them, which takes most of the time of a test that does
    not look at a picture. The figures are still made from the runs."""

    def written(figure, target, **options):
        assert figure.axes
        if isinstance(target, str | Path):
            Path(target).write_bytes(b"blank")
        else:
            target.write(b"blank")

    monkeypatch.setattr(Figure, "savefig", written)


@pytest.fixture
def make(tmp_path):
    """Return a function that writes a result file: make(name="a", graph="ring", ...) -> path."""

    def writer(**plan):
        plan = Plan(**plan)
        path = tmp_path / f"{plan.name}.h5"
        write(path, plan)
        return path

    return writer


@pytest.fixture(scope="session")
def five(tmp_path_factory):
    """Return a folder with a run of each of the five implementations."""
    folder = tmp_path_factory.mktemp("five")
    for seed, (name, graph) in enumerate(FIVE):
        write(folder / f"{name}.h5", Plan(name=name, implementation=name, graph=graph, seed=seed))
    return folder


@pytest.fixture(scope="session")
def odd(tmp_path_factory):
    """Return a folder with a file for each plan of ODD."""
    folder = tmp_path_factory.mktemp("odd")
    for name, plan in ODD.items():
        write(folder / f"{name}.h5", plan)
    return folder
