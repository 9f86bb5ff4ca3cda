"""The functions for notebooks: what the commands of `dbench-analyze` print and write, as objects.

Runs are named by files, folders, glob patterns, Paths, open runs, tables of `collect`, or lists of
these, in any of them; `where` chooses among them: "replicas=16", or a list of such conditions, as
`--where` does.
"""

from __future__ import annotations

import difflib
import inspect
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from . import chosen, fields, page, series
from .chosen import Runs, What
from .errors import AnalysisError
from .metrics import METRICS
from .outcome import Outcome, outcome, understood_margin
from .run import Run
from .schema import MEASURES
from .textual import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CURVES = (*METRICS, "train_accuracy", "train_loss", "variance", *MEASURES)


def runs(*what: What, where: str | Sequence[str] = ()) -> Runs:
    """Opens runs: a sequence, also by name (`runs("results/")["D_ring"]`)."""
    return chosen.opened(what, where)


def collect(*what: What, columns: str | Sequence[str] | None = None,
            add: str | Sequence[str] | None = None,
            where: str | Sequence[str] = ()) -> pd.DataFrame:
    """One row per run, by its name ("run"; by its file where names repeat): spec, status,
    accuracies (fractions), losses, spread, bytes, times (seconds).

    columns   these columns only: keys of `dbench-analyze table`, or JSON pointers into the spec
    add       columns beside the usual ones, such as "/optimizer/momentum"

    Filter the table and give it to the other functions: `plot(table[table.replicas == 16])`.
    """
    wanted = chosen.keys(columns, fields.COLLECTED, "columns")
    wanted += [key for key in chosen.keys(add, (), "add") if key not in wanted]
    frame = chosen.collection(what, [*wanted, "name", "file"], where).frame
    labels = chosen.distinct(list(zip(frame["name"], frame["file"])))
    return frame[wanted].set_index(pd.Index(labels, name="run"))


def curves(*what: What, kind: str = "accuracy",
           where: str | Sequence[str] = ()) -> pd.DataFrame:
    """A curve of each run, one below the other: rows by run and iteration.

    accuracy, loss, ...           epoch; min, median, max over the evaluated replicas; mean: of the
                                  averaged parameters. Iterations completed. Accuracies are
                                  fractions; perplexity and top5 where the run has them
    train_accuracy, train_loss    epoch; min, median, max over the replicas' minibatches
    variance                      epoch, variance (mean over parameters), consensus (distance);
                                  variance_after, consensus_after where they were recorded
    gini and the other measures   epoch; low, median, high: quartiles over the weight tensors

    Joins with a table of `collect`: `curves("results/").join(table[["implementation", "seed"]])`.
    """
    if kind not in CURVES:
        raise unknown("curve", kind, CURVES)
    opened = chosen.opened(what, where)
    return pd.concat([curve(run, kind) for run in opened], keys=opened.labels,
                     names=["run", "iteration"])


def curve(run: Run, kind: str) -> pd.DataFrame:
    """One run's curve, by iteration."""
    if kind in MEASURES:
        return series.dispersion(run, kind).set_index("iteration")
    if kind == "variance":
        return series.variance(run).set_index("iteration")
    if not kind.startswith("train_"):
        return series.evaluations(run, kind).set_index("iteration")
    return series.training(run, kind.removeprefix("train_")).set_index("iteration")


