"""Tests that an evaluation of some replicas evaluates those that the result file names."""

import numpy as np
from results import read


def test_some_of_five_replicas_are_evaluated(dbench):
    changes = {"replicas": 5, "init": "independent"}
    every = dbench.run(dbench.spec({**changes, "evaluate": {"replicas": "all"}}, "all.json"),
                       "all.h5")
    some = dbench.run(dbench.spec({**changes, "evaluate": {"replicas": 3}}, "some.json"), "some.h5")
    assert read(some, "evaluations/replica").tolist() == [0, 1, 3]
    losses = read(every, "evaluations/local_loss")
    assert np.array_equal(read(some, "evaluations/local_loss"), losses[:, [0, 1, 3]])
    assert len(np.unique(losses[0])) == 5
