"""Tests of the figures of speed: step time, throughput, efficiency, break-even bandwidth, cost."""

import dbench_analysis as da
import numpy as np
import pytest
from dbench_analysis.figures import relevance
from dbench_analysis.quantities import series, speed

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


@pytest.mark.parametrize("kind", ["speed", "break-even", "cost"])
def test_times_that_are_not_measurements_are_not_drawn(five, kind):
    runs = [da.open(path) for path in sorted(five.glob("*.h5"))]
    figure = da.plot(runs, kind)
    said = [" ".join(text.get_text().split()) for axis in figure.axes for text in axis.texts]
    assert said and all("Times are not to be compared" in text for text in said)
    assert not getattr(relevance, {"speed": "speeds", "break-even": "messages_in_time",
                                   "cost": "costs"}[kind])(runs)
