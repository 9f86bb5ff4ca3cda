"""Tests of the figures of speed: step time, throughput, efficiency, break-even bandwidth, cost."""

import dbench_analysis as da
import h5py
import numpy as np
import pytest
from dbench_analysis.cli import main
from dbench_analysis.figures import relevance
from dbench_analysis.naming import differences
from dbench_analysis.quantities import fields, series, speed

FAIR = {"reduction": "library", "cpus": 16}


@pytest.fixture
def sizes(make):
    """Return runs of two communications on 4 and 8 ranks, of two seeds each."""
    return [da.open(make(name=f"{name}-{n}-{seed}", implementation=f"D_{name}", graph=name,
                         replicas=n, ranks=n, seed=seed, spec={"replicas": n, "seed": seed},
                         **FAIR))
            for name in ("ring", "complete") for n in (4, 8) for seed in (1, 2)]


def test_step_time_throughput_and_efficiency_have_their_spread(sizes):
    figure = da.plot(sizes, "speed")
    steps, rates, shares = figure.axes
    for axis in figure.axes:
        joined = [line for line in axis.lines if len(line.get_xdata()) == 2]
        assert [list(line.get_xdata()) for line in joined] == [[4, 8], [4, 8]]
    ring4, ring8 = ([run for run in sizes if run.name.startswith(f"ring-{n}-")] for n in (4, 8))
    every = [np.concatenate([series.step_times(run)[1:] for run in runs])
             for runs in (ring4, ring8)]
    low, median, high = np.percentile(every[0], (10, 50, 90))
    found = speed.step_spread(ring4)
    assert (found.low, found.median, found.high) == pytest.approx((low, median, high))
    line = next(line for line in steps.lines if len(line.get_xdata()) == 2)
    assert line.get_ydata() == pytest.approx([1e3 * np.median(times) for times in every])
    line = next(line for line in rates.lines if len(line.get_xdata()) == 2)
    assert line.get_ydata() == pytest.approx([32 * n / np.median(times)
                                              for n, times in zip((4, 8), every)])
    line = next(line for line in shares.lines if len(line.get_xdata()) == 2)
    assert line.get_ydata() == pytest.approx([1, np.median(every[0]) / np.median(every[1])])
    assert any("10th to 90th percentile" in text.get_text()
               for text in figure.legends[0].get_texts())


def test_break_even_bandwidth_is_bytes_over_the_time_that_hides_them(sizes):
    run = sizes[0]
    gradient = run.iterations["time_gradient"][:].mean(axis=1)
    sent = run.iterations["bytes_sent"][:] / run.replicas
    assert speed.break_even(run) == pytest.approx((sent / (2 / 3 * gradient))[1:])
    axis, = da.plot(sizes, "break-even").axes
    assert axis.get_xscale() == "log" and len(axis.get_yticks()) == 4
    found = speed.spread(np.concatenate([speed.break_even(one) for one in sizes[:2]]))
    drawn = [line.get_xdata()[0] for line in axis.lines if list(line.get_ydata()) == [0]]
    assert drawn[0] == pytest.approx(found.median / 1e6)


def test_cost_is_paid_by_all_ranks_until_the_accuracy_is_reached(sizes):
    run = sizes[0]
    found = series.evaluations(run, "accuracy")
    hours = speed.hours_to_reach(run, "accuracy", found["mean"].to_numpy()[[1, 3]])
    spent = series.step_seconds(run, found["iteration"].to_numpy())[[1, 3]]
    assert hours == pytest.approx(spent * run.rank_count / 3600) and spent[0] > 0
    assert np.isnan(speed.hours_to_reach(run, "accuracy", np.array([1.0]))).all()
    axis, = da.plot(sizes, "cost").axes
    assert "rank-hours" in axis.get_ylabel() and axis.get_yscale() == "log"


def test_costs_of_runs_with_different_intervals_of_evaluations_have_a_note(make, tmp_path, capsys):
    for name, epochs in (("a", 1), ("b", 5)):
        make(name=name, replicas=4, ranks=4, **FAIR,
             spec={"evaluate": {"every": {"epochs": epochs}}})
    command = ["plot", str(tmp_path), "-o", str(tmp_path / "plots"), "--kind", "cost"]
    for words, said in (([], True), (["--where", "name=a"], False)):
        assert main([*command, "--dpi", "20", *words]) == 0
        assert ("note: Runs differ in /evaluate/every" in capsys.readouterr().out) == said


@pytest.mark.parametrize("kind", ["speed", "break-even", "cost"])
def test_times_that_are_not_measurements_are_not_drawn(five, kind):
    runs = [da.open(path) for path in sorted(five.glob("*.h5"))]
    figure = da.plot(runs, kind)
    said = [" ".join(text.get_text().split()) for axis in figure.axes for text in axis.texts]
    assert said and all("Times are not to be compared" in text for text in said)
    assert not getattr(relevance, {"speed": "speeds", "break-even": "messages_in_time",
                                   "cost": "costs"}[kind])(runs)


def test_a_run_resumed_on_other_ranks_and_replicas_counts_both(make):
    """The first 40 of 100 iterations had 2 ranks and 4 replicas, the others 4 ranks and 8."""
    path = make(name="r", replicas=8, ranks=4)
    with h5py.File(path, "r+") as file:
        del file["segments"], file["events"]
        file["segments/first_iteration"], file["segments/ranks"] = [0, 40], [2, 4]
        for name, value in (("time", 1.0), ("iteration", 39), ("kind", b"replicas"),
                            ("text", b"4 became 8 by clone")):
            file[f"events/{name}"] = np.array([value])
    run = da.open(path)
    sent = run.iterations["bytes_sent"][:]
    assert series.bytes_per_replica(run) == pytest.approx(sent / np.repeat([4, 8], [40, 60]))
    seconds = series.step_seconds(run, np.array([0, 40, 100]))
    assert speed.rank_hours(run, np.array([40, 100])) == pytest.approx(
        np.cumsum(np.diff(seconds) * [2, 4]) / 3600)
    data = np.delete(run.iterations["time_data"][:], [0, 40], axis=0)
    assert series.breakdown(run)["data"] == pytest.approx(data.mean())


def test_lines_over_replicas_join_one_setting(make):
    runs = [da.open(make(name=f"{lr}-{n}", replicas=n, spec={
        "replicas": n, "optimizer": {"type": "sgd", "lr": lr}})) for lr in (1, 2) for n in (4, 8)]
    assert differences.over_replicas(runs) == [[0, 1], [2, 3]]
    assert differences.over_replicas([runs[0], runs[3]]) == [[0, 1]], "a rate may change with n"


def test_bytes_contain_those_of_a_controller(make):
    path = make(name="r")
    before = fields.find("bytes").value(da.open(path))
    with h5py.File(path, "r+") as file:
        file["iterations/control_bytes"] = np.full(100, 7)
    assert fields.find("bytes").value(da.open(path)) == before + 700
