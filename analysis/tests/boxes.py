"""Finds text of a figure that is cut at the edges or overlaps other text, by Matplotlib's boxes."""

import itertools
import warnings

from dbench_analysis.figures import drawing
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

NEAR = 1.0  # pixels by which boxes may touch


def drawn_texts(figure, page):
    """Return (text, box) of all text that a drawing of the figure shows, in pixels."""
    found = []
    canvas, draw = FigureCanvasAgg(figure), Text.draw

    def recorded(self, renderer, *others, **named):
        if self.get_visible() and self.get_text().strip():
            found.append((self, self.get_window_extent(renderer)))
        return draw(self, renderer, *others, **named)

    with drawing.drawing_settings(page), warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # the layout must find a solution
        canvas.draw()
        Text.draw = recorded
        try:
            canvas.draw()
        finally:
            Text.draw = draw
    return found


def faults(figure, page) -> list[str]:
    """Return a line for each text that is cut, and for each pair of texts that overlap."""
    texts = drawn_texts(figure, page)
    width, height = figure.get_size_inches() * figure.dpi
    found = [f"cut: {text.get_text()!r}" for text, box in texts
             if box.x0 < -NEAR or box.y0 < -NEAR or box.x1 > width + NEAR or box.y1 > height + NEAR]
    for (a, one), (b, other) in itertools.combinations(texts, 2):
        slanted = a.get_rotation() % 90 and a.get_rotation() == b.get_rotation()
        across = min(one.x1, other.x1) - max(one.x0, other.x0)
        up = min(one.y1, other.y1) - max(one.y0, other.y0)
        if across > NEAR and up > NEAR and not slanted:
            found.append(f"overlap: {a.get_text()!r} and {b.get_text()!r}")
    return found
