"""Tests that no text of a figure is cut or overlaps other text, on pages of 3.5 and 7 inches."""

import dbench_analysis as da
import pytest
from boxes import faults
from dbench_analysis.figures import drawing
from dbench_analysis.figures.page_layout import Page


@pytest.fixture(scope="module")
def opened(five):
    return [da.open(path) for path in sorted(five.glob("*.h5"))]


@pytest.mark.parametrize("width", [3.5, 7.0])
@pytest.mark.parametrize("name", drawing.KINDS)
def test_no_text_is_cut_or_overlaps(opened, name, width):
    page, kind = Page(width), drawing.KINDS[name]
    # Figures of one setting each differ in the label only; the longest needs most space.
    runs = [max(opened, key=lambda run: len(run.name))] if kind.per_setting else opened
    for _, figure in drawing.drawn(kind, runs, page=page):
        assert faults(figure, page) == []


def test_faults_are_found(opened):
    page = Page(3.5)
    (_, figure), = drawing.drawn(drawing.KINDS["timing"], opened, page=page)
    figure.text(0.99, 0.5, "a long text at the edge")
    figure.axes[0].text(0.5, 0.5, "one", transform=figure.axes[0].transAxes)
    figure.axes[0].text(0.5, 0.5, "other", transform=figure.axes[0].transAxes)
    found = faults(figure, page)
    assert "cut: 'a long text at the edge'" in found and "overlap: 'one' and 'other'" in found
