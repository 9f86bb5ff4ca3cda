"""Writes the table, the picture and the page of the predicted gaps."""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from ..basics.formatting import counted, number
from ..basics.markup import markdown
from ..basics.paths import replace_file
from ..figures.drawing import drawing_settings, save
from ..quantities import fields
from .gap import FEWEST, MODEL, PREDICTORS, Agreement, Setting, held_out
from .publish import written_table

WIDTH = 120  # of lines of the page


def between(values: tuple[float, float]) -> str:
    """Return an interval as text; a dash for NaN."""
    low, high = values
    return f"{low:+.2f} to {high:+.2f}" if math.isfinite(low) else "-"


def agreement_rows(made: list[Agreement]) -> tuple[list[str], list[list[str]]]:
    """Return the head and the rows of the table of predictors."""
    head = ["predictor", "over all settings", "interval", f"{MODEL} ahead by", "within cells",
            "interval", f"{MODEL} ahead by", "median error"]
    rows = []
    for a in made:
        own = a.predictor == MODEL
        rows.append([a.predictor, f"{a.over_all:+.2f}", between(a.over_all_interval),
                     "" if own else between(a.over_all_model_ahead), f"{a.within:+.2f}",
                     between(a.within_interval), "" if own else between(a.within_model_ahead),
                     number(a.error, 2)])
    return head, rows


def verdict(made: list[Agreement]) -> list[str]:
    """Return for each other predictor a sentence that says whether MODEL is shown to be better."""
    found = []
    for a in made:
        if a.predictor == MODEL:
            continue
        for where, ahead in (("over all settings", a.over_all_model_ahead),
                             ("within cells", a.within_model_ahead)):
            if not math.isfinite(ahead[0]):
                said = "cannot be compared with"
            elif ahead[0] > 0:
                said = "orders the gaps better than"
            elif ahead[1] < 0:
                said = "orders the gaps worse than"
            else:
                said = "is not shown to be better or worse than"
            found.append(f"{where[:1].upper()}{where[1:]}, {MODEL} {said} {a.predictor}.")
    return found


def lost_text(lost: Sequence[str]) -> str:
    """Return a sentence on the settings that are left out because runs are lost."""
    return (f"{counted(len(lost), 'setting')} left out, because a run of the graph or of "
            f"all-reduce is not complete or has no finite value: {', '.join(lost)}.")


def table(found: list[Setting]) -> pd.DataFrame:
    """Return a row for each setting, with the predictors and the predictions of held-out graphs."""
    frame = pd.DataFrame([asdict(s) for s in found])
    for name, predictor in PREDICTORS.items():
        frame[f"predictor {name}"] = [predictor(s) for s in found]
        frame[f"predicted from {name}"] = held_out(found, predictor)
    return frame


def picture(found: list[Setting], metric: str, target: Path):
    """Draw the measured gap over each predictor, a colour for each graph."""
    graphs = list(dict.fromkeys(s.graph for s in found))
    with drawing_settings():
        figure, axes = plt.subplots(1, len(PREDICTORS), figsize=(3.2 * len(PREDICTORS), 3.4),
                                    sharey=True, layout="constrained")
        for axis, (name, predictor) in zip(axes, PREDICTORS.items()):
            for k, graph in enumerate(graphs):
                own = [s for s in found if s.graph == graph]
                axis.plot([abs(predictor(s)) for s in own], [s.gap for s in own], "o",
                          color=f"C{k}", markersize=5, label=graph)
            axis.set_xlabel(name)
            axis.locator_params(axis="x", nbins=4)
            axis.axhline(0, color="#999999", linewidth=0.8)
        axes[0].set_ylabel(f"gap to all-reduce: {fields.find(metric).title}")
        axes[-1].legend(fontsize="small")
        save(figure, target, "png", 110)
        plt.close(figure)


def page(studies: list[str], metric: str, found: list[Setting], made: list[Agreement],
         lost: Sequence[str] = ()) -> str:
    """Return the page as Markdown."""
    head, rows = agreement_rows(made)
    return "\n".join([
        "# Results: how far does a graph fall behind all-reduce?", "",
        textwrap.fill(
            f"`dbench-analyze gap` made this page from {len(found)} settings (a graph in a cell, "
            f"means over its seeds) of the studies {', '.join(studies)}. `gaps.csv` has them all. "
            f"The gap is by how much {fields.find(metric).title} is worse than with all-reduce in "
            "the same cell." + f" {lost_text(lost)}" * bool(lost), WIDTH, break_on_hyphens=False),
        "", *(f"* {sentence}" for sentence in verdict(made)), "",
        markdown(head, rows), "",
        textwrap.fill(
            f"The correlations are Spearman's. Within cells, means over the cells of at least "
            f"{FEWEST} graphs count. Intervals (95 %) come from drawing cells with replacement. "
            f"`ahead by` is the interval of the correlation of {MODEL} minus that of the "
            "predictor. The median error is that of the gap of graphs that were not part of the "
            "fit of a line.", WIDTH), "",
        "![Gap over each predictor](gap.png)", ""])


def write(studies: list[str], metric: str, found: list[Setting], made: list[Agreement],
          target: Path, lost: Sequence[str] = ()) -> list[Path]:
    """Write gaps.csv, gap.png and results.md to a folder; return the files."""
    target.mkdir(parents=True, exist_ok=True)
    written = written_table(table(found), target / "gaps.csv")
    picture(found, metric, target / "gap.png")
    replace_file(target / "results.md", page(studies, metric, found, made, lost))
    return [*written, target / "gap.png", target / "results.md"]
