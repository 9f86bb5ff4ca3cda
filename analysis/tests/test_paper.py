"""Tests of figures and tables in the form that journals accept."""

import dbench_analysis as da
import pytest
from dbench_analysis.basics.errors import AnalysisError
from dbench_analysis.basics.markup import latex_text
from dbench_analysis.cli import main
from dbench_analysis.figures import drawing, page_layout, page_values
from dbench_analysis.figures.page_layout import Page
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text


def opened(folder):
    return [da.open(path) for path in sorted(folder.glob("*.h5"))]


def test_fonts_are_embedded_as_truetype(five, tmp_path):
    assert main(["plot", str(five), "-o", str(tmp_path), "--kind", "connections", "--format", "pdf",
                 "--width", "84mm"]) == 0
    content = (tmp_path / "connections.pdf").read_bytes()
    assert b"/Subtype /Type3" not in content and b"/FontFile2" in content
    box = content.split(b"/MediaBox [")[1].split(b"]")[0].split()
    assert float(box[2]) == pytest.approx(84 / 25.4 * 72, abs=0.5)


@pytest.mark.parametrize("name", [kind for kind in drawing.KINDS if kind != "tensors"])
def test_text_keeps_its_size_and_stays_on_the_page(five, name):
    page = Page(3.3, {"D_ring": "our ring"})
    (_, figure), = drawing.drawn(drawing.KINDS[name], opened(five), page=page)
    with drawing.drawing_settings(page):
        FigureCanvasAgg(figure).draw()  # the canvas of Figure itself computes no layout
        seen = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
        assert {text.get_fontsize() for text in seen} == {8}
        width = figure.get_figwidth() * figure.dpi
        assert figure.get_figwidth() == 3.3
        for legend in figure.legends:
            box = legend.get_window_extent()
            assert box.x0 >= -1 and box.x1 <= width + 1
    words = {text.get_text() for text in seen}
    assert not any("D_ring" in text for text in words)
    assert any("our ring" in text.replace("\n", " ") for text in words)


def test_logarithmic_axes_say_so(five):
    for name in ("consensus", "convergence", "early", "connections", "accuracy"):
        (_, figure), = drawing.drawn(drawing.KINDS[name], opened(five))
        told = [(getattr(axis, f"get_{which}scale")(), getattr(axis, f"get_{which}label")())
                for axis in figure.axes for which in "xy"]
        assert any(scale != "linear" for scale, _ in told)
        for scale, label in told:
            assert ("log scale" in label) == (scale != "linear") or not label


def test_names_that_nothing_has_are_refused(five, tmp_path, capsys):
    for label, reason in (("D_rong=x", "did you mean D_ring=x?"), ("D_ring", "names no entry")):
        assert main(["plot", str(five), "-o", str(tmp_path), "--label", label]) == 2
        assert reason in capsys.readouterr().err
    for width in ("3.3ft", "0.1in"):
        with pytest.raises(SystemExit):
            main(["plot", str(five), "-o", str(tmp_path), "--width", width])


def test_names_and_texts_may_contain_equals_signs():
    entries = ["D_ring", "D_ring, lr=0.1", "base_k, k=3", "0.1"]
    assert page_values.labels_by_name(["D_ring=ring, k=2", "D_ring, lr=0.1=lr = 0.1",
                                       "base_k, k=3=x=y=z", "0.1="], entries) == {
        "D_ring": "ring, k=2", "D_ring, lr=0.1": "lr = 0.1", "base_k, k=3": "x=y=z", "0.1": ""}
    for label, meant in (("D_rong=a=b", "D_ring=a=b"), ("base_k, k=4=a", "base_k, k=3=a"),
                         ("=x", "write NAME=TEXT"), ("D_ring", "did you mean D_ring=?")):
        with pytest.raises(AnalysisError) as told:
            page_values.labels_by_name([label], entries)
        assert meant in str(told.value)


def test_a_page_ends_with_the_figure():
    with drawing.drawing_settings(Page(3.3)):
        assert page_layout.figure_width(9.0) == 3.3
    assert page_layout.figure_width(9.0) == 9.0


def test_powers_of_ten_in_latex():
    assert latex_text("(9.4 ± 1.6)e-08 (n=3)") == r"$9.4(1.6)\times10^{-8}$ (n=3)"
    assert latex_text("2.31e+06") == r"$2.31\times10^{6}$"
    assert latex_text("a_1e5 ± 3") == r"a\_1e5 $\pm$ 3"
