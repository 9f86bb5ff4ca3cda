"""Simulates the level of the tests and the coverage of the intervals, with numbers of known
distributions and with runs whose quantities are independent of each other."""

import numpy as np
import pytest
from dbench_analysis.claims import ada, dbench, promise, published
from dbench_analysis.claims.cases import Case
from dbench_analysis.claims.finding import Terms
from dbench_analysis.claims.judgement import judged
from dbench_analysis.statistics import significance
from dbench_analysis.statistics.early_correlation import together

TERMS = Terms()
DRAW = {  # symmetric about their mean, like differences of equal settings; the last is not
    "normal": lambda rng, n: rng.standard_normal(n),
    "few decades": lambda rng, n: rng.standard_t(2, n),
    "two values": lambda rng, n: rng.choice([-1.0, 1.0], n) + 0.1 * rng.standard_normal(n),
}


def share(happens, times) -> float:
    return float(np.mean([happens(np.random.default_rng(seed)) for seed in range(times)]))


def above(level, times) -> float:
    """Return a bound that the observed share of an event of probability `level` exceeds in only one
    of 1,000 simulations."""
    return level + 3.1 * np.sqrt(level * (1 - level) / times)


@pytest.mark.parametrize("kind", DRAW)
@pytest.mark.parametrize("n, stated", [(5, 0.9375), (6, 0.96875), (8, 0.953125)])
def test_intervals_cover_as_stated(kind, n, stated):
    def outside(rng):
        low, high, coverage = significance.mean_interval(1 + DRAW[kind](rng, n), 0.95, rng)
        assert coverage == stated
        return not low <= 1 <= high

    missed = share(outside, 1000)
    assert missed <= above(1 - stated, 1000)
    assert missed >= 1 - stated - 3.1 * np.sqrt((1 - stated) * stated / 1000), "no wider than said"


def test_intervals_of_many_values_cover():
    def outside(rng):
        low, high, _ = significance.mean_interval(rng.standard_normal(20), 0.95, rng)
        return not low <= 0 <= high

    assert share(outside, 40) <= above(0.05, 40)


@pytest.mark.parametrize("kind", DRAW)
def test_verdicts_on_pairs_hold_their_level(kind):
    """The true difference is 0, minus the margin, or plus the margin."""
    scale, margin = 0.01, TERMS.margin
    drawn = [scale * DRAW[kind](np.random.default_rng(seed), 6) for seed in range(120)]
    assert np.mean([judged(d, TERMS).above() for d in drawn]) <= above(0.025, 120)
    assert np.mean([judged(d - margin, TERMS).below_margin() for d in drawn]) <= above(0.025, 120)
    assert np.mean([judged(d / 4 + margin, TERMS).equivalent() for d in drawn]) <= above(0.05, 120)


def test_a_mean_of_three_runs_is_as_uncertain_as_it_is():
    def outside(rng):
        values = rng.standard_normal(3)
        return abs(values.mean()) > significance.student_half_width(values, 0.95)

    assert share(outside, 300) <= above(0.05, 300)
    row = published.Row("dadam", "aer", 0.75, 0.005)

    def wrong(rng):  # the true mean is exactly at the tolerance
        values = 0.755 + 0.001 * rng.standard_normal(3)
        return promise.against_published(values, row, 100, 0.05, 0.01)[0] != "undecided"

    assert share(wrong, 300) <= above(0.05, 300)


def nothing(rng, graphs, seeds):
    """Return x, y [graphs, seeds]: each graph has an independent spread and accuracy; seeds of a
    graph differ by a tenth of that."""
    return [rng.standard_normal((graphs, 1)) + 0.1 * rng.standard_normal((graphs, seeds))
            for _ in range(2)]


def test_windows_and_seeds_of_nothing_are_significant_in_one_case_of_twenty():
    windows = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5]

    def significant(rng):
        x, y = (side.mean(axis=1) for side in nothing(rng, 6, 5))
        early = x[:, None] + 0.5 * rng.standard_normal((6, len(windows)))
        final = np.stack([y, y + 0.3 * rng.standard_normal(6)], axis=1)
        return min(p for _, _, p in together(early, final, windows).values()) <= 0.05

    assert share(significant, 150) <= above(0.05, 150)


def test_what_is_clear_is_found():
    x = np.arange(6.0)
    found = together(np.stack([x, x, x], axis=1), x[:, None], [0.01, 0.1, 0.3])
    assert found[0, 0] == (pytest.approx(1), 6, pytest.approx(2 / 720))
    assert np.isnan(found[2, 0][2]), "0.3 is not one of the windows fixed in advance"


def cases(rng, graphs=5, seeds=6, scales=(8, 16)) -> list[Case]:
    """Return runs of fixed graphs whose accuracy, degree and spreads are independent, and a form of
    Ada and C_complete that are no better."""
    found = []
    accuracy, early = nothing(rng, graphs, seeds)
    late = early[:, :1] + 0.5 * rng.standard_normal((graphs, seeds))
    for n in scales:
        own = rng.standard_normal((2, seeds))
        for seed in range(seeds):
            def case(name, role, value, degree=3.0, x=(1.0, 1.0), n=n, seed=seed):
                return Case(name, role, "", "cnn on shapes",
                            frozenset({("seed", str(seed)), ("n", str(n))}),
                            frozenset({("model", "cnn")}), True, n, str(seed), degree,
                            0.7 + 0.01 * value, 0.7, *x)

            found += [case("ada", "ada", own[0, seed]),
                      case("C_complete", "centralized", own[1, seed])]
            found += [case(f"graph {i}", "fixed", accuracy[i, seed], float(i + 1),
                           (float(early[i, seed]), float(late[i, seed])))
                      for i in range(graphs)]
    return found


def test_findings_from_nothing_are_supported_in_one_case_of_twenty():
    runs = [cases(np.random.default_rng(seed)) for seed in range(40)]
    for finding in (dbench.connections, dbench.variance):
        verdicts = [finding(found, TERMS).verdict for found in runs]
        for verdict in ("supported", "contradicted"):
            assert np.mean([v == verdict for v in verdicts]) <= above(0.05, 40), finding
    for finding in (ada.best, ada.reaches):
        verdicts = [finding(found, "ada", TERMS).verdict for found in runs]
        assert np.mean([v == "contradicted" for v in verdicts]) <= above(0.05, 40), finding
