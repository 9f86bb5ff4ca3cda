"""Tests of the arguments and results of the functions for notebooks."""

import builtins
import io
import re
from importlib import resources
from pathlib import Path

import dbench_analysis as da
import numpy as np
import pandas as pd
import pytest
from dbench_analysis.cli import main
from dbench_analysis.figures import drawing
from dbench_analysis.quantities import series

SEEDS = range(1, 7)


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    """Return a folder with two implementations at six seeds; D_ring always ends 2 points worse."""
    from synthetic import Plan, write

    folder = tmp_path_factory.mktemp("seeds")
    for name, graph, behind in (("D_ring", "ring", 0.02), ("D_torus", "torus", 0.0)):
        for seed in SEEDS:
            write(folder / f"{name}-s{seed}.h5", Plan(
                name=f"{name}-s{seed}", implementation=name, graph=graph, seed=seed,
                final=0.5 + 0.01 * seed - behind, spec={"seed": seed}))
    return folder


def as_runs(folder):
    return [da.open(path) for path in sorted(folder.iterdir())]


@pytest.mark.parametrize("what", [
    str, Path, lambda folder: f"{folder}/*.h5", lambda folder: sorted(folder.iterdir()), as_runs,
    lambda folder: [f"{folder}/D_ring*.h5", da.open(folder / "D_torus.h5"),
                    [folder / "C_complete.h5", folder / "D_complete.h5"],
                    folder / "D_exponential.h5"],
    lambda folder: da.collect(folder),
], ids=["text", "path", "glob", "list", "runs", "mixed", "table"])
def test_runs_are_named_in_many_ways(five, what):
    names = {path.stem for path in five.iterdir()}
    assert set(da.runs(what(five)).labels) == names
    assert set(da.collect(what(five)).index) == names


def test_conditions_are_those_of_the_commands(five, seeds, tmp_path):
    where = ["replicas>=8", "implementation=D_*", "graph!=ring"]
    assert set(da.runs(five, where=where).labels) == {"D_complete", "D_torus", "D_exponential"}
    assert list(da.collect(five, columns="lr", where=where)) == ["lr"]
    assert len(da.curves(five, where="graph=ring").index.unique("run")) == 1
    paired = da.compare(f"{seeds}/D_ring*", f"{seeds}/D_torus*", where="seed<=3")
    assert list(paired.pairs.index) == [1, 2, 3]
    assert "1 run" in repr(da.report(five, where="graph=ring"))
    assert len(da.plot(five, "tensors", where=where)) == 3
    table = tmp_path / "runs.csv"
    assert main(["collect", str(five), "-o", str(table)]) == 0
    assert da.runs(table, where="graph=ring").labels == ["D_ring"]
    for function in (da.runs, da.collect, da.curves, da.plot, da.report):
        with pytest.raises(da.AnalysisError, match="replicas is: 8"):
            function(five, where="replicas>8")


def test_runs_by_name_and_place(five):
    runs = da.runs(five)
    assert runs["D_ring"].name == "D_ring" and runs[-1] is list(runs)[-1]
    assert runs[:2].labels == runs.labels[:2] == runs._ipython_key_completions_()[:2]
    assert "D_ring" in repr(runs) and "<td>8</td>" in runs._repr_html_()
    with pytest.raises(da.AnalysisError, match="no such run.*D_ring"):
        runs["ring"]


def test_collect_gives_numbers(five):
    found = da.collect(five, columns="implementation,accuracy_mean_model", add=["/optimizer/lr"])
    assert list(found) == ["implementation", "accuracy_mean_model", "/optimizer/lr"]
    assert found.index.name == "run" and found.loc["D_ring", "/optimizer/lr"] == 0.1
    with da.open(five / "D_ring.h5") as run:
        assert (found.loc["D_ring", "accuracy_mean_model"]
                == run.evaluations.mean_accuracy[-1])


def test_names_that_repeat_give_way_to_files(tmp_path, make):
    first = make()
    second = first.rename(tmp_path / "again.h5")
    make()
    assert set(da.collect(tmp_path).index) == {str(first), str(second)}


