"""Tests of what users choose of a figure: one panel, its size, ends of axes, the start of curves,
the band over seeds."""

import dbench_analysis as da
import numpy as np
import pandas as pd
import pytest
from dbench_analysis.basics.errors import AnalysisError
from dbench_analysis.cli import main
from dbench_analysis.figures import bands, drawing, page_layout, page_values
from dbench_analysis.figures.kinds import KINDS
from dbench_analysis.figures.page_layout import Page
from matplotlib.backends.backend_agg import FigureCanvasAgg
from synthetic import Plan, write


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """Return a folder of three seeds each of two graphs."""
    folder = tmp_path_factory.mktemp("three")
    for graph in ("ring", "torus"):
        for seed in (1, 2, 3):
            write(folder / f"{graph}-{seed}.h5",
                  Plan(name=f"{graph}-{seed}", implementation=f"D_{graph}", graph=graph, seed=seed,
                       spec={"seed": seed}))
    return folder


def panels(figure):
    return [page_layout.title_of(axis) for axis in figure.axes if axis.get_subplotspec()]


@pytest.mark.parametrize("kind, words, title", [
    ("convergence", "accuracy", "accuracy of the mean model"),
    ("accuracy", "LOSS", "test loss"), ("consensus", "variance", "variance"),
    ("dispersion", "gini", "Gini"), ("variance-accuracy", "early", "early spread"),
    ("communication", "neighbours", "neighbours of a replica")])
@pytest.mark.parametrize("width", [None, 3.5])
def test_one_panel_fills_the_figure(three, kind, words, title, width):
    figure = da.plot(three, kind, panel=words, width=width)
    assert len(panels(figure)) == 1 and title in panels(figure)[0]
    assert figure.get_figwidth() == (width or page_layout.ALONE)
    with drawing.drawing_settings(Page(width, panel=words)):
        FigureCanvasAgg(figure).draw()
        box = figure.get_tightbbox()  # in inches, of everything that is drawn
        assert box.x0 > -0.02 and box.x1 < figure.get_figwidth() + 0.02
        assert box.y0 > -0.02 and box.y1 < figure.get_figheight() + 0.02
        axis, = (axis for axis in figure.axes if axis.get_subplotspec())
        assert axis.get_window_extent().width > 0.6 * figure.bbox.width
        assert axis.get_xlabel() and axis.get_window_extent().height > 0.3 * figure.bbox.height


def test_a_panel_that_is_not_there_is_refused_with_those_that_are(three):
    with pytest.raises(AnalysisError, match="the panels are: accuracy of .*; loss of"):
        da.plot(three, "convergence", panel="top5")
    with pytest.raises(AnalysisError, match="several panels"):
        da.plot(three, "convergence", panel="mean model")


def test_sizes_limits_and_names(three):
    figure = da.plot(three, "convergence", width="84mm", height=2.5, ylim=(0.2, None),
                     xlim=(None, 50), panel="accuracy", label={"D_ring": "our ring"})
    axis, = figure.axes
    assert figure.get_figwidth() == pytest.approx(84 / 25.4) and figure.get_figheight() == 2.5
    assert axis.get_ylim()[0] == 0.2 and axis.get_xlim()[1] == 50
    assert any("our ring (3 seeds)" in text.get_text() for text in figure.legends[0].get_texts())
    with pytest.raises(AnalysisError, match="did you mean D_ring=x"):
        da.plot(three, label={"D_rink": "x"})
    with pytest.raises(AnalysisError, match="logarithmic"):
        da.plot(three, "convergence", panel="loss", ylim=(0, 1))
    with pytest.raises(AnalysisError, match="height 0.5: out of range"):
        da.plot(three, height=0.5)


@pytest.mark.parametrize("kind", [name for name, kind in KINDS.items() if kind.curves])
def test_curves_begin_at_an_iteration(three, kind):
    def starts(figure):
        return [line.get_xdata()[0] for axis in figure.axes for line in axis.lines
                if len(line.get_xdata())]

    whole, part = (starts(da.plot(three, kind, from_iteration=n)) for n in (0, 30))
    assert part and min(part) > min(whole)
    assert da.plot(three, kind, from_iteration=10**6)  # the panels say that there is nothing


