"""Mean ranks of the implementations by each dispersion measure, next to the rank by accuracy."""

import textwrap

from ..basics.errors import AnalysisError
from ..reading.run import Run
from ..reading.schema import MEASURES
from ..statistics import ranking, significance
from . import style

TITLES = {"early": "first {:g} % of the iterations", "whole": "whole run"}
LETTERS = 24  # characters in a line of a name below its marks


def figure(runs: list[Run], window: float = 0.1):
    """Draw a panel for each window. Implementations are ordered by their rank by accuracy; bars are
    the deviation over groups."""
    drawing, panels = style.panels(1, 2, 9.6, 4.6, sharey=True)
    panels = list(panels.flat)
    try:
        found = ranking.ranking(runs, window)
    except AnalysisError as error:
        for axis in panels:
            style.empty_panel(axis, str(error))
        return drawing
    mean, deviation = found.rank(found.performance)
    order = sorted(range(len(mean)), key=lambda i: mean[i])
    place = list(range(len(order)))
    for axis, when in zip(panels, ranking.WINDOWS):
        for i, measure in enumerate(MEASURES):
            values, spread = found.rank(found.dispersion[measure, when])
            axis.errorbar([x + 0.12 * (i - 1.5) for x in place], values[order], yerr=spread[order],
                          fmt=style.MARKERS[i], markersize=5,
                          color=style.OTHERS[i], elinewidth=0.8,
                          label=f"rank by {measure.replace('_', ' ')}")
        axis.errorbar(place, mean[order], yerr=deviation[order], fmt="_", color="#000000",
                      markersize=22, markeredgewidth=2, elinewidth=0.8,
                      label=f"rank by {found.kind}")
        value, count = found.agreement("gini", when, significance.spearman, True)
        agreement_text = f"\nSpearman {value:+.2f} (Gini, decentralized)" if count else ""
        axis.set_title(TITLES[when].format(100 * window) + agreement_text)
        axis.set_xticks(place, [folded(style.renamed(found.implementations[i])) for i in order],
                        rotation=30, ha="right")
    panels[0].set_ylabel(f"mean rank over {len(found.groups)} group" + "s"
                         * (len(found.groups) != 1))
    panels[0].invert_yaxis()
    style.legend(drawing, [panels[0]], len(runs))
    return drawing


def folded(name: str) -> str:
    """Return a long name in lines without breaking its words."""
    return textwrap.fill(name, LETTERS, break_long_words=False)
