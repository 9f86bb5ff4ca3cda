"""Mean ranks of the implementations: by each dispersion measure, beside the rank by accuracy."""

import textwrap

from .. import ranks as numbers
from .. import stats
from ..errors import AnalysisError
from ..run import Run
from ..schema import MEASURES
from . import style

TITLES = {"early": "first {:g} % of the iterations", "whole": "whole run"}
LETTERS = 24  # of a line of a name under its marks


def figure(runs: list[Run], window: float = 0.1):
    """A panel for each window. Implementations stand in the order of their rank by accuracy; bars:
    deviation over groups."""
    drawing, panels = style.panels(1, 2, 9.6, 4.6, sharey=True)
    panels = list(panels.flat)
    try:
        found = numbers.ranking(runs, window)
    except AnalysisError as error:
        for axis in panels:
            style.nothing(axis, str(error))
        return drawing
    mean, deviation = found.rank(found.performance)
    order = sorted(range(len(mean)), key=lambda i: mean[i])
    place = list(range(len(order)))
    for axis, when in zip(panels, numbers.WINDOWS):
        for i, measure in enumerate(MEASURES):
            values, spread = found.rank(found.dispersion[measure, when])
            axis.errorbar([x + 0.12 * (i - 1.5) for x in place], values[order], yerr=spread[order],
                          fmt=style.MARKERS[i], markersize=5,
                          color=style.OTHERS[i], elinewidth=0.8,
                          label=f"rank by {measure.replace('_', ' ')}")
        axis.errorbar(place, mean[order], yerr=deviation[order], fmt="_", color="#000000",
                      markersize=22, markeredgewidth=2, elinewidth=0.8,
                      label=f"rank by {found.kind}")
        value, count = found.agreement("gini", when, stats.spearman, True)
        said = f"\nSpearman {value:+.2f} (Gini, decentralized)" if count else ""
        axis.set_title(TITLES[when].format(100 * window) + said)
        axis.set_xticks(place, [folded(style.called(found.implementations[i])) for i in order],
                        rotation=30, ha="right")
    panels[0].set_ylabel(f"mean rank over {len(found.groups)} group" + "s"
                         * (len(found.groups) != 1))
    panels[0].invert_yaxis()
    style.legend(drawing, [panels[0]], len(runs))
    return drawing


def folded(name: str) -> str:
    """A long name in lines; its words stay whole."""
    return textwrap.fill(name, LETTERS, break_long_words=False)


def words(runs: list[Run], window: float = 0.1) -> str:
    from ..commands.ranks import as_text
    from ..layout import markdown

    try:
        return as_text(numbers.ranking(runs, window), markdown)
    except AnalysisError as error:
        return f"note: {error}"