def compare(a: What, b: What, metric: str = "accuracy_mean_model", *,
            pair: str | Sequence[str] = "seed", margin: float | str | None = None,
            alpha: float = 0.05, seed: int = 0, unfinished: bool = False,
            where: str | Sequence[str] = ()) -> Outcome:
    """Whether two selections of runs differ in `metric`, over the seeds that both have.

    pair         the fields that the runs of a pair have in common
    margin       the difference that counts as none: 0.005, or "0.5%" for half a point
    alpha, seed  level of the tests; of the random numbers
    unfinished   takes in runs that are not complete

    What comes back prints as `dbench-analyze compare` does: pairs, interval, p, verdict.
    """
    (field,) = fields.chosen(metric, place="metric") if "," not in metric else [None]
    if field is None:
        raise AnalysisError(f"metric {metric}", "one metric at a time",
                            "several tests on the same runs need a correction")
    if not 0 < alpha < 0.5:
        raise AnalysisError(f"alpha {alpha}", "out of range", "give 0 to 0.5, such as 0.05")
    of_pair = chosen.keys(pair, (), "pair")
    keys = [field.key, *of_pair, "status", "file", *["time_note"] * field.timed]
    sides = [chosen.collection(side, keys, where) for side in (a, b)]
    if not unfinished:
        sides = [chosen.complete(side, name) for side, name in zip(sides, "AB")]
    limit = None if margin is None else understood_margin(str(margin), field)
    return outcome(sides[0], sides[1], field, of_pair, limit, alpha, seed)


def plot(what: What, kind: str = "variance-accuracy", *, each: bool = False,
         where: str | Sequence[str] = (), **how: Any) -> Figure | list[Figure]:
    """A figure of `dbench-analyze plot`, to look at, to change, or to save (`savefig`).

    each   single runs; else runs that differ in nothing but the seed are drawn as one
    how    what the kind takes: measure, window, x

    Several runs give one figure, but a list with one for each setting where the kind draws each by
    itself ("tensors").
    """
    from . import figures

    if kind not in figures.KINDS:
        raise unknown("figure", kind, figures.KINDS)
    drawn_kind = figures.KINDS[kind]
    takes = {name for name, option in inspect.signature(drawn_kind.draw).parameters.items()
             if option.default is not option.empty} - {"each"}
    for name in how.keys() - takes:
        raise AnalysisError(f"plot, {name}", f"the figure {kind} has no such option",
                            f"it takes {', '.join(sorted(takes)) or 'none'}")
    opened = list(chosen.opened(what, where))
    drawn = [figure for _, figure in figures.drawn(drawn_kind, opened, each, **how)]
    for figure in drawn:  # shown by notebooks also where pyplot was never imported
        figure._repr_png_ = lambda figure=figure: picture(figure)
    return drawn if drawn_kind.each and len(drawn) > 1 else drawn[0]


def picture(figure: Figure) -> bytes:
    """A figure as PNG."""
    from . import figures

    stream = io.BytesIO()
    figures.save(figure, stream, "png", 100)
    return stream.getvalue()


class Report:
    """A page as HTML: shown by notebooks in a frame, written by `save`."""

    def __init__(self, html: str, count: int):
        self.html, self.count = html, count

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the page, which needs nothing else."""
        target = Path(path).expanduser()
        if target.suffix.lower() not in (".html", ".htm"):
            raise AnalysisError(target, "the page's name does not end in .html",
                                "such as report.html")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(self.html, encoding="utf-8")
        return target

    def __repr__(self) -> str:
        return (f"<Report of {counted(self.count, 'run')}, {len(self.html) / 1e6:.2g} MB: "
                "save(\"report.html\") writes it>")

    def _repr_html_(self) -> str:
        return (f'<iframe srcdoc="{page.text(self.html)}" style="width:100%;height:40em;'
                'border:1px solid #ccc"></iframe>')


def report(*what: What, title: str | None = None,
           where: str | Sequence[str] = ()) -> Report:
    """The page of `dbench-analyze report`: everything about one run, or several side by side."""
    from .commands.report import document

    opened = chosen.opened(what, where)
    return Report(document(list(opened), title), len(opened))


def unknown(what: str, name: str, there: Any) -> AnalysisError:
    """The fault of a name that is not there, with the nearest one."""
    near = difflib.get_close_matches(name, list(there), 1)
    hint = f"did you mean {near[0]}? " if near else ""
    return AnalysisError(name, f"no such {what}", f"{hint}there are {', '.join(there)}")
