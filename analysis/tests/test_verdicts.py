"""Tests of the verdicts on published numbers, from made-up numbers of runs."""

import math

import numpy as np
import pytest
from dbench_analysis.reproduction import metrics
from dbench_analysis.reproduction.verdicts import judge, judge_order, runs_to_decide

ONE = [None]  # nothing is random
THREE = [1, 2, 3]


def at(*values):
    return dict(zip(THREE, values))


@pytest.mark.parametrize("ours, tolerance, verdict", [
    (13, 0, "reproduced"), (14, 0, "not reproduced"), (12, 0, "not reproduced"),
    (14, 1, "reproduced"), (15, 1, "not reproduced"), (88.1, 0.7, "reproduced")])
def test_a_number_without_randomness(ours, tolerance, verdict):
    published = 87.4 if tolerance == 0.7 else 13
    found = judge(published, tolerance, {None: ours}, ONE)
    assert found.verdict == verdict and found.ours == ours


@pytest.mark.parametrize("values, verdict", [
    ((87.4, 87.5, 87.3), "reproduced"),      # inside
    ((88.1, 88.1, 88.1), "reproduced"),      # at the tolerance, no deviation
    ((88.11, 88.11, 88.11), "not reproduced"),
    ((88.0, 88.1, 88.2), "undecided"),       # at the tolerance, with a deviation
    ((90.0, 90.1, 90.2), "not reproduced"),  # outside
    ((84.8, 84.7, 84.6), "not reproduced"),
    ((86.4, 87.4, 88.4), "undecided")])      # the interval of the mean is wider than the tolerance
def test_a_mean_over_seeds(values, verdict):
    assert judge(87.4, 0.7, at(*values), THREE).verdict == verdict


def test_it_says_by_how_much_and_what_differs():
    found = judge(87.4, 0.7, at(90.0, 90.1, 90.2), THREE, differs=["another draw of the split"])
    assert "+2.7" in found.why and "tolerance 0.7" in found.why
    assert "another draw of the split" in found.why
    assert "differs by +1, tolerance 0" in judge(13, 0, {None: 14.0}, ONE).why
    assert "another" not in judge(87.4, 0.7, at(87.4, 87.5, 87.3), THREE, differs=["another"]).why


def test_missing_seeds_leave_a_number_undecided():
    """Two runs that agree with the published number decide nothing if three were promised."""
    found = judge(87.4, 0.7, {1: 87.4, 3: 87.4}, THREE)
    assert found.verdict == "undecided" and "no run of seed 2" in found.why
    assert judge(87.4, 0.7, {2: 60.0, 3: 60.0}, THREE).verdict == "undecided"
    one = judge(87.4, 0.7, {1: 87.4}, THREE, {1: 87.1, 2: 87.6, 3: 87.5})
    assert one.verdict == "undecided" and "that of the published seeds" in one.why
    assert "3 runs or more would decide" in judge(87.4, 0.7, {1: 87.4}, THREE).why


def test_it_says_how_many_runs_would_decide():
    found = judge(87.4, 0.7, at(86.9, 87.4, 87.9), THREE)
    count = runs_to_decide(0, 0.5, 0.7, 3)
    assert found.verdict == "undecided" and f"{count} runs would decide" in found.why
    values = np.full(count, 87.4) + 0.5 * np.resize([1, -1], count) * math.sqrt((count - 1) / count)
    seeds = list(range(count))
    assert judge(87.4, 0.7, dict(zip(seeds, values)), seeds).verdict == "reproduced"
    assert judge(87.4, 0.7, dict(zip(seeds[1:], values[1:])), seeds[1:]).verdict == "undecided"
    assert runs_to_decide(0.7, 0.5, 0.7, 3) is None
    assert "more than 200 runs" in judge(87.4, 0.7, at(87.6, 88.1, 88.6), THREE).why


def test_further_seeds_count():
    values = {seed: 87.4 + 0.3 * (-1) ** seed for seed in range(1, 13)}
    assert judge(87.4, 0.7, values, THREE).verdict == "reproduced"


