"""Writes the tables, figures and pages of studies, and one page to browse all their runs."""

import importlib.util
import json
import os
import re
from collections.abc import Callable, Sequence
from html import unescape
from pathlib import Path

import pandas as pd

from ..basics.errors import AnalysisError
from ..basics.formatting import counted
from ..basics.paths import replace_file
from ..figures.drawing import drawn, save, stem
from ..figures.kinds import KINDS
from ..pages.report import document, figures_of
from ..reading.run import Run
from ..selection.collection import with_one_type
from . import page, tables
from .family import Terms, statements
from .runs import Study, cell_labels, of_one_name, spec_hash, spec_of

FIGURES = ("scale", "variance-accuracy", "early", "connections", "convergence")
OVER_CELLS = ("scale",)
INDEX = "index.html"
RESULTS = "results.md"
# The tables of a study, each with the columns with which its first line begins.
TABLES = {"runs": "study,role,cell,", "methods": "study,cell,method,seeds,",
          "statements": "study,cell,method,reference,", "correlations": "study,cell,measure,"}
STUDIES = "studies"  # the name of the value by which a page says whose runs it has


def written_table(frame: pd.DataFrame, target: Path) -> list[Path]:
    """Write a table as CSV, and as Parquet if pyarrow is installed; return the files."""
    if frame.empty:
        return []
    frame.to_csv(target, index=False)
    if importlib.util.find_spec("pyarrow") is None:
        return [target]
    parquet = target.with_suffix(".parquet")
    with_one_type(frame).to_parquet(parquet, index=False)
    return [target, parquet]


def earlier_files(place: Path) -> set[Path]:
    """Return the tables and figures of an earlier publication in the folder of a study. All other
    files there may be the user's: only tables with the columns of `TABLES` count, and figures that
    results.md shows under the names that `pictures` gives."""
    results = place / RESULTS
    text = results.read_text(encoding="utf-8", errors="replace") if results.is_file() else ""
    if page.MADE not in text:
        return set()
    shown = re.findall(r"^!\[.*\]\(([^/()\n]+\.png)\)$", text, re.MULTILINE)
    found = {place / name for name in shown
             if any(name == f"{kind}.png" or name.startswith(f"{kind}-") for kind in FIGURES)}
    for name, head in TABLES.items():
        table = place / f"{name}.csv"
        if table.is_file() and table.read_bytes().startswith(head.encode()):
            found |= {table, table.with_suffix(".parquet")}
    return {path for path in found if path.is_file()}


def written_specs(runs: list[Run], folder: Path) -> list[Path]:
    """Write the spec of each setting once, without the seed; return the file of each run."""
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for run in runs:
        target = folder / f"{spec_hash(run)}.json"
        kept = {key: value for key, value in spec_of(run).items() if key != "seed"}
        target.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
        found.append(target)
    return found


def pictures(study: Study, folder: Path) -> list[tuple[str, str, str]]:
    """Draw the figures that say something about the runs, one for each cell, or one of all cells if
    it compares them; return (title, file, how to read it)."""
    cells: dict[str, list[Run]] = {}
    for run, cell in zip(study.finals, cell_labels(study.runs)):
        cells.setdefault(cell, []).append(run)
    found = []
    for kind in map(KINDS.__getitem__, FIGURES):
        over_bytes = "x" in kind.options  # all-reduce is one of the curves over bytes
        title = kind.title + " over bytes sent" * over_bytes
        groups = {"": study.finals} if kind.name in OVER_CELLS or len(cells) == 1 else cells
        for cell, runs in groups.items():
            if not kind.relevant(runs):
                continue
            for name, figure in drawn(kind, runs, x="bytes") if over_bytes else drawn(kind, runs):
                target = folder / f"{name}{'-' * bool(cell)}{stem(cell)}.png"
                save(figure, target, "png", 110)
                found.append((f"{title}{', ' * bool(cell)}{cell}", target.name, kind.reading))
    return found


def studies_on(page_of_runs: Path) -> set[str]:
    """Return the names of the studies whose runs a published page has."""
    if not page_of_runs.exists():
        return set()
    found = re.search(f'<meta name="{STUDIES}" content="([^"]*)">',
                      page_of_runs.read_text(encoding="utf-8"))
    return set(json.loads(unescape(found[1]))) if found else set()


def written_page(finals: list[Run], specs: list[Path], names: list[str], title: str,
                 folder: Path, figures: list[tuple[str, str, str]] | None) -> Path:
    """Write the page to browse runs, whose rows link to `specs`; return the file. `figures`: those
    of the runs, or None to draw them."""
    links = [os.path.relpath(path, folder) for path in specs]
    replace_file(folder / INDEX, document(finals, title, folder, links=links, figures=figures,
                                     metadata={STUDIES: json.dumps(names)}))
    return folder / INDEX


def publish(studies: Sequence[Study], target: Path,
            terms_of: Callable[[Study], Terms]) -> tuple[list[Path], set[str], list[Path]]:
    """Publish each study in the folder of its name in `target`, with a page of its final runs, and
    the page with the final runs of all given studies. Raises AnalysisError if two studies have one
    name.

    Return the files, the studies of the page of all that were not given, and the files that were
    removed, because an earlier publication of these studies wrote them and this one did not. If
    there are studies that were not given, the page of all is left as it is, because it would lose
    their runs."""
    alike = of_one_name(studies)
    if alike:
        raise AnalysisError(
            ", ".join(str(one.folder) for one in alike), "these folders have one name, and a study "
            "is published under the name of its folder", "rename one, or give each a -o of its own")
    found: list[Path] = []
    finals: list[Run] = []
    specs: list[Path] = []
    names: list[str] = []
    removed: list[Path] = []
    for one in studies:
        place = target / one.name
        place.mkdir(parents=True, exist_ok=True)
        before = earlier_files(place)
        terms = terms_of(one)
        made = statements(one, terms)
        methods, correlations = tables.of_methods(one), tables.of_correlations(one)
        for name, frame in (("runs", tables.of_runs(one)), ("methods", methods),
                            ("statements", tables.of_statements(one, made)),
                            ("correlations", correlations)):
            found += written_table(frame, place / f"{name}.csv")
        own_specs = written_specs(one.finals, target / "specs")
        drawings = pictures(one, place)
        found += [place / file for _, file, _ in drawings]
        replace_file(place / RESULTS,
                     page.page(one, terms, methods, made, correlations, drawings))
        figures = figures_of(one.finals, pictured=False)
        found += [place / RESULTS,
                  written_page(one.finals, own_specs, [one.name],
                               f"{counted(len(one.finals), 'run')} of the study {one.name}",
                               place, figures)]
        stale = sorted(before - set(found))
        for path in stale:
            path.unlink()
        removed += stale
        finals += one.finals
        specs += own_specs
        names.append(one.name)
    lost = studies_on(target / INDEX) - set(names)
    if not lost:
        found.append(written_page(finals, specs, names,
                                  f"{counted(len(finals), 'run')} of this project's studies",
                                  target, figures if len(names) == 1 else None))
    return found, lost, removed
