"""Simulates the level of whole findings, from runs whose quantities are independent of each other.
The label slow: thousands of draws are judged one by one."""

import numpy as np
import pytest
from dbench_analysis.claims import ada, dbench
from dbench_analysis.claims.cases import Case
from dbench_analysis.claims.finding import Terms
from dbench_analysis.statistics.early_correlation import together
from levels import above
from skewed import errors

TERMS = Terms()
DRAWS = 5000


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

    share = np.mean([significant(np.random.default_rng(seed)) for seed in range(DRAWS)])
    assert share <= above(0.05, DRAWS)


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


@pytest.mark.parametrize("judge", [dbench.connections, dbench.variance])
def test_correlations_of_nothing_are_decided_in_one_case_of_twenty(judge):
    verdicts = [judge(cases(np.random.default_rng(seed), scales=(8,), seeds=3), TERMS).verdict
                for seed in range(DRAWS)]
    for verdict in ("supported", "contradicted"):
        assert np.mean([v == verdict for v in verdicts]) <= above(0.05, DRAWS), judge


@pytest.mark.parametrize("judge", [ada.best, ada.reaches])
def test_equal_accuracies_are_called_different_in_one_case_of_twenty(judge, monkeypatch):
    """All settings have the same true accuracy."""
    monkeypatch.setattr(ada, "more_seeds", lambda *_: [])  # computing its power takes long

    def alike(rng):
        return [Case("ada" if i == 0 else "C_complete" if i == 1 else f"graph {i}",
                     ("ada", "centralized")[i] if i < 2 else "fixed", "", "cnn on shapes",
                     frozenset({("seed", str(seed)), ("n", "8")}), frozenset({("model", "cnn")}),
                     True, 8, str(seed), float(i), float(value), 0.7, 1.0, 1.0)
                for seed, row in enumerate(0.7 + 0.01 * rng.standard_normal((8, 4)))
                for i, value in enumerate(row)]

    verdicts = [judge(alike(np.random.default_rng(seed)), "ada", TERMS).verdict
                for seed in range(DRAWS)]
    assert np.mean([v == "contradicted" for v in verdicts]) <= above(0.05, DRAWS)
    assert np.mean([v == "supported" for v in verdicts]) <= above(0.05, DRAWS)


@pytest.mark.parametrize("kind", ["lognormal", "collapses"])
def test_no_test_of_a_mean_holds_with_skewed_differences(kind):
    """None of the methods of docs/decisions/0042-skewed-differences.md can replace sign flips."""
    found = errors(kind, 8, 8000)
    assert len(found) == 8
    for name, share in found.items():
        assert (share <= above(0.05, 8000)) == ("median" in name), name
