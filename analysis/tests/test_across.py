"""Tests of figures over many runs: their lines, the printed correlations, and refused requests."""

import dbench_analysis as da
import h5py
import numpy as np
import pytest
from dbench_analysis.cli import main
from dbench_analysis.figures import across, communication, convergence, drawing, early
from dbench_analysis.naming import differences
from dbench_analysis.tables import early_correlations

FIVE = (("C_complete", None), ("D_complete", "complete"), ("D_exponential", "exponential"),
        ("D_torus", "torus"), ("D_ring", "ring"))


def opened(folder):
    return [da.open(path) for path in sorted(folder.glob("*.h5"))]


@pytest.fixture
def scaled(make, tmp_path):
    """Return a folder with runs of two graphs at 4 and 8 replicas, with a fixed local and with a
    fixed global batch, with two seeds each."""
    for name, graph in (("D_ring", "ring"), ("D_torus", "torus")):
        for n, batch in ((4, 32), (8, 32), (8, {"global": 128})):
            for seed in (1, 2):
                kind = "local" if batch == 32 else "global"
                make(name=f"{name}-n{n}-{kind}-s{seed}", implementation=name, graph=graph,
                     replicas=n, per_epoch=4, epochs=2, seed=seed,
                     spec={"seed": seed, "data": {"type": "shapes", "batch_size": batch}})
    return tmp_path


def test_fixed_local_and_fixed_global_batch_are_different_lines(scaled):
    found, kind = across.ends(opened(scaled))
    told = {(name, how, batch): {n: len(members) for n, members in by_n.items()}
            for name, how, batch, by_n in across.lines(found)}
    assert kind == "accuracy" and len(told) == 4
    assert told["D_ring", "local", 32] == {4: 2,
                                           8: 2} and told["D_ring", "global", 128] == {4: 2, 8: 2}
    figure = across.scale(opened(scaled))
    drawn = {(line.get_linestyle(), line.get_markerfacecolor() == "white") for line in figure.axes[
        0].lines if len(line.get_xdata()) == 2 and line.get_linestyle() != "None"}
    assert drawn == {("-", False), ("--", True)}
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {"D_ring (2 seeds)", "D_torus (2 seeds)", "fixed local batch",
            "fixed global batch"} == set(labels)


def test_seeds_are_one_line_with_a_band(scaled):
    runs = opened(scaled)
    groups = differences.by_setting(runs)
    assert sorted(len(group) for group in groups) == [2] * 6
    labels = differences.setting_labels([group[0] for group in groups])
    assert len(set(labels)) == 6 and "D_ring, n=4" in labels
    assert any(name.startswith("D_ring, n=8, ") and "global=128" in name for name in labels)
    figure = convergence.figure(runs)
    assert len(figure.axes[0].lines) == 6 and len(figure.axes[0].collections) == 6


def test_convergence_over_bytes_and_seconds(make):
    with da.open(make(replicas=4, ranks=4, reduction="library")) as run:
        line = convergence.figure([run], "bytes").axes[0].lines[0]
        assert line.get_xdata()[-1] == pytest.approx(100 * 2 * 6058 * 4 / 1e6)
        line = convergence.figure([run], "seconds").axes[0].lines[0]
        epochs = run.iterations["step_time"][:].reshape(5, 20, 4)  # ranks meet at its end
        assert list(line.get_xdata()[1:]) == pytest.approx(
            np.cumsum(epochs.sum(axis=1).max(axis=1)))
        assert list(convergence.figure([run],
                                       "epochs").axes[0].lines[0].get_xdata()) == [0, 1, 2, 3, 4, 5]


def test_virtual_seconds_are_those_of_the_last_replica(make):
    runs = []
    for name in ("a", "b"):
        runs.append(make(name=name, replicas=4, ranks=1))  # real times do not compare
        with h5py.File(runs[-1], "r+") as file:
            file["iterations/replica_time"] = np.arange(400).reshape(100, 4) / 8
    opened = [da.open(run) for run in runs]
    line = convergence.figure(opened, "seconds").axes[0].lines[0]
    assert list(line.get_xdata()) == [0] + [(80 * epoch - 1) / 8 for epoch in range(1, 6)]


def test_seconds_that_do_not_compare_are_refused(five, tmp_path, capsys):
    assert main(["plot", str(five), "-o", str(tmp_path), "--kind", "convergence", "--x",
                 "seconds"]) == 2
    reason = "times of these runs cannot be compared: reproducible reductions (5 of 5 runs)"
    assert reason in capsys.readouterr().err
    assert not list(tmp_path.glob("*.png"))


def test_rank_correlations_with_and_without_c_complete(make, tmp_path, capsys):
    for name, graph in FIVE:
        make(name=name, implementation=name, graph=graph, after=True, per_epoch=10, epochs=2)
    assert main(["plot", str(tmp_path), "-o", str(tmp_path / "plots"), "--kind", "early",
                 "--window", "0.3", "--dpi", "30"]) == 0
    out = capsys.readouterr().out
    rows = [line for line in out.splitlines() if "20 %" in line and "mean model" in line]
    assert len(rows) == 2 and rows[0].startswith("before averaging")
    assert rows[1].startswith("after averaging")
    for row in rows:  # all five settings in opposite order, and four without C_complete
        assert "-1.00 (n = 5, p = 0.033)" in row and "-1.00 (n = 4, p = 0.17)" in row
    assert "-1.00 (n = 5) " in next(line for line in out.splitlines() if "30 %" in line)
    assert "no p for 30 %, which is not one of the windows fixed in advance" in out
    figure = early.figure(opened(tmp_path))
    said = [text.get_text() for axis in figure.axes for text in axis.texts]
    assert len(figure.axes) == 2 and all("without C_complete -1.00 (n = 4" in text for text in said)


