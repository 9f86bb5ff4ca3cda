"""Perplexity, of runs whose data are tokens: under its name wherever evaluations are told."""

import numpy as np
import pytest
from dbench_analysis import fields, figures, notebook
from dbench_analysis.cli import main
from dbench_analysis.run import open as open_run
from dbench_analysis.select import open_runs


@pytest.fixture
def text(make):
    return make(name="text", tokens=True, validation=True)


def test_table_show_and_report(text, make, tmp_path, capsys):
    run = open_run(text)
    end = np.exp(float(run.evaluations["mean_loss"][-1]))
    assert fields.COLUMNS["perplexity_mean_model"].value(run) == pytest.approx(end)
    assert fields.COLUMNS["perplexity_best"].value(run) == pytest.approx(end)
    assert fields.COLUMNS["perplexity_best"].better == "low"
    worst = np.exp(run.evaluations["local_loss"][-1].max())
    assert fields.COLUMNS["perplexity_max"].value(run) == pytest.approx(worst)

    assert main(["show", str(text)]) == 0
    out = capsys.readouterr().out
    assert "test perplexity" in out and "validation perplexity" in out
    plain = make(name="plain")
    for words in (["table"], ["show"]):  # beside a run that has none
        assert main([*words, str(text), str(plain)]) == 0
        assert "perplexity" in capsys.readouterr().out
    assert main(["table", str(plain)]) == 0
    assert "perplexity" not in capsys.readouterr().out
    assert main(["report", str(text), "-o", str(tmp_path / "report.html")]) == 0
    assert "test perplexity" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("kind", ["accuracy", "convergence"])
def test_figures(text, make, kind):
    def titles(*paths):
        ((_, figure),) = figures.drawn(figures.KINDS[kind], [open_run(p) for p in paths])
        return " ".join(axis.get_title(where) for axis in figure.axes
                        for where in ("left", "center"))

    assert "perplexity" in titles(text) and "loss" not in titles(text)
    assert "loss" in titles(text, make(name="plain"))


def test_notebook_and_collect(text, tmp_path):
    curve = notebook.curves(str(text), kind="perplexity")
    assert curve["mean"].iloc[-1] == pytest.approx(
        np.exp(notebook.curves(str(text), kind="loss")["mean"].iloc[-1]))
    assert main(["collect", str(text), "-o", str(tmp_path / "runs.csv")]) == 0
    (row,) = open_runs([str(tmp_path / "runs.csv")], rows=True)
    found = fields.COLUMNS["perplexity_mean_model"].value(row)
    assert found == pytest.approx(curve["mean"].iloc[-1])
