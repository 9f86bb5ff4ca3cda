"""Tests that metrics of only some runs appear under their names wherever evaluations are shown."""

import numpy as np
import pytest
from dbench_analysis import open as open_run
from dbench_analysis.cli import main
from dbench_analysis.figures import drawing
from dbench_analysis.notebook import runs as notebook
from dbench_analysis.quantities import fields
from dbench_analysis.reading.metrics import METRICS
from dbench_analysis.selection.opening import open_runs

PLANS = {"perplexity": {"tokens": True}, "top5": {"top5": True}}


@pytest.fixture(params=PLANS)
def metric(request):
    return METRICS[request.param]


@pytest.fixture
def told(make, metric):
    return make(name="told", **PLANS[metric.name], validation=True)


def test_the_values_are_those_of_the_file(told, metric):
    run = open_run(told)
    mean, local = (run.evaluations[f"{of}_{metric.name}"][:] for of in ("mean", "local"))
    best = np.min if metric.low else np.max
    for key, value in {"mean_model": mean[-1], "max": local[-1].max(), "best": best(mean),
                       "median": np.median(local[-1])}.items():
        assert fields.COLUMNS[f"{metric.name}_{key}"].value(run) == pytest.approx(value)
        assert fields.COLUMNS[f"{metric.name}_{key}"].better == metric.better
    assert best(mean) != mean[0]
    found = fields.COLUMNS[f"validation_{metric.name}"].value(run)
    assert found == pytest.approx(run.evaluations[f"validation_mean_{metric.name}"][-1])


@pytest.mark.usefixtures("blank_figures")
def test_table_show_and_report(told, metric, make, tmp_path, capsys):
    assert main(["show", str(told)]) == 0
    out = capsys.readouterr().out
    assert f"test {metric.title}" in out and f"validation {metric.title}" in out
    plain = make(name="plain")
    for words in (["table"], ["show"]):  # together with a run without this metric
        assert main([*words, str(told), str(plain)]) == 0
        assert metric.title.split()[0] in capsys.readouterr().out
    assert main(["table", str(plain)]) == 0
    assert metric.title.split()[0] not in capsys.readouterr().out
    assert main(["report", str(told), "-o", str(tmp_path / "report.html")]) == 0
    assert f"test {metric.title}" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("kind", ["accuracy", "convergence"])
def test_figures(told, metric, make, kind):
    def titles(*paths):
        ((_, figure),) = drawing.drawn(drawing.KINDS[kind], [open_run(p) for p in paths])
        return " ".join(axis.get_title(where) for axis in figure.axes
                        for where in ("left", "center"))

    assert metric.title in titles(told)
    assert ("loss" in titles(told)) == (metric.name != "perplexity")
    both = titles(told, make(name="plain"))
    assert "loss" in both and metric.title not in both


def test_notebook_and_collect(told, metric, tmp_path):
    curve = notebook.curves(str(told), kind=metric.name)
    assert curve["mean"].iloc[-1] == pytest.approx(
        open_run(told).evaluations[f"mean_{metric.name}"][-1])
    assert main(["collect", str(told), "-o", str(tmp_path / "runs.csv")]) == 0
    (row,) = open_runs([str(tmp_path / "runs.csv")], rows=True)
    found = fields.COLUMNS[f"{metric.name}_mean_model"].value(row)
    assert found == pytest.approx(curve["mean"].iloc[-1])
    drawn = open_runs([str(tmp_path / "runs.csv")], rows=True)[0].evaluations
    assert f"mean_{metric.name}" in drawn
