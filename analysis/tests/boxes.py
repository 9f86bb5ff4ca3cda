"""Finds text of a figure that is cut at the edges or overlaps other text, by Matplotlib's boxes."""

import warnings

import numpy as np
from dbench_analysis.figures import drawing
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

NEAR = 1.0  # pixels by which boxes may touch


def drawn_texts(figure, page):
    """Return all text that a drawing of the figure shows, and its boxes in pixels: an array with
    rows x0, y0, x1, y1."""
    found = []
    canvas, draw = FigureCanvasAgg(figure), Text.draw

    def recorded(self, renderer, *others, **named):
        if self.get_visible() and self.get_text().strip():
            found.append((self, self.get_window_extent(renderer).extents))
        return draw(self, renderer, *others, **named)

    with drawing.drawing_settings(page), warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # the layout must find a solution
        Text.draw = recorded  # a drawing computes the layout before it draws any text
        try:
            canvas.draw()
        finally:
            Text.draw = draw
    return [text for text, _ in found], np.array([box for _, box in found]).reshape(-1, 4)


def faults(figure, page) -> list[str]:
    """Return a line for each text that is cut, and for each pair of texts that overlap."""
    texts, boxes = drawn_texts(figure, page)
    size = figure.get_size_inches() * figure.dpi
    cut = (boxes[:, :2] < -NEAR).any(axis=1) | (boxes[:, 2:] > size + NEAR).any(axis=1)
    found = [f"cut: {texts[k].get_text()!r}" for k in np.flatnonzero(cut)]
    # By how much each pair of boxes overlaps, across and up.
    shared = (np.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
              - np.maximum(boxes[:, None, :2], boxes[None, :, :2]))
    for k, other in np.argwhere(np.triu((shared > NEAR).all(axis=2), 1)):
        a, b = texts[k], texts[other]
        if not (a.get_rotation() % 90 and a.get_rotation() == b.get_rotation()):
            found.append(f"overlap: {a.get_text()!r} and {b.get_text()!r}")
    return found
