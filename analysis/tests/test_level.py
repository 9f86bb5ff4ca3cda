"""Simulates the level of the tests and the coverage of the intervals, with numbers of known
distributions. Draws are tested all at once by short formulas, which are compared with the program's
functions on some of them. test_levels.py simulates whole findings."""

import numpy as np
import pytest
from dbench_analysis.claims import promise, published
from dbench_analysis.claims.finding import Terms
from dbench_analysis.claims.judgement import judged
from dbench_analysis.statistics import medians, significance
from levels import above, same
from scipy import stats
from skewed import SKEWED, equivalence, median_within, sign_flips, sign_test

TERMS = Terms()
DRAWS = 20_000
DRAW = {  # symmetric about their mean, as the tests assume
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "few decades": lambda rng, shape: rng.standard_t(2, shape),
    "two values": lambda rng, shape: (rng.choice([-1.0, 1.0], shape)
                                      + 0.1 * rng.standard_normal(shape)),
}


def drawn(kind, n, draws=DRAWS):
    return DRAW[kind](np.random.default_rng(n), (draws, n))


def subsets(n):
    return np.concatenate(list(significance.subsets(n, np.random.default_rng(0))))[:10_000]


def flip_p(d):
    """Return p of `sign_flip` for each row of d[draws, n]."""
    return sign_flips(d, 1 - 2 * subsets(d.shape[1]))


def outside(d, value, confidence=0.95):
    """Return for each row of d[draws, n] whether `mean_interval` leaves out the value: the share of
    the subsets whose mean is below it is too small or too large."""
    chosen = subsets(d.shape[1])
    chosen = chosen[chosen.sum(axis=1) > 0]
    below = np.sum((d - value) @ chosen.T < 0, axis=1)
    beyond = max(1, int((1 - confidence) / 2 * (len(chosen) + 1) + 1e-9))
    return (below < beyond) | (below > len(chosen) - beyond)


def test_the_formulas_are_those_of_the_program():
    rng = np.random.default_rng(0)
    d = drawn("few decades", 8, 50)
    same(flip_p(d), [significance.sign_flip(row, rng)[0] for row in d])
    same(equivalence(d, 0.7), [significance.tost(row, 0.7) for row in d])
    same(sign_test(d), [medians.sign_test(row) for row in d])
    same(median_within(d, 0.7), [medians.median_within(row, 0.7) for row in d])
    left_out = []
    for row in d:
        low, high, _ = significance.mean_interval(row, 0.95, rng)
        left_out.append(not low <= 1 <= high)
    assert 5 < sum(left_out) < 45
    same(outside(d, 1), left_out)


@pytest.mark.parametrize("kind", DRAW)
@pytest.mark.parametrize("n, stated", [(5, 0.9375), (6, 0.96875), (8, 0.953125)])
def test_intervals_cover_as_stated(kind, n, stated):
    d = drawn(kind, n)
    assert significance.mean_interval(d[0], 0.95, np.random.default_rng(0))[2] == stated
    missed = np.mean(outside(1 + d, 1))
    assert missed <= above(1 - stated, DRAWS)
    assert missed >= 2 * (1 - stated) - above(1 - stated, DRAWS), "no wider than said"


def test_intervals_of_many_values_cover():
    assert np.mean(outside(drawn("normal", 20, 5000), 0)) <= above(0.05, 5000)


@pytest.mark.parametrize("kind", DRAW)
def test_verdicts_on_pairs_hold_their_level(kind):
    """The true difference is 0, minus the margin, or plus the margin."""
    margin = TERMS.margin
    d = 0.01 * drawn(kind, 6)
    up = (flip_p(d) <= TERMS.alpha) & (d.mean(axis=1) > 0)
    lower = (flip_p(d) <= TERMS.alpha) & (d.mean(axis=1) < 0)
    equal = equivalence(d / 4 + margin, margin) <= TERMS.alpha
    nearly = 0.05 if kind == "normal" else 0.06  # t-tests assume normal differences
    for happens, level in ((up, 0.025), (lower, 0.025), (equal, nearly)):
        assert np.mean(happens) <= above(level, DRAWS)
    some = d[:100]
    same(up[:100], [judged(row, TERMS).above() for row in some])
    same(lower[:100], [judged(row - margin, TERMS).below_margin() for row in some])
    same(equal[:100], [judged(row / 4 + margin, TERMS).equivalent() for row in some])


@pytest.mark.parametrize("kind", SKEWED)
@pytest.mark.parametrize("n", [6, 8, 10])
def test_skewed_differences_break_tests_of_the_mean_and_not_those_of_the_median(kind, n):
    draw, median = SKEWED[kind]
    d = draw(np.random.default_rng(n), (DRAWS, n))
    about = d - median
    assert np.mean(sign_test(about) <= 0.05) <= above(0.05, DRAWS)
    for end in (-2, 2):  # the median is exactly at one end of the margin
        assert np.mean(median_within(about + end, 2) <= 0.05) <= above(0.05, DRAWS)
    covered = [low <= 0 <= high for low, high, _ in (
        medians.median_interval(row, 0.95) for row in about[:5000])]
    assert np.mean(covered) >= 0.95 - (above(0.05, 5000) - 0.05)
    # Tests of the mean do not hold: this is why the outputs state their assumption.
    assert np.mean(flip_p(d) <= 0.05) > 0.08
    assert max(np.mean(equivalence(d + end, 2) <= 0.05) for end in (-2, 2)) > 0.15


@pytest.mark.parametrize("kind", [*DRAW, *SKEWED])
def test_sign_flips_hold_for_settings_with_the_same_distribution(kind):
    """If both settings have one distribution, their differences are symmetric, however skewed the
    distribution is."""
    draw = DRAW.get(kind) or SKEWED[kind][0]
    rng = np.random.default_rng(0)
    d = draw(rng, (DRAWS, 8)) - draw(rng, (DRAWS, 8))
    assert np.mean(flip_p(d) <= 0.05) <= above(0.05, DRAWS)


def test_a_mean_of_three_runs_is_as_uncertain_as_it_is():
    values = drawn("normal", 3)
    half = stats.t.ppf(0.975, 2) * values.std(axis=1, ddof=1) / np.sqrt(3)
    same(half[:20], [significance.student_half_width(row, 0.95) for row in values[:20]])
    assert np.mean(np.abs(values.mean(axis=1)) > half) <= above(0.05, DRAWS)
    row = published.Row("dadam", "aer", 0.75, 0.005)
    values, half = 0.755 + 0.001 * values, 0.001 * half  # the true mean is exactly at the tolerance
    off = np.abs(values.mean(axis=1) - row.value)
    outer = half * stats.t.ppf(0.995, 2) / stats.t.ppf(0.975, 2)
    wrong = (off + half <= row.tolerance) | (off - outer > row.tolerance)
    same(wrong[:100], [promise.against_published(some, row, 100, 0.05, 0.01)[0] != "undecided"
                       for some in values[:100]])
    assert np.mean(wrong) <= above(0.05, DRAWS)