@pytest.mark.parametrize("band", page_layout.BANDS)
def test_a_band_is_what_the_legend_says(three, band):
    values = pd.DataFrame({"iteration": [0, 1, 2]})
    frames = [values.assign(mean=[1.0, 2.0, v]) for v in (1.0, 2.0, 6.0)]
    frames[2].loc[1, "mean"] = np.nan
    found = bands.over_seeds(frames, band)
    assert list(found["mean"]) == [1, 2, 3]
    low, high = found["mean_low"][2], found["mean_high"][2]
    std = np.std([1, 2, 6], ddof=1)
    half = {"minmax": None, "std": std, "none": 0, "ci": 4.302653 * std / np.sqrt(3)}[band]
    assert (low, high) == (pytest.approx((1, 6)) if half is None
                           else (pytest.approx(3 - half), pytest.approx(3 + half)))
    assert found["mean_low"][0] == found["mean_high"][0] == 1
    for kind in ("convergence", "consensus", "accuracy"):
        figure = da.plot(three, kind, band=band)
        texts = [text.get_text() for text in figure.legends[0].get_texts()]
        said = page_layout.BANDS[band]
        assert sum(said in text for text in texts) == 1 if said else not any(
            "seed)" in text or "over seeds" in text for text in texts)


def test_no_band_is_named_where_none_is_drawn(five):
    for kind in ("convergence", "consensus", "accuracy"):
        texts = [text.get_text() for text in da.plot(five, kind, band="std").legends[0].get_texts()]
        assert not any("over seeds" in text for text in texts)


def test_options_reach_the_command(three, tmp_path, capsys):
    plots = tmp_path / "plots"
    assert main(["plot", str(three), "--kind", "convergence", "--panel", "accuracy", "--height",
                 "3in", "--ylim", "10%:", "--xlim", "10:90", "--from-iteration", "20", "--band",
                 "ci", "--format", "svg", "-o", str(plots)]) == 0
    content = (plots / "convergence.svg").read_text()
    assert 'width="324pt" height="216pt"' in content
    for words, said in ((["--panel", "accuracy"], "add --kind"), (["--xlim", "0:9"], "add --kind"),
                        (["--kind", "timing", "--band", "std"], "--kind accuracy, consensus"),
                        (["--kind", "early", "--from-iteration", "9"], "no figure among these"),
                        (["--kind", "accuracy", "--x", "bytes"], "it is for --kind convergence)"),
                        (["--kind", "scale", "--kind", "accuracy", "--measure", "variance"],
                         "--measure variance: no figure among these takes it (it is for --kind "
                         "variance-accuracy, early)"),
                        (["--kind", "connections", "--window", "0.1"], "--kind early, ranks)"),
                        (["--kind", "training", "--ylim", "3:1"], "did you mean 1:3?"),
                        (["--kind", "training", "--ylim", "3"], "not LOW:HIGH")):
        assert main(["plot", str(three), "-o", str(plots), *words]) == 2
        assert said in capsys.readouterr().err


def test_an_option_that_one_of_the_figures_takes_is_accepted(three, tmp_path, capsys):
    for words in (["--x", "epochs"], ["--measure", "gini"], ["--window", "0.2"]):
        assert main(["plot", str(three), "-o", str(tmp_path / "plots"), "--kind", "convergence",
                     "--kind", "early", "--dpi", "20", *words]) == 0


def test_the_figure_of_communication_has_bands_and_a_start(three, tmp_path):
    assert main(["plot", str(three), "-o", str(tmp_path / "plots"), "--kind", "communication",
                 "--band", "std", "--from-iteration", "30", "--dpi", "20"]) == 0
    heights = []
    for band in ("minmax", "std"):
        figure = da.plot(three, "communication", band=band)
        assert any(page_layout.BANDS[band] in text.get_text()
                   for text in figure.legends[0].get_texts())
        shown, _ = figure.axes[1].collections
        heights.append(np.ptp(shown.get_paths()[0].vertices[:, 1]))
    assert heights[0] != heights[1]


def test_limits_are_read_as_users_write_them():
    assert page_values.limits("80%:95 %", "ylim") == (0.8, 0.95)
    assert page_values.limits(":2e3", "xlim") == (None, 2000)
    assert page_values.limits((1, None), "xlim") == (1, None)