def test_without_runs_or_without_a_published_number():
    assert judge(87.4, 0.7, {}, THREE).verdict == "not run"
    found = judge(None, 0.7, at(80, 81, 82), THREE)
    assert found.verdict == "not run" and found.ours == 81 and "was not read" in found.why


def test_a_run_that_never_arrives():
    assert judge(13, 0, {None: None}, ONE).verdict == "not reproduced"
    found = judge(87.4, 0.7, at(87.4, None, 87.4), THREE)
    assert found.verdict == "not reproduced" and "1 of 3 runs never reached" in found.why


@pytest.mark.parametrize("above, below, verdict", [
    ((60, 61, 62), (50, 52, 51), "reproduced"),
    ((50, 52, 51), (60, 61, 62), "not reproduced"),
    ((60, 61, 62), (62, 60, 61), "undecided"),
    ((60, 61, 62), (59.9, 60.9, 61.9), "reproduced"),  # seeds are compared with each other
    ((60, 61), (50, 52, 51), "undecided"),             # a seed is missing
    ((60, None, 62), (50, 52, 51), "undecided"),
    ((), (50, 52, 51), "not run"), ((60, 61, 62), (), "not run")])
def test_the_order_of_two_cells(above, below, verdict):
    found = judge_order(at(*above), at(*below), THREE)
    assert found.verdict == verdict, found.why


def test_an_order_says_by_how_much_and_what_is_missing():
    assert "ours differ by +10" in judge_order(at(60, 61, 62), at(50, 52, 51), THREE).why
    assert "the other order" in judge_order(at(50, 52, 51), at(60, 61, 62), THREE).why
    assert "of seed 3" in judge_order(at(60, 61), at(50, 52, 51), THREE).why
    assert "decides nothing" in judge_order({1: 60}, {1: 50}, [1]).why
    assert judge_order({None: 60}, {None: 50}, ONE).verdict == "reproduced"
    assert judge_order({None: 50}, {None: 50}, ONE).verdict == "undecided"


class Rows(dict):
    """Recorded columns in place of a result file's."""


class Recorded:
    path = "made-up.h5"

    def __init__(self, **columns):
        self.evaluations = Rows({name: np.asarray(each) for name, each in columns.items()})


CURVE = Recorded(iteration=[0, 1, 2, 3, 4, 5, 6],
                 mean_loss=[9, 2.4, 2.2, 2.1, 2.09, 2.085, 2.084])
BELOW = {"type": "below", "column": "mean_loss", "minus": 2, "scale": 10, "threshold": 1.5}


def test_the_first_tested_iteration_below_a_threshold():
    assert metrics.value(CURVE, BELOW, {}) == 3
    tested = BELOW | {"tested": {"until": 6, "points": 3}}  # 1, 2 (of 2.45), 6
    assert metrics.value(CURVE, tested, {}) == 6
    assert metrics.value(CURVE, BELOW | {"minus": "least"}, {"least": 2.08}) == 2
    assert metrics.value(CURVE, BELOW | {"threshold": 0.1}, {}) is None


def test_the_first_iteration_of_a_plateau():
    plateau = BELOW | {"type": "plateau", "count": 3, "within": 0.05}
    assert metrics.value(CURVE, plateau, {}) == 6  # 0.9, 0.85, 0.84 in the unit of the value
    assert metrics.value(CURVE, plateau | {"within": 0.2}, {}) == 5
    assert metrics.value(CURVE, plateau | {"within": 0.01}, {}) is None


def test_the_minimum_over_replicas_of_the_last_evaluations():
    run = Recorded(iteration=[0, 1, 2], local_accuracy=[[0.1, 0.9], [0.8, 0.5], [0.6, 0.7]])
    last = {"type": "evaluation", "column": "local_accuracy", "last": 2, "scale": 100}
    assert metrics.value(run, last | {"over_replicas": "min"}, {}) == pytest.approx(60)
    assert metrics.value(run, last | {"over_replicas": "mean"}, {}) == pytest.approx(65)
    assert metrics.value(run, last | {"over_replicas": "min", "last": 1}, {}) == pytest.approx(60)
    run = Recorded(iteration=[0], local_accuracy=[[np.nan, 0.9]])
    assert metrics.value(run, last, {}) is None
