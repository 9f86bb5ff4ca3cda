"""Tests of the drawn band in which a controller changes nothing."""

import dbench_analysis as da
import h5py
import numpy as np
import pytest
from dbench_analysis.figures import drawing
from dbench_analysis.quantities import controllers

DISPERSION, CONSENSUS = "coefficient of variation", "consensus distance"
VARIANCE = {"type": "ada_variance", "every": {"iterations": 4}, "measure": "gini",
            "tensors": ["fc.*"], "aggregate": "max", "low": 0.3, "high": 0.6, "relative": True}
CONTROL = {"type": "consensus_control", "by": "degree", "every": {"iterations": 5}, "target": None,
           "fraction": 0.6, "slack": 0.5}


@pytest.fixture
def controlled(make):
    """Return a function that writes a run whose graph a controller sets: controlled("name", graph,
    ...) -> its path."""
    return lambda name, graph, **plan: make(name=name, implementation=None,
                                            spec={"graph": graph}, **plan)


def drawn(*paths):
    """Return {title of a panel: vertices [points, 2] of its bands}, and the legend's entries."""
    (_, figure), = drawing.drawn(drawing.KINDS["adaptation"], [da.open(path) for path in paths])
    bands = {axis.get_title("left"): [patch.get_paths()[0].vertices for patch in axis.collections
                                      if patch.get_hatch()] for axis in figure.axes}
    return bands, [text.get_text() for text in figure.legends[0].get_texts()]


def edges(vertices):
    """Return {x: (lowest, highest)} of a band."""
    return {x: (vertices[vertices[:, 0] == x, 1].min(), vertices[vertices[:, 0] == x, 1].max())
            for x in np.unique(vertices[:, 0])}


def largest(values, every):
    """Return, after each iteration, the largest of the values that a controller has checked."""
    checked = np.where((np.arange(len(values)) + 1) % every == 0, values, 0)
    return np.maximum.accumulate(checked)[every - 1 :]


@pytest.mark.parametrize("graph, panel, value", [
    (VARIANCE, "Gini coefficient", lambda file: file["parameters/gini"][:, 3:].max(axis=1)),
    (CONTROL, CONSENSUS, lambda file: file["parameters/consensus_distance"][:]),
])
def test_limits_follow_the_largest_value_so_far(controlled, graph, panel, value):
    path = controlled("relative", graph)
    bands, entries = drawn(path)
    with h5py.File(path) as file:
        every = graph["every"]["iterations"]
        expected, epochs = largest(value(file), every), file["iterations/epoch"][every - 1 :]
    assert [title for title, found in bands.items() if found] == [panel]
    assert any("a controller rests" in entry for entry in entries)
    found = edges(bands[panel][0])
    assert list(found) == pytest.approx(epochs)
    assert np.array(list(found.values())) == pytest.approx(np.outer(expected, [0.3, 0.6]))


@pytest.mark.parametrize("graph, panel, low, high", [
    (VARIANCE | {"relative": False}, "Gini coefficient", 0.3, 0.6),
    (VARIANCE | {"relative": False, "measure": "consensus_distance"}, CONSENSUS, 0.3, 0.6),
    (CONTROL | {"target": 2.0}, CONSENSUS, 1.0, 2.0),
    (CONTROL | {"target": 2.0, "by": "rounds"}, CONSENSUS, 0.0, 2.0),
])
def test_fixed_limits(controlled, graph, panel, low, high):
    bands, _ = drawn(controlled("fixed", graph))
    assert [title for title, found in bands.items() if found] == [panel]
    assert set(edges(bands[panel][0]).values()) == {(low, high)}


def test_a_band_stands_on_no_other_measure(controlled, make):
    paths = [controlled("one", VARIANCE), controlled("other", VARIANCE | {"measure": "variance"}),
             controlled("third", CONTROL), make(name="ring")]
    bands, _ = drawn(*paths)
    assert {title: len(found) for title, found in bands.items()} == {
        "neighbours of a replica": 0, "Gini coefficient": 1, CONSENSUS: 1, "mean model": 0}


def test_a_report_has_the_band_of_a_controller_that_never_acted(controlled, make):
    relevant = drawing.KINDS["adaptation"].relevant
    assert relevant([da.open(controlled("idle", CONTROL | {"target": 1e9}))])
    assert not relevant([da.open(make(name="ring"))])


def test_without_a_controller_there_is_no_band(make):
    bands, entries = drawn(make(name="ring"))
    assert DISPERSION in bands and not any(bands.values())
    assert not any("controller" in entry for entry in entries)


@pytest.mark.parametrize("given, iterations", [
    ({"samples": 1024}, 4), ({"samples": 1025}, 5), ({"epochs": 1}, 20), ({"epochs": 0.12}, 3),
    ({"iterations": 7}, 7)])
def test_durations_are_rounded_as_the_program_does(make, given, iterations):
    """8 replicas have batches of 32, and an epoch has 20 iterations."""
    assert controllers.every(da.open(make(name="r")), given) == iterations