def test_what_cannot_be_read_is_left_out_with_a_warning(five, tmp_path):
    (tmp_path / "prose.h5").write_text("accuracy was good, we think\n" * 10)
    (tmp_path / "ring.h5").symlink_to(five / "D_ring.h5")
    for function in (da.collect, da.runs):
        with pytest.warns(UserWarning, match="left out .*prose.h5: not an HDF5 file"):
            assert len(function(tmp_path)) == 1
    with pytest.raises(da.AnalysisError, match="prose.h5"):
        da.runs(tmp_path / "prose.h5")


@pytest.mark.parametrize("what, reason", [([], "none given"), (3, "names no runs"),
                                          (pd.DataFrame({"lr": [1]}), "no column file")])
def test_what_names_no_runs(what, reason):
    for function in (da.runs, da.plot, da.report):
        with pytest.raises(da.AnalysisError, match=reason):
            function(what)


def test_compare_is_the_command(seeds, capsys):
    a, b = f"{seeds}/D_ring-*.h5", f"{seeds}/D_torus-*.h5"
    assert main(["compare", a, b, "--margin", "1%"]) == 0
    printed = capsys.readouterr().out
    found = da.compare(a, b, margin="1%")
    assert repr(found) + "\n" == printed and found.verdict in found._repr_html_()
    assert found.difference == pytest.approx(-0.02) and found.p == 2 / 2**6
    assert found.equivalent is False and found.to_dict()["p"] == found.p
    assert found.pairs.index.name == "seed" and list(found.pairs.index) == list(SEEDS)
    assert np.allclose(found.pairs["A"] - found.pairs["B"], found.pairs["difference"])
    table = da.collect(seeds)
    ring, torus = (table[table.implementation == name] for name in ("D_ring", "D_torus"))
    assert repr(da.compare(ring, torus, margin=0.01)) == repr(found)
    by_two = da.compare(ring, torus, pair=["seed", "replicas"])
    assert by_two.pairs.index.names == ["seed", "replicas"] and by_two.p == found.p


def test_compare_uses_columns_of_ones_own(seeds):
    table = da.collect(seeds).assign(gini=1.0)
    table.loc[table.implementation == "D_ring", "gini"] = 3.0
    ring = table.implementation == "D_ring"
    assert da.compare(table[ring], table[~ring], "gini").difference == 2


def test_compare_leaves_out_what_is_not_complete(seeds):
    table = da.collect(seeds)
    ring, torus = (table[table.implementation == name].copy() for name in ("D_ring", "D_torus"))
    ring.loc["D_ring-s1", "status"] = "failed"
    with pytest.warns(UserWarning, match="1 of 6 runs of A not complete"):
        assert len(da.compare(ring, torus).pairs) == 5
    assert len(da.compare(ring, torus, unfinished=True).pairs) == 6


@pytest.mark.parametrize("how, reason", [
    ({"metric": "gini,lr"}, "one metric at a time"), ({"metric": "name"}, "holds words"),
    ({"metric": "accurcy"}, "no such column"), ({"alpha": 1}, "alpha 1: out of range"),
    ({"margin": 2}, "2% for points"), ({"pair": ["sed"]}, "no such column")])
def test_compare_names_what_is_wrong(seeds, how, reason):
    with pytest.raises(da.AnalysisError, match=reason):
        da.compare(seeds / "D_ring-s1.h5", seeds / "D_torus-s1.h5", **how)


def test_plot_returns_a_figure(five):
    figure = da.plot(five, "early", measure="gini", window=0.2)
    assert "20 %" in figure.axes[0].get_xlabel()
    figure.axes[0].set_title("mine")
    stream = io.BytesIO()
    figure.savefig(stream)
    for picture in (stream.getvalue(), figure._repr_png_()):
        assert picture.startswith(b"\x89PNG")


@pytest.mark.parametrize("kind", drawing.KINDS)
def test_every_figure_can_be_had(five, kind):
    found = da.plot(five, kind)
    assert len(found) == 5 if drawing.KINDS[kind].per_setting else found.axes
    assert da.plot(five / "D_ring.h5", kind).axes


