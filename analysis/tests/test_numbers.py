"""Tests of quantities with known values: dispersion, variance, evaluations, parts of a step."""

import dbench_analysis as da
import h5py
import numpy as np
import pytest
from dbench_analysis.cli import main
from dbench_analysis.figures.thinning import largest_of, least_of, mean_of, thin
from dbench_analysis.quantities import series
from dbench_analysis.quantities.verification import dispersion


def test_dispersion_of_one_to_four():
    found = {name: value.item()
             for name, value in dispersion(np.array([1.0, 2.0, 3.0, 4.0])[None, :, None]).items()}
    assert found["gini"] == pytest.approx(0.25)  # 20 / (2 16 2.5)
    assert found["index_of_dispersion"] == pytest.approx(0.5)
    assert found["coefficient_of_variation"] == pytest.approx(np.sqrt(1.25) / 2.5)
    assert found["quartile_coefficient"] == pytest.approx((3.25 - 1.75) / (3.25 + 1.75))


@pytest.mark.parametrize("norms",
                         [np.zeros((1, 4, 1)), np.full((1, 4, 1), 3.0), np.full((1, 1, 1), 3.0)])
def test_dispersion_of_equal_norms_is_zero(norms):
    assert all(value.item() == 0 for value in dispersion(norms).values())


def test_verify_agrees_and_notices_a_wrong_value(make):
    path = make()
    with da.open(path) as run:
        found = da.verify(run)
        assert found["agrees"].all() and (found["values"]
                                          == 500).all() and (found["skipped"] == 0).all()
    with h5py.File(path, "r+") as file:
        file["parameters/gini"][7, 3] *= 1.01
    with da.open(path) as run:
        found = da.verify(run).set_index("measure")
        assert not found.loc["gini", "agrees"] and found.loc["coefficient_of_variation", "agrees"]


def test_every_run_is_verified_and_the_status_says_the_worst(make, tmp_path, capsys):
    without, right = make(name="a", norms=False), make(name="b")
    assert main(["show", str(tmp_path), "--verify"]) == 2
    told = capsys.readouterr()
    assert f"{right}: recorded dispersion against the recorded norms" in told.out
    assert f"dbench-analyze: {without}: no norms recorded, nothing to verify" in told.err
    with h5py.File(make(name="c"), "r+") as file:
        file["parameters/gini"][3, 0] += 0.5
    assert main(["show", str(tmp_path), "--verify"]) == 1
    assert "NO" in capsys.readouterr().out.split("c.h5: recorded")[1]
    assert main(["show", str(right), "--verify"]) == 0


def test_verify_leaves_out_what_is_not_finite(make):
    with da.open(make(bad_from=90)) as run:
        found = da.verify(run)
        assert found["agrees"].all() and (found["skipped"] == 50).all()
    with da.open(make(name="off", norms=False)) as run:
        assert da.verify(run).empty


def test_variance_is_the_squared_consensus_distance_per_parameter(make):
    with da.open(make(after=True)) as run:
        found = series.variance(run)
        assert np.allclose(found["variance"], found["consensus"] ** 2 / run.parameter_count,
                           rtol=1e-12)
        assert np.allclose(found["variance_after"], found["variance"] / 4)
        assert found["epoch"].iloc[19] == 1.0


def test_dispersion_is_aggregated_over_the_weights(make):
    with da.open(make()) as run:
        weights = run.parameters["gini"][:][:, [0, 3]]
        found = series.dispersion(run, "gini")
        assert np.allclose(found["median"], weights.mean(axis=1)), "the median of two"
        assert np.allclose(found["high"] - found["low"], np.ptp(weights, axis=1) / 2)


def test_spread_at_evaluations_is_the_mean_since_the_one_before(make):
    with da.open(make(per_epoch=20, epochs=5)) as run:
        found = series.spread_at_evaluations(run, "variance")
        every = series.variance(run)["variance"].to_numpy()
        assert list(found["iteration"]) == [20, 40, 60, 80, 100]
        assert found["value"].iloc[1] == pytest.approx(every[20:40].mean())
        assert series.early_spread(run, "variance") == pytest.approx(every[:10].mean())


def test_evaluations_are_min_median_max_of_the_local_models(make):
    path = make()
    with h5py.File(path, "r") as file, da.open(path) as run:  # open twice, as in a notebook
        local = file["evaluations/local_accuracy"][:]
        found = series.evaluations(run, "accuracy")
        assert np.array_equal(found["median"], np.median(local, axis=1)) and np.array_equal(
            found["max"], local.max(axis=1))


def test_infinite_values_do_not_spoil_statistics(make):
    with da.open(make(bad_from=50)) as run:
        assert np.isfinite(series.early_spread(run, "variance"))
        assert len(series.training(run, "loss")) == 100
        assert series.training(run, "loss")["median"].notna().sum() == 50


def test_parts_add_up_to_the_step(make):
    with da.open(make()) as run:
        parts = series.breakdown(run)
        step = run.iterations["step_time"][1:].mean()
        assert sum(v for k, v in parts.items() if k != "profile") == pytest.approx(step)
        assert parts["rest"] == pytest.approx(0.001) and parts["profile"] == pytest.approx(0.004)


def test_ranks_that_were_not_there_do_not_count(make):
    path = make()
    with h5py.File(path, "r+") as file:
        file["iterations/step_time"][:50, 1] = np.nan
    with da.open(path) as run:
        assert np.isfinite(series.step_times(run)).all()
        there = run.iterations["step_time"][:50, 0].sum()
        assert series.step_seconds(run, np.array([0, 50])) == pytest.approx([0, there])


def test_thinned_bands_keep_their_extremes():
    x, y = np.arange(10_000), np.zeros(10_000)
    y[1234] = 7.0
    short, low, high = thin(x, y, y, points=100, reduce=(least_of, largest_of))
    assert len(short) == 100 and high.max() == 7.0 and low.max() == 0.0


def test_bins_leave_out_what_is_not_finite():
    generator = np.random.default_rng(1)
    y = generator.standard_normal(1003)
    y[generator.random(1003) < 0.3] = np.nan
    y[[5, 700]] = np.inf
    y[400:450] = np.nan  # whole bins
    x, low, mean, high = thin(np.arange(1003), y, y, y, points=50,
                              reduce=(least_of, mean_of, largest_of))
    edges = np.linspace(0, 1003, 51).astype(int)
    bins = [y[a:b][np.isfinite(y[a:b])] for a, b in zip(edges, edges[1:])]
    assert any(len(one) == 0 for one in bins)
    for found, reduce in ((low, np.min), (mean, np.mean), (high, np.max)):
        wanted = [reduce(one) if len(one) else np.nan for one in bins]
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    np.testing.assert_allclose(x, [(a + b - 1) / 2 for a, b in zip(edges, edges[1:])])
