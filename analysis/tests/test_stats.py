"""Tests of the statistics with known values, and of the command `compare`."""

import json

import numpy as np
import pandas as pd
import pytest
from dbench_analysis.cli import main
from dbench_analysis.statistics import medians, power, significance, symmetry
from scipy.stats import t, ttest_1samp


def rng():
    return np.random.default_rng(0)


def test_sign_flips_are_counted_exactly():
    assert significance.sign_flip([1, 2, 3, 4, 5, 6], rng()) == (2 / 64, 2 / 64, True)
    # The observed sum is 0, and every pattern has a sum of magnitude at least 0.
    assert significance.sign_flip([1, 2, -3], rng())[0] == 1.0
    # The observed magnitude is 4; 4 of 8 patterns reach 4 or 6.
    p, smallest, exact = significance.sign_flip([3, 2, -1], rng())
    assert (p, smallest, exact) == (0.5, 0.25, True)
    assert significance.sign_flip([0, 0, 1], rng())[1] == 1.0
    assert significance.sign_flip([0, 0], rng())[0] == 1.0


def test_sign_flips_at_random_agree_with_exact_ones():
    d = np.random.default_rng(3).normal(0.4, 1, 16)
    exact, _, told = significance.sign_flip(d, rng())
    # Two more pairs that are nearly 0: p remains about the same, but patterns are now drawn.
    drawn, _, not_exact = significance.sign_flip(np.append(d, [1e-9] * 2), rng())
    assert told and not not_exact and drawn == pytest.approx(exact, abs=0.01)


def test_an_interval_is_what_sign_flips_do_not_reject():
    d = np.random.default_rng(4).normal(1, 1, 9)
    low, high, coverage = significance.mean_interval(d, 0.95, rng())
    assert coverage == 1 - 2 * 12 / 512 and low < d.mean() < high
    for value, inside in ((low + 1e-9, True), (low - 1e-9, False), (high + 1e-9, False)):
        assert (significance.sign_flip(d - value, rng())[0] > 0.05) == inside


def test_few_values_have_the_interval_that_they_can_give():
    assert significance.mean_interval([3, 1, 2, 4, 5, 0], 0.95, rng()) == (0, 5, 1 - 2 / 64)
    assert significance.mean_interval([3, 1, 2], 0.95, rng()) == (1, 3, 0.75)
    assert np.isnan(significance.mean_interval([3], 0.95, rng())[0])


def test_intervals_of_many_values_repeat():
    d = np.random.default_rng(0).normal(1, 1, 30)
    low, high, coverage = significance.mean_interval(d, 0.95, rng())
    assert (low, high, coverage) == significance.mean_interval(d, 0.95, rng())
    assert coverage == pytest.approx(0.95, abs=1e-4) and low < 1 < high
    assert high - low == pytest.approx(2 * significance.student_half_width(d, 0.95), rel=0.1)


def test_equivalence():
    d = np.array([0.1, -0.1, 0.05, -0.02, 0.0])
    error = d.std(ddof=1) / np.sqrt(5)
    assert significance.tost(d, 0.2) == pytest.approx(1 - t.cdf((0.2 - abs(d.mean())) / error, 4))
    assert significance.tost(d, 0.01) > 0.3 and significance.tost(np.full(3, 0.1), 0.2) == 0
    assert significance.tost(np.full(3, 0.3), 0.2) == 1
    assert np.isnan(significance.tost([1.0], 2))
    wrong = sum(significance.tost(np.random.default_rng(s).normal(1, 1, 8), 1.0) <= 0.05
                for s in range(300))
    assert wrong <= 27, "at the margin itself equivalence is claimed in 5 % of cases"


def test_the_median_needs_no_symmetry():
    assert medians.sign_test([1, 2, 3, 4, 5, 600]) == 2 / 64
    assert medians.sign_test([-1, 2, 3, 4, 5, 600]) == 14 / 64
    assert medians.sign_test([0, 0]) == 1.0 and medians.sign_test([0, 1]) == 1.0
    assert medians.median_interval([3, 1, 2, 400, 5, 0], 0.95) == (0, 400, 1 - 2 / 64)
    assert medians.median_interval(range(10), 0.95) == (1, 8, 1 - 22 / 1024)
    assert medians.median_interval(range(10), 0.8) == (2, 7, 1 - 112 / 1024)
    assert np.isnan(medians.median_interval([3], 0.95)[0])
    assert medians.median_within([0.1] * 5, 0.2) == 1 / 32
    assert medians.median_within([0.1] * 4 + [0.3], 0.2) == 6 / 32
    assert np.isnan(medians.median_within([1.0], 2))