@pytest.mark.parametrize("kind, how, reason", [
    ("variance", {}, "no such figure .did you mean variance-accuracy"),
    ("early", {"x": "bytes"}, "no such option .it takes measure, window"),
])
def test_plot_names_what_is_wrong(five, kind, how, reason):
    with pytest.raises(da.AnalysisError, match=reason):
        da.plot(five, kind, **how)


def test_report_is_the_command(five, tmp_path):
    assert main(["report", str(five), "-o", str(tmp_path / "a.html")]) == 0
    found = da.report(five)
    saved = found.save(tmp_path / "b" / "b.html")
    pages = [re.sub('class="file" href="[^"]*"', "", page) for page in (
        found.html, (tmp_path / "a.html").read_text())]
    assert saved.read_text() == found.html and pages[0] == pages[1], "but for links to files"
    assert f'href="{(five / "D_ring.h5").as_uri()}"' in found.html
    assert "5 runs" in repr(found)
    frame = found._repr_html_()
    assert frame.startswith("<iframe srcdoc=") and "<style" not in frame, "nothing leaks out of it"
    with pytest.raises(da.AnalysisError, match="does not end in .html"):
        found.save(tmp_path / "ring.h5")


@pytest.mark.parametrize("kind", ["accuracy", "loss", "train_accuracy", "train_loss", "variance",
                                  "gini"])
def test_curves_join_with_the_table(five, kind):
    found = da.curves(five, kind=kind)
    assert found.index.names == ["run", "iteration"] and "epoch" in found
    joined = found.join(da.collect(five)[["implementation", "seed"]])
    assert (joined["implementation"] == joined.index.get_level_values("run")).all()
    with da.open(five / "D_ring.h5") as run:
        ours = found.loc["D_ring"]
        if kind == "variance":
            assert np.array_equal(ours["consensus"], run.parameters.consensus_distance[:])
        if kind == "accuracy":
            assert np.array_equal(ours["mean"], run.evaluations.mean_accuracy[:])
            assert list(ours.index) == list(run.evaluations.iteration[:])
        if kind == "train_loss":
            assert np.allclose(ours["max"], run.iterations.train_loss[:].max(axis=1))


def test_curves_name_what_is_wrong(five):
    with pytest.raises(da.AnalysisError, match="no such curve .did you mean accuracy"):
        da.curves(five, kind="acuracy")


def test_frames_share_the_names_of_their_indices(five):
    with da.open(five / "D_ring.h5") as run:
        gini, norm = (run.parameters[name].frame() for name in ("gini", "norm"))
        assert gini.columns.name == run.tensors.index.name == "tensor"
        assert norm.columns.names == ["replica", "tensor"]
        assert run.iterations.step_time.frame().columns.name == "rank" == run.ranks.index.name
        assert run.evaluations.local_loss.frame().columns.name == "replica"
        assert run.graphs.index.name == "graph" and run.events.index.name == "event"
        together = run.iterations.frame().join(run.parameters.frame()).join(gini)
        assert together.index.name == "iteration" and len(together) == 100
        assert together["consensus_distance"].notna().all() and together["fc.bias"].notna().all()
        by_graph = run.iterations.frame()[["graph"]].join(run.graphs, on="graph")
        assert (by_graph["rho"] == run.certificate["rho"]).all()
        wide = norm.stack("replica", **({"future_stack": True} if pd.__version__ < "3" else {}))
        assert wide.shape == (800, 5)


def test_columns_by_tab(five):
    with da.open(five / "D_ring.h5") as run:
        assert {"gini", "variance", "frame"} <= set(dir(run.parameters))
        assert set(run.parameters._ipython_key_completions_()) == set(run.parameters)
        assert np.array_equal(run.parameters.gini[:], run.parameters["gini"][:])
        assert not hasattr(run.parameters, "sketch")
        with pytest.raises(AttributeError, match="no column sketch in /parameters"):
            run.parameters.sketch  # noqa: B018
        assert {"to_xarray", "tensors", "spec", "iterations"} <= set(dir(run))


