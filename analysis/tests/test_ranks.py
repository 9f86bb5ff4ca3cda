"""Tests of the ranks of implementations against numbers computed by hand."""

import csv
import io

import dbench_analysis as da
import numpy as np
import pytest
from dbench_analysis.cli import main
from dbench_analysis.figures import ranks
from dbench_analysis.statistics import significance
from dbench_analysis.statistics.ranking import ranking

NAMES = ("C_complete", "D_complete", "D_exponential", "D_torus", "D_ring")
SPREAD = {1: (0, 0.15, 0.3, 0.5, 1.0), 2: (0, 0.3, 0.3, 0.5, 0.1)}
FINAL = {1: (0.7, 0.7, 0.6, 0.65, 0.5), 2: (0.6, 0.5, 0.7, 0.4, 0.3)}


@pytest.fixture
def groups(make, tmp_path):
    """Return a folder with two seeds of five implementations."""
    for seed in SPREAD:
        for name, spread, final in zip(NAMES, SPREAD[seed], FINAL[seed]):
            graph = {"C_complete": None}.get(name, name.removeprefix("D_"))
            make(name=f"{name}-{seed}", implementation=name, graph=graph, replicas=6, per_epoch=4,
                 epochs=2, seed=seed, spread=spread, final=final,
                 spec={"seed": seed})
    return tmp_path


def opened(folder):
    return [da.open(path) for path in sorted(folder.glob("*.h5"))]


def test_ranks_and_agreement_are_those_worked_out_by_hand(groups):
    found = ranking(opened(groups))
    order = [found.implementations.index(name) for name in NAMES]
    one = [found.groups.index(f"cnn on shapes, n=6, seed {seed}") for seed in (1, 2)]
    for window in ("early", "whole"):
        assert found.dispersion["gini", window][np.ix_(one, order)].tolist() == [
            [1, 2, 3, 4, 5], [1, 3.5, 3.5, 5, 2]]
    assert found.performance[np.ix_(one, order)].tolist() == [[1.5, 1.5, 4, 3, 5], [2, 3, 1, 4, 5]]
    mean, deviation = found.rank(found.performance)
    assert mean[order].tolist() == [1.75, 2.25, 2.5, 3.5, 5]
    assert deviation[order] == pytest.approx([0.5 / 2**0.5, 1.5 / 2**0.5, 3 / 2**0.5, 1 / 2**0.5,
                                              0])
    assert found.agreement("gini", "whole", significance.spearman,
                           False) == (pytest.approx((8.5 + 1) / 2 / 95**0.5), 2)
    assert found.agreement("gini", "whole", significance.kendall,
                           False) == (pytest.approx((7 + 1) / 2 / 90**0.5), 2)
    # Without C_complete the ranks are (1, 2, 3, 4) and (1, 3, 2, 4) with seed 1, and
    # (2.5, 2.5, 4, 1) and (2, 1, 3, 4) with seed 2.
    assert found.agreement("gini", "early", significance.spearman,
                           True) == (pytest.approx((0.8 - 1.5 / (4.5 * 5) ** 0.5) / 2), 2)


def test_kendall():
    assert significance.kendall([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(4 / 6)
    assert significance.kendall([1, 2, 3], [3, 2, 1]) == -1
    # 2 pairs agree and 6 do not; x has 2 ties, y has 1
    assert significance.kendall([12, 2, 1, 12, 2], [1, 4, 7, 1, 0]) == pytest.approx(-4 / 72**0.5)
    assert np.isnan(significance.kendall([1, 2], [1, 2]))
    assert np.isnan(significance.kendall([1, 1, 1], [1, 2, 3]))


def test_command_and_figure(groups, tmp_path, capsys):
    assert main(["ranks", str(groups)]) == 0
    out = capsys.readouterr().out
    assert ("| C_complete | 1.00 ± 0.00 |" in out and "1.75 ± 0.35 |" in out
            and "| gini, whole | +0.49 (2 groups) | +0.42 (2 groups) |" in out)
    assert main(["ranks", str(groups), "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 2 * 5 * 9 and {r["rank"] for r in rows
                                       if r["window"] == "end"} == {"1", "1.5", "2", "3", "4", "5"}
    assert main(["ranks", str(groups), "--format", "latex", "-o", str(tmp_path / "ranks.tex")]) == 0
    assert (tmp_path / "ranks.tex").read_text().count(r"\begin{tabular}") == 2
    axis = ranks.figure(opened(groups)).axes[0]
    assert [t.get_text() for t in axis.get_xticklabels()] == list(
        NAMES) and axis.get_ylabel() == "mean rank over 2 groups"
    assert main(["plot", str(groups), "-o", str(tmp_path), "--kind", "ranks", "--dpi", "30"]) == 0
    assert "Spearman without C_complete" in capsys.readouterr().out


def test_nothing_to_rank(make, tmp_path, capsys):
    make(name="a"), make(name="b", replicas=4)
    assert main(["ranks", str(tmp_path)]) == 2
    assert "no two implementations have runs" in capsys.readouterr().err
    assert main(["plot", str(tmp_path), "-o", str(tmp_path), "--kind", "ranks", "--dpi", "30"]) == 0
    assert "note: ranks: no two implementations" in capsys.readouterr().out
    assert main(["ranks", str(tmp_path), "--window", "2"]) == 2


def test_graphs_of_one_implementation_are_told_apart_and_repeats_left_out(make):
    paths = [make(name=f"ada{k}", implementation=None, graph="ring", final=0.5 + k / 100,
                  per_epoch=2, epochs=1,
                  spec={"graph": {"type": "ada", "k0": k, "weights": "auto"}, "algorithm": "dsgd"})
             for k in (4, 8)]
    paths.append(make(name="again", implementation=None, graph="ring", per_epoch=2, epochs=1,
                      spec={"graph": {"type": "ada", "k0": 8}, "algorithm": "dsgd"}))
    found = ranking([da.open(path) for path in paths])
    assert found.implementations == ["ada, k0=4",
                                     "ada, k0=8"] and found.performance.tolist() == [[2, 1]]
    assert found.notes == ["1 runs left out because another run has the same setting and seed."]