def test_signs_of_asymmetry():
    usual = [0.1, 0.4, -0.2, 0.3, 0.0, 0.2]
    assert symmetry.signs(usual) == "" and symmetry.signs([*usual, -9.0]) == "far values"
    assert symmetry.far_values([*usual, -9.0, -9.1]) == [6, 7]
    assert symmetry.far_values([0, 0, 0, 0, 0, 1]) == [5] and symmetry.far_values([1] * 6) == []
    assert symmetry.far_values([0, 0, 9]) == [], "three values show nothing"
    assert symmetry.signs(np.exp([0.0, 0.1, 0.2, 0.4, 0.8, 1.6, 2.6])) == "skewed"
    normal = rng().standard_normal((2000, 8))
    found = [symmetry.signs(d) for d in normal[:500]]
    assert 0.03 < np.mean([s == "skewed" for s in found]) < 0.07
    assert np.mean([bool(symmetry.far_values(d)) for d in normal]) < 0.01


def test_a_collapsed_run_is_named(tmp_path, capsys):
    pairs = [(0.70, 0.69), (0.71, 0.70), (0.69, 0.69), (0.70, 0.70), (0.71, 0.69), (0.30, 0.70)]
    runs = table_of(tmp_path, pairs)
    assert main(["compare", runs, *RING, *TORUS, "--margin", "1%"]) == 0
    out = capsys.readouterr().out
    assert "warning       1 run of A far from the others (seed=6)" in out
    assert "assume that the differences are independent and symmetric about their mean" in out
    assert "equivalence that the differences are independent and nearly normal" in out
    assert "median        +0.50 points, 96.9 % interval -40.00 points to +2.00 points" in out
    assert "The sign test of the median gives p = 0.625." in out
    assert main(["compare", runs, *RING, *TORUS, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["sign_test_p"] == 0.625 and len(found["warnings"]) == 1
    assert found["assumption"] and found["median"] == pytest.approx(0.005)


def test_power():
    assert power.stays_within(3, 0.4, 0.5, 0.95) == pytest.approx(0.11, abs=0.005)
    drawn = np.random.default_rng(1).normal(0, 0.4, (4000, 6))
    half = t.ppf(0.975, 5) * drawn.std(axis=1, ddof=1) / np.sqrt(6)
    assert power.stays_within(6, 0.4, 0.5, 0.95) == pytest.approx(
        np.mean(np.abs(drawn.mean(axis=1)) + half < 0.5), abs=0.025)
    shown = np.mean([significance.sign_flip(d + 0.5, rng())[0] <= 0.05 for d in drawn[:1000, :6]])
    assert power.difference_power(6, 0.4, 0.5, 0.05) == pytest.approx(shown, abs=0.04)
    assert power.difference_power(11, 0.4, 0.3, 0.05) == pytest.approx(
        power.difference_power(10, 0.4, 0.3, 0.05), abs=0.1)
    assert power.difference_power(5, 0.4, 0.5, 0.05) == 0, "no outcome of 5 pairs is significant"
    assert power.equivalence_power(8, 0.4, 0.5, 0.05, 5) == pytest.approx(np.mean(
        [significance.tost(d, 0.5) <= 0.05 for d in np.random.default_rng(2).normal(
            0, 0.4, (1000, 8))]), abs=0.04)
    assert power.seeds_for(lambda n: power.stays_within(n, 0.4, 0.5, 0.95)) == 9
    assert power.seeds_for(lambda n: 0.5) is None


def test_rank_correlation():
    assert list(significance.ranks(np.array([30, 10, 30, 20]))) == [3.5, 1, 3.5, 2]
    assert significance.spearman([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(0.8)
    assert significance.spearman([1, 2, 3], [9, 8, -7]) == pytest.approx(-1)
    assert np.isnan(significance.spearman([1, 2], [1, 2]))
    assert np.isnan(significance.spearman([1, 1, 1], [1, 2, 3]))
    assert significance.spearman([1, np.nan, 2, 3], [1, 0, 2, 3]) == pytest.approx(1)


def test_rank_correlations_asked_at_once():
    rho, p = significance.spearman_together([1, 2, 3, 4], [[1, 2, 3, 4]], rng())
    assert rho.tolist() == [[pytest.approx(1)]] and p.tolist() == [[pytest.approx(2 / 24)]]
    many = np.arange(20.0)
    assert significance.spearman_together(many, many**2, rng())[1][0, 0] < 0.001
    x = [[1, 2, 3, 4, 5], [1, 2, 3, 5, 4], [2, 2, 2, 2, 2]]
    rho, p = significance.spearman_together(x, [[1, 2, 3, 4, 5]], rng())
    # 2 orders reach |rho| = 1 in the first row and 2 in the second row. More orders, which exchange
    # neighbours, reach 0.9 in one of the rows.
    assert p[0, 0] == pytest.approx(4 / 120) and p[1, 0] > 8 / 120 and np.isnan(p[2, 0])


def table_of(tmp_path, pairs, note="") -> str:
    rows = [{"implementation": name, "seed": s, "accuracy_mean_model": v, "replicas": 8,
             "elapsed": 1.0, "status": "complete", "time_note": note,
             "file": f"{name}{s}.h5"} for s, values in enumerate(pairs, 1)
            for name, v in zip(("D_ring", "D_torus"), values)]
    pd.DataFrame(rows).to_csv(tmp_path / "runs.csv", index=False)
    return str(tmp_path / "runs.csv")


RING, TORUS = ["--where", "implementation=D_ring"], ["--against", "implementation=D_torus"]


def test_a_difference_is_found(tmp_path, capsys):
    runs = table_of(tmp_path, [(0.50, 0.52), (0.51, 0.54), (0.52, 0.53), (0.50, 0.53), (0.49, 0.52),
                               (0.51, 0.53)])
    assert main(["compare", runs, *RING, *TORUS]) == 0
    out = capsys.readouterr().out
    assert ("A is worse than B: -2.33 points (p = 0.0312)." in out and "give a margin" in out
            and "96.9 % interval -3.00 points to -1.00 points\n" in out)
    assert main(["compare", runs, *RING,
                 *TORUS]) == 0 and capsys.readouterr().out == out, "deterministic"


def test_too_few_seeds_are_said_to_be_too_few(tmp_path, capsys):
    runs = table_of(tmp_path, [(0.5, 0.6), (0.5, 0.61), (0.5, 0.59)])
    assert main(["compare", runs, *RING, *TORUS, "--margin", "1%"]) == 0
    out = capsys.readouterr().out
    assert ("Too few seeds to tell" in out and "with 3 pairs p cannot be smaller than 0.25" in out
            and "at least 5 pairs" in out)


def test_a_tie_is_no_lack_of_seeds(tmp_path, capsys):
    runs = table_of(tmp_path, [(0.5, 0.6)] * 5 + [(0.5, 0.5)])
    assert main(["compare", runs, *RING, *TORUS]) == 0
    assert "No difference is shown (p = 0.0625)" in capsys.readouterr().out


def test_equivalence_is_found_and_told_apart_from_no_difference(tmp_path, capsys):
    runs = table_of(tmp_path, [(0.500, 0.501), (0.502, 0.500), (0.501, 0.501), (0.499, 0.500),
                               (0.500, 0.499), (0.500, 0.5005), (0.5, 0.4995)])
    assert main(["compare", runs, *RING, *TORUS, "--margin", "0.5%", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["equivalent"] and found["equivalence_p"] < 0.01 and found["p"] > 0.3 and len(
        found["pairs"]) == 7
    assert main(["compare", runs, *RING, *TORUS, "--margin", "0.01%"]) == 0
    assert "Equivalence is not shown within ± 0.01 points" in capsys.readouterr().out


def test_files_are_paired_by_seed(make, tmp_path, capsys):
    for name, graph in (("D_ring", "ring"), ("D_torus", "torus")):
        for seed in (3, 1, 2):
            if (name, seed) != ("D_torus", 2):
                make(name=f"{name}-{seed}", implementation=name, graph=graph, seed=seed,
                     spec={"seed": seed})
    a, b = (str(tmp_path / f"{name}-*.h5") for name in ("D_ring", "D_torus"))
    assert main(["compare", a, b, "--metric", "accuracy_median", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [p["seed"] for p in found["pairs"]] == [1, 3] and found["notes"] == [
        "without a partner in A: 2 (seed)"]
    assert found["differ_in"] == [{"pointer": "/implementation", "a": "D_ring", "b": "D_torus"}]
    assert main(["compare", a, str(tmp_path / "*.h5")]) == 2
    assert "2 runs, which differ in /implementation" in capsys.readouterr().err


@pytest.mark.parametrize("command, reason", [
    (["{runs}"], "needs two selections, not 1"), (["{runs}", *RING], "use --where and --against"),
    (["{runs}", *RING, "--against", "implementation=D_rnig"], "no run matches"),
    (["{runs}", *RING, *TORUS, "--margin", "0.5"], "0.5% for points"),
    (["{runs}", *RING, *TORUS, "--margin", "0%"], "above 0"),
    (["{runs}", *RING, *TORUS, "--metric", "loss_mean_model", "--margin", "1%"],
     "margin 1%: is in points, and loss_mean_model is no fraction"),
    (["{runs}", *RING, *TORUS, "--metric", "elapsed"],
     "cannot be compared: reproducible reductions (4 of 4 runs)"),
    (["{runs}", *RING, *TORUS, "--metric", "implementation"], "holds words"),
    (["{runs}", *RING, *TORUS, "--alpha", "5"], "out of range"),
])
def test_faults(tmp_path, capsys, command, reason):
    runs = table_of(tmp_path, [(0.5, 0.6), (0.5, 0.6)], "reproducible reductions")
    assert main(["compare", *(part.format(runs=runs) for part in command)]) == 2
    assert reason in capsys.readouterr().err


def test_the_paired_t_test_has_the_value_of_scipy():
    d = np.array([0.3, -0.1, 0.4, 0.2, 0.5, 0.1])
    assert significance.paired_t(d) == pytest.approx(ttest_1samp(d, 0).pvalue, rel=1e-12)
    assert significance.paired_t([0.2, 0.2, 0.2]) == 0.0 and significance.paired_t([0, 0]) == 1.0
    assert np.isnan(significance.paired_t([1.0]))


def test_equivalence_has_the_value_of_two_one_sided_tests_of_scipy():
    d = np.array([0.003, -0.001, 0.004, 0.002, 0.001, -0.002])
    upper = ttest_1samp(d, 0.005, alternative="less").pvalue
    lower = ttest_1samp(d, -0.005, alternative="greater").pvalue
    assert significance.tost(d, 0.005) == pytest.approx(max(upper, lower), rel=1e-12)


def test_holm_corrects_a_family():
    # By hand: 4 x 0.005, then 3 x 0.01, then 2 x 0.03, and 1 x 0.04 is raised to 0.06.
    assert significance.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert significance.holm([0.9, 0.8]).tolist() == [1.0, 1.0]
    found = significance.holm([0.01, np.nan, 0.02])
    assert found[[0, 2]] == pytest.approx([0.02, 0.02]) and np.isnan(found[1])
    assert len(significance.holm([])) == 0


def test_holm_keeps_the_rate_of_false_families():
    drawn = np.random.default_rng(1).uniform(size=(4000, 5))
    false = np.mean([significance.holm(p).min() <= 0.05 for p in drawn])
    assert false == pytest.approx(0.05, abs=0.012)


def test_an_interval_of_a_rank_correlation():
    # By hand: atanh 0.5 = 0.5493, standard error sqrt(1.125 / 17) = 0.2573, times 1.96 = 0.5042.
    low, high = significance.spearman_interval(0.5, 20, 0.95)
    assert (low, high) == pytest.approx((np.tanh(0.0451), np.tanh(1.0535)), abs=2e-4)
    assert significance.spearman_interval(-0.5, 20, 0.95) == pytest.approx((-high, -low))
    assert significance.spearman_interval(0.9, 3, 0.95) == (-1, 1)
    assert np.isnan(significance.spearman_interval(np.nan, 9, 0.95)[0])
    low, high = significance.spearman_interval(1.0, 6, 0.95)
    assert 0 < low < 0.9 and high == 1.0
    assert significance.spearman_interval(-1.0, 6, 0.95) == pytest.approx((-1, -low))


def test_an_interval_of_a_rank_correlation_covers_it():
    covered, rng = 0, np.random.default_rng(2)
    for _ in range(500):
        x = rng.standard_normal(12)
        rho = significance.spearman(x, rng.standard_normal(12))
        low, high = significance.spearman_interval(rho, 12, 0.95)
        covered += low <= 0 <= high
    assert covered >= 0.92 * 500