def test_representations_show_what_there_is(make):
    with da.open(make(name="a<b", norms=False)) as run:
        text = repr(run)
        assert "8 replicas, 100 iterations, complete" in text and "train_loss" in text
        assert "consensus_distance" in text and "gini" not in text, "it was not recorded"
        html = run._repr_html_()
        assert "a&lt;b" in html and "a<b" not in html and "consensus distance" in html
        assert "<td>fraction</td>" in run.evaluations._repr_html_()


def test_xarray_has_the_coordinates(make):
    pytest.importorskip("xarray")
    with da.open(make(after=True)) as run:
        found = run.to_xarray()
        assert dict(found.sizes) == {"iteration": 100, "replica": 8, "tensor": 5, "rank": 2,
                                     "evaluation": 6}
        assert found.norm.dims == ("iteration", "replica", "tensor")
        assert np.array_equal(found.norm, run.parameters.norm[:])
        assert found.epoch.sel(iteration=19) == 1 and found.evaluation_epoch[-1] == 5
        weighted = found.variance.weighted(found.numel).mean("tensor")
        assert np.allclose(weighted, series.variance(run)["variance"])
        local = found.local_accuracy
        assert np.array_equal(local.dropna("replica").replica, [0, 2, 4, 6]), "those evaluated"
        assert np.array_equal(local.sel(replica=4), run.evaluations.local_accuracy[:, 2])
        assert found.step_time.attrs["units"] == "s" and found.attrs["status"] == "complete"
        few = run.to_xarray("gini", "train_loss")
        assert set(few.data_vars) == {"gini", "train_loss"}
        one = run.parameters.norm.to_xarray()
        assert one.sel(iteration=7, replica=3, tensor="fc.bias") == run.parameters.norm[7, 3, 4]
        assert run.iterations.lr.to_xarray().epoch[-1] == 5
        with pytest.raises(da.AnalysisError, match="recorded no sketch .there are .*gini"):
            run.to_xarray("sketch")


def test_xarray_leaves_nan_where_nothing_was_profiled(tmp_path, make):
    pytest.importorskip("xarray")
    import h5py
    path = make()
    with h5py.File(path, "r+", libver="latest") as file:  # as if every 10th had been profiled
        group = file["parameters"]
        for name in group:
            values = group[name][::10]
            group[name].resize(10, axis=0)
            group[name][:] = values
    with da.open(path) as run:
        found = run.to_xarray("gini", "variance", "train_loss")
        assert len(run.parameters.gini) == 10 and found.sizes["iteration"] == 100
        gini = found.gini.sel(tensor="fc.weight")
        assert np.array_equal(gini[::10], run.parameters.gini[:, 3])
        assert int(gini.isnull().sum()) == 90 and not found.train_loss.isnull().any()


def test_xarray_is_asked_for_where_it_is_missing(make, monkeypatch):
    imported = builtins.__import__

    def without(name, *others, **named):
        if name == "xarray":
            raise ImportError(name)
        return imported(name, *others, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with da.open(make()) as run, pytest.raises(da.AnalysisError, match="pip install xarray"):
        run.to_xarray()


@pytest.mark.filterwarnings("error")
def test_odd_runs_can_be_shown(odd):
    for path in sorted(odd.iterdir()):
        with da.open(path) as run:
            assert run.name in run._repr_html_() and run.name in repr(run)
            assert run.iterations.frame().index.name == "iteration"
    assert len(da.runs(odd).frame()) == len(da.collect(odd)) == len(list(odd.iterdir()))


def test_odd_runs_as_xarray(odd):
    pytest.importorskip("xarray")
    for path in sorted(odd.iterdir()):
        with da.open(path) as run:
            assert run.to_xarray().sizes["iteration"] == len(run.iterations)


def test_the_package_is_typed_and_says_shapes_and_units():
    assert (resources.files(da) / "py.typed").is_file()
    project = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    assert re.search(r'dbench_analysis = \[.*"py.typed"', project), "it is installed, too"
    for name in da.__all__:
        assert getattr(da, name).__doc__, f"{name} says what it is"
    for function in (da.collect, da.compare, da.curves, da.plot, da.report, da.runs, da.open):
        hints = function.__annotations__
        assert "return" in hints and set(function.__code__.co_varnames[
            :function.__code__.co_argcount + function.__code__.co_kwonlyargcount]) <= set(hints)