def test_seeds_repeat_a_setting_and_do_not_make_others(make, tmp_path):
    """Three graphs in perfect order with six seeds each: 18 points would give p below 0.0001."""
    for name, graph in FIVE[1:4]:
        for seed in range(6):
            make(name=f"{name}-{seed}", implementation=name, graph=graph, per_epoch=10, epochs=2,
                 seed=seed, spec={"seed": seed})
    assert "-1.00 (n = 3, p = 0.33)" in early_correlations.text(opened(tmp_path))
    make(name="other", implementation="D_ring", graph="ring", replicas=4)
    told = early_correlations.text(opened(tmp_path))
    assert "p =" not in told and "the runs differ in /replicas, too" in told


def test_without_what_was_recorded_after(five, tmp_path, capsys):
    assert main(["plot", str(five), "-o", str(tmp_path), "--kind", "early", "--measure", "gini",
                 "--dpi", "30"]) == 0
    assert "after averaging" not in capsys.readouterr().out
    assert len(early.figure(opened(five)).axes) == 1
    two = [str(five / f"{name}.h5") for name in ("D_ring", "D_torus")]
    assert main(["plot", *two, "-o", str(tmp_path), "--kind", "early", "--dpi", "30"]) == 0
    assert "needs 3 runs or more, here 2" in capsys.readouterr().out
    assert main(["plot", *two, "--window", "0"]) == 2


def test_runs_that_are_not_complete_are_counted(make, tmp_path, capsys):
    make(name="a"), make(name="b", status="failed")
    assert main(["plot", str(tmp_path), "-o", str(tmp_path), "--kind", "connections", "--dpi",
                 "30"]) == 0
    assert "note: 1 of 2 runs not complete" in capsys.readouterr().out


def test_runs_that_a_figure_leaves_out_are_counted(make, tmp_path, capsys):
    for i, plan in enumerate(({}, {"accuracy": False}, {"accuracy": False}, {"replicas": 4})):
        make(name=f"run{i}", **plan)
    with h5py.File(tmp_path / "run3.h5", "r+") as file:
        file["iterations/degree"][:] = np.nan
    command = ["plot", str(tmp_path), "-o", str(tmp_path / "plots"), "--dpi", "30"]
    assert main([*command, "--kind", "connections"]) == 0
    told = capsys.readouterr().out
    assert ("note: 2 of 4 runs left out of the figure: no finite accuracy in the last evaluation; "
            "1 of 4 runs left out of the figure: a run of the setting recorded no degree\n") in told
    assert main([*command, "--kind", "scale"]) == 0
    told = capsys.readouterr().out
    assert "note: 2 of 4 runs left out" in told and "degree" not in told
    with pytest.warns(UserWarning, match="2 of 4 runs left out of the figure: no finite accuracy"):
        da.plot(tmp_path, "scale")
    assert main([*command, "--kind", "connections", "--where", "name=run0"]) == 0
    assert "left out" not in capsys.readouterr().out


def test_connections_stand_where_the_degrees_are(five):
    axis = across.connections(opened(five)).axes[0]
    places = sorted({float(x) for line in axis.lines
                     for x in np.asarray(line.get_xdata(), dtype=float)})
    assert places == [2, 3, 4, 7]


@pytest.mark.filterwarnings("error")
def test_odd_runs_in_figures_over_many(odd, tmp_path):
    for kind in ("convergence", "early", "connections", "scale"):
        assert main(["plot", str(odd), "-o", str(tmp_path), "--kind", kind, "--dpi", "30"]) == 0
        assert (tmp_path / f"{kind}.png").exists() and drawing.KINDS[kind].reading


def test_very_unlike_amounts_of_bytes_are_on_a_logarithmic_axis(make, monkeypatch):
    runs = [da.open(make(name=name, graph="ring", replicas=4, spec={"message": message}))
            for name, message in (("whole", "float32"), ("small", "sign"))]
    assert communication.cost(runs).axes[1].get_xscale() == "linear"
    places = communication.places
    monkeypatch.setattr(communication, "places", lambda run, found, over:
                        places(run, found, over) / (40 if "small" in run.name else 1))
    axis = communication.cost(runs).axes[1]
    assert axis.get_xscale() == "log" and "log scale" in axis.get_xlabel()
    assert all((line.get_xdata() > 0).all() for line in axis.lines)


def test_labels_leave_out_what_a_type_implies():
    """A label names the type of a section, but no entry that this type alone has with one value."""
    adam = {"/optimizer/type": "adam", "/optimizer/amsgrad": "false", "/optimizer/lr": "0.1"}
    window = {"/optimizer/type": "accum_adam", "/optimizer/window": "4", "/optimizer/lr": "0.1"}

    def labels(*specs):
        return differences.distinguished(["ring"] * len(specs), list(specs), lambda pointer: True)

    assert labels(adam, window) == ["ring, optimizer=adam", "ring, optimizer=accum_adam"]
    assert labels(adam, window, {**window, "/optimizer/window": "8"}) == [
        "ring, optimizer=adam", "ring, optimizer=accum_adam, window=4",
        "ring, optimizer=accum_adam, window=8"]
    # Entries of one type that only some of its specs have are no consequence of the type.
    assert labels(adam, {**adam, "/optimizer/decay": "1"}) == ["ring", "ring, decay=1"]
