"""Tests of `dbench-analyze graph`: quantities of matrices, and pictures of the program's graphs."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from dbench_analysis.basics.errors import AnalysisError
from dbench_analysis.cli import main
from dbench_analysis.commands import graph as command
from dbench_analysis.figures import drawing
from dbench_analysis.figures.graph import picture, thinned
from dbench_analysis.figures.page_layout import Page
from dbench_analysis.graphs import graph, matrices
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

PROGRAM = Path(os.environ.get("DBENCH_PROGRAM", Path(__file__).parents[2] / "build" / "dbench"))
needs_program = pytest.mark.skipif(not PROGRAM.exists(), reason=f"no program at {PROGRAM}")


def ring(n):
    return (np.eye(n) + np.roll(np.eye(n), 1, axis=0) + np.roll(np.eye(n), -1, axis=0)) / 3


def hypercube_rounds(n):
    i = np.arange(n)
    return [(np.eye(n) + np.eye(n)[i ^ (1 << k)]) / 2 for k in range(n.bit_length() - 1)]


def test_complete_graph_agrees_after_one_step():
    assert list(matrices.disagreement([np.full((48, 48), 1 / 48)] * 3, 48)) == [1, 0, 0, 0]


def test_one_peer_hypercube_is_exact_after_log2_n_rounds():
    curve = matrices.disagreement(hypercube_rounds(16), 16)
    assert (curve[:4] > 0).all() and curve[4] == 0
    assert matrices.product(hypercube_rounds(16), 16) == pytest.approx(np.full((16, 16), 1 / 16))


def test_ring_decays_at_its_rate():
    curve = matrices.disagreement([ring(16)] * 200, 16)
    assert curve[-1] / curve[-2] == pytest.approx((1 + 2 * np.cos(2 * np.pi / 16)) / 3, rel=1e-6)


def test_push_sum_is_divided_by_its_weights():
    w = np.array([[0.5, 0.0, 1.0], [0.5, 0.5, 0.0], [0.0, 0.5, 0.0]])  # rows do not sum to 1
    assert matrices.disagreement([w] * 80, 3)[-1] < 1e-12


def test_one_replica_has_no_disagreement():
    assert list(matrices.disagreement([np.eye(1)] * 2, 1)) == [0, 0, 0]


def test_spectra_in_closed_form():
    closed = np.sort((1 + 2 * np.cos(2 * np.pi * np.arange(12) / 12)) / 3)
    found = matrices.eigenvalues(ring(12))
    assert np.isrealobj(found) and np.sort(found) == pytest.approx(closed) and found[
        0] == pytest.approx(1)
    one_way = (np.eye(9) + np.roll(np.eye(9), 1, axis=0)) / 2
    closed = (1 + np.exp(-2j * np.pi * np.arange(9) / 9)) / 2
    found = matrices.eigenvalues(one_way)
    assert np.sort_complex(found.round(12)) == pytest.approx(np.sort_complex(closed.round(12)))
    directed = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.3, 0.3, 0.4]])
    assert not matrices.circulant(directed) and matrices.circulant(one_way)
    assert abs(matrices.eigenvalues(directed)[0]) == pytest.approx(1)


def test_links_go_from_the_replica_that_is_used():
    one_way, both = matrices.links(np.array([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.0, 1.0]]))
    assert one_way.tolist() == [[2, 1]] and both.tolist() == [[0, 1]]


def test_large_matrices_keep_their_links_in_the_picture():
    w = np.zeros((600, 600))
    w[7, 450] = 0.25
    image = picture(Figure().subplots(), w, 0.0, 0.25)
    assert image.get_array().shape == (200, 200) and image.get_array()[2, 150] == 0.25
    one_way, both, left_out = thinned(np.zeros((5000, 2)), np.zeros((5000, 2)), 1000)
    assert 800 < len(one_way) + len(both) < 1200 and len(one_way) + len(both) + left_out == 10_000


def test_words_of_a_type_and_of_a_comparison():
    assert command.parse_graph(["--k", "8", "ring", "--lazy=0.5"]) == (
        "ring", {"k": "8", "lazy": "0.5"})
    assert command.entries("ring,torus:k=8:lazy=0.5") == [("ring", {}),
                                                  ("torus", {"k": "8", "lazy": "0.5"})]


@pytest.mark.parametrize("words, reason", [
    (["--n", "8"], "needs either a TYPE or --compare"),
    (["ring", "--n", "8", "--compare", "ring"], "needs either a TYPE or --compare"),
    (["ring", "torus", "--n", "8"], "not understood"),
    (["ring", "--n", "8", "--k"], "has no value"),
    (["ring", "--n", "8", "--round", "2"], "--rounds R"),
    (["ring", "--n", "0"], "out of range"),
    (["ring", "--n", "8", "-o", "ring.h5"], "does not end in .png, .pdf or .svg"),
    (["--n", "8", "--compare", "ring,:k=3"], "is no TYPE:KEY=VALUE"),
    (["--n", "8", "--k", "3", "--compare", "ring"], "does not say for which type"),
    (["ring", "--n", "8", "--program", "{tmp}/nowhere"], "no such program"),
])
def test_faults_end_with_status_2(tmp_path, capsys, words, reason):
    assert main(["graph", *(word.format(tmp=tmp_path) for word in words)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("dbench-analyze: ") and reason in error and error.count("\n") == 1


def test_no_program_anywhere(tmp_path, monkeypatch):
    monkeypatch.delenv("DBENCH_PROGRAM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(graph, "CHECKOUT", tmp_path / "dbench")
    with pytest.raises(AnalysisError, match="give --program or DBENCH_PROGRAM"):
        graph.program()
    shutil.copy("/bin/sh", tmp_path / "dbench")
    assert graph.program() == str(tmp_path / "dbench")


def test_a_refusal_is_passed_on(tmp_path, capsys):
    false = tmp_path / "dbench"
    false.write_text("#!/bin/sh\necho 'dbench: error: graph/type: unknown' >&2\nexit 2\n")
    false.chmod(0o755)
    assert main(["graph", "rnig", "--n", "8", "--program", str(false), "-o",
                 str(tmp_path / "a.png")]) == 2
    assert capsys.readouterr().err == ("dbench-analyze: rnig: graph/type: unknown (dbench graph "
                                       "refuses)\n")
    assert not (tmp_path / "a.png").exists()


@needs_program
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("words", [
    "ring --n 1", "ring --n 2", "star --n 9 --rounds 3", "ring_lattice --k 4 --n 80",
    "exponential --n 12",
    "one_peer_exponential --n 8", "one_peer_exponential --n 6 --order sampled --rounds 4",
])
def test_pictures(tmp_path, words):
    target = tmp_path / "below" / "graph.svg"
    assert main(["graph", *words.split(), "--program", str(PROGRAM), "-o", str(target)]) == 0
    assert target.read_bytes().startswith(b"<?xml")


@needs_program
def test_comparison(tmp_path, capsys):
    target = tmp_path / "compared.png"
    types = "ring,ring_lattice:k=4,one_peer_exponential"
    assert main(["graph", "--compare", types, "--n", "8", "--program", str(PROGRAM), "-o",
                 str(target)]) == 0
    out = capsys.readouterr().out
    assert "ring_lattice k=4" in out and "0.8047" in out and target.read_bytes().startswith(
        b"\x89PNG")


@needs_program
@pytest.mark.parametrize("words", ["torus --n 16", "one_peer_exponential --n 12",
                                   "--compare ring,torus --n 8"])
def test_a_page_has_its_width_text_and_names(tmp_path, monkeypatch, words):
    kept = []
    monkeypatch.setattr(command, "save", lambda figure, *_: kept.append(figure))
    name = words.split("--")[0].strip() or "torus"
    assert main(["graph", *words.split(), "--program", str(PROGRAM), "-o", str(tmp_path / "a.pdf"),
                 "--width", "84mm", "--label", f"{name}=our graph"]) == 0
    figure, = kept
    with drawing.drawing_settings(Page(84 / 25.4)):
        FigureCanvasAgg(figure).draw()
        seen = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
        width = figure.get_figwidth() * figure.dpi
        for text in (text for text in seen if len(text.get_text()) > 12):  # titles, legends
            box = text.get_window_extent()
            assert -1 <= box.x0 and box.x1 <= width + 1, text.get_text()
    assert figure.get_figwidth() == pytest.approx(84 / 25.4)
    assert {text.get_fontsize() for text in seen} == {8}
    assert any("our graph" in text.get_text() for text in seen)
    assert not any(name in text.get_text() for text in seen)


@needs_program
def test_a_name_that_no_graph_has_is_refused(tmp_path, capsys):
    assert main(["graph", "ring", "--n", "8", "--program", str(PROGRAM), "-o",
                 str(tmp_path / "a.png"), "--label", "rong=x"]) == 2
    assert "did you mean ring=x?" in capsys.readouterr().err


@needs_program
def test_matrices_of_the_program():
    found = graph.Graph(str(PROGRAM), "one_peer_exponential", 8)
    assert found.period == 3 and found.certificate["finite_time"] == 3
    assert list(matrices.disagreement(found.matrices(5), 8)[3:]) == [0, 0, 0]
    one = graph.Graph(str(PROGRAM), "ring", 12)
    assert one.matrix() == pytest.approx(ring(12)) and one.rate == pytest.approx((1 + 3**0.5) / 3)
