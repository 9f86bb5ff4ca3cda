"""The outcome of a reproduction: the verdict of each cell, as data, as tables and as a page."""

import csv
import io
import json
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from ..basics import markup
from ..basics.formatting import counted
from . import metrics, verdicts
from .definition import Cell, Reproduction
from .running import MISSING, Done, Place, Planned, is_seed
from .verdicts import NOT_REPRODUCED, NOT_RUN, ORDER_RULE, RULE, SHOWN_RULE, Verdict

HEAD = ["cell", "published", "ours", "verdict", "because"]


@dataclass
class Outcome:
    """The verdicts on all cells, in their order.

    machine   the programs and processors of the runs, in words
    seconds   of training of all runs that were judged
    """

    what: Reproduction
    cells: list[tuple[Cell, Verdict]]
    machine: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def failed(self) -> bool:
        """Return whether a cell is not reproduced."""
        return any(verdict.verdict == NOT_REPRODUCED for _, verdict in self.cells)

    def counts(self) -> str:
        """Return how many cells have each verdict, in words."""
        found = Counter(verdict.verdict for _, verdict in self.cells)
        return ", ".join(f"{count} of {len(self.cells)} {name}" for name, count in found.items())

    def as_json(self) -> str:
        """Return the names, numbers and verdicts, and what the source leaves open."""
        cells = [{"cell": cell.name, "published": cell.published, "ours": verdict.ours,
                  "verdict": verdict.verdict, "why": verdict.why,
                  "tolerance": cell.tolerance,
                  "runs": {"-" if seed is None else str(seed): value
                           for seed, value in verdict.runs.items()}}
                 for cell, verdict in self.cells]
        return json.dumps({"name": self.what.name, "cells": cells,
                           "assumptions": self.what.given["assumptions"]}, indent=2)

    def rows(self) -> list[list[str]]:
        """Return the table below HEAD."""
        text = self.what.text
        return [[cell.name, text(cell.published), text(verdict.ours), verdict.verdict, verdict.why]
                for cell, verdict in self.cells]

    def as_csv(self) -> str:
        """Return one row for each cell, with numbers as they are."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["cell", "published", "ours", "half_width_90", "tolerance", "runs",
                         "verdict", "why"])
        for cell, verdict in self.cells:
            writer.writerow([cell.name, cell.published, verdict.ours, verdict.half, cell.tolerance,
                             len(verdict.runs), verdict.verdict, verdict.why])
        return out.getvalue()

    def as_latex(self) -> str:
        """Return the table as a tabular."""
        source = self.what.given["source"]
        return markup.latex(HEAD[:-1], [row[:-1] for row in self.rows()],
                            notes=[self.what.given["title"], source["paper"]])

    def as_markdown(self, figure: str = "") -> str:
        """Return the page; `figure`: the name of its figure's file."""
        given, source = self.what.given, self.what.given["source"]
        reasons: dict[str, list[str]] = {}
        for cell in (cell for cell, _ in self.cells if not cell.beside):
            reasons.setdefault(f"± {cell.tolerance:g} {given['unit']}: {cell.reason}",
                               []).append(cell.name)
        differs = list(dict.fromkeys(each for cell, _ in self.cells for each in cell.differs))
        by_seed = [[cell.name, listed(cell.by_seed, self.what), listed(verdict.runs, self.what)]
                   for cell, verdict in self.cells if cell.by_seed or len(verdict.runs) > 1]
        parts = [
            f"# {given['title']}", f"**{self.counts()}.**",
            markup.markdown(HEAD, self.rows()),
            f"![Published numbers and ours]({figure})" if figure else "",
            "This page was written by the following command, which makes only the runs that are "
            "missing.",
            "    .venv/bin/dbench-analyze reproduce "
            + (f"{self.what.folder.name} --reduced" if self.what.orders else self.what.name)
            + " --run",
            "## The published numbers",
            bullets([f"**Paper.** {source['paper']}",
                     f"**Code.** {source['code']}, commit {source['commit']}",
                     f"**Place.** {source['place']}", f"**Seeds.** {source['seeds']}",
                     f"**How a number was formed.** {source['number']}"]),
            "" if not by_seed else markup.markdown(
                ["cell", "published, by seed", "ours, by seed"], by_seed),
            "## How they are judged", ORDER_RULE if self.what.orders else RULE,
            SHOWN_RULE if any(cell.beside for cell, _ in self.cells) else "",
            "" if self.what.orders else "Tolerances:",
            "" if self.what.orders else bullets(
                [reason if len(reasons) == 1 else f"{reason} ({'; '.join(cells)})"
                 for reason, cells in reasons.items()]),
            "## Assumptions", bullets(given["assumptions"]),
            "## Known differences" if differs else "", bullets(differs),
            "## Runs" if self.machine else "",
            bullets([*self.machine, f"The runs trained for {self.seconds:.0f} s in all."]
                    if self.machine else []),
        ]
        return "\n\n".join(wrapped(part) for part in parts if part) + "\n"


def listed(numbers: dict, what: Reproduction) -> str:
    """Return numbers by seed as text."""
    digits = what.given.get("digits", 0) + 1
    return ", ".join(f"{seed}: " + ("-" if value is None else f"{value:.{digits}f}")
                     for seed, value in numbers.items()) or "-"


def bullets(lines: list[str]) -> str:
    """Return a Markdown list."""
    return "\n".join(f"* {line}" for line in lines)


def wrapped(text: str, width: int = 120) -> str:
    """Return Markdown with its prose in lines of at most `width` columns; tables, headings and
    commands stay as they are."""
    lines = []
    for line in text.split("\n"):
        if line.startswith(("|", "#", "    ", "![")):
            lines.append(line)
            continue
        indent = "  " if line.startswith("* ") else ""
        current = ""
        for word in line.split(" "):
            if current and len(current) + 1 + len(word) > width:
                lines.append(current)
                current = indent + word
            else:
                current = f"{current} {word}" if current else word
        lines.append(current)
    return "\n".join(lines)


def outcome(place: Place, planned: list[Planned], failed: dict[str, str] | None = None,
            stand_ins: list[Planned] | None = None) -> Outcome:
    """Judge what is in the folder.

    failed      reasons of failed runs by name
    stand_ins   runs with other data, made because those of the cells cannot be
    """
    there = place.done([*planned, *(stand_ins or [])])
    if place.what.orders:
        return ordered(place, planned, there, failed or {})
    values, judged, used = place.values(), [], []
    cells = {cell.name: cell for cell in place.what.cells}
    own = {cell.name: [run for run in planned if run.cell is cell] for cell in place.what.cells}
    done = {name: found(mine, there) for name, mine in own.items()}
    results = {name: {seed: metrics.value(each.run, cells[name].metric, values)
                      for seed, each in runs.items()} for name, runs in done.items()}
    for cell in place.what.cells:
        mine, runs, numbers = own[cell.name], done[cell.name], results[cell.name]
        used += list(runs.values())
        if cell.beside:
            other = cells[cell.beside["cell"]]
            verdict = verdicts.show(numbers, results[other.name], other.name,
                                    place.what.text(other.published), cell.beside["reason"])
        else:
            verdict = verdicts.judge(cell.published, cell.tolerance, numbers, place.what.seeds,
                                     cell.by_seed, cell.differs)
        if verdict.verdict == NOT_RUN and not runs:
            why = reason(cell, mine, failed or {}, verdict.why)
            others = found([run for run in stand_ins or [] if run.cell is cell], there)
            if others:
                got = [metrics.value(each.run, cell.metric, values) for each in others.values()]
                texts = ", ".join(place.what.text(each) for each in got)
                why += (f"; {place.what.given['stand_in']['reason']}: {texts}, which is not "
                        "compared")
                used += list(others.values())
            verdict = Verdict(NOT_RUN, None, why)
        judged.append((cell, verdict))
    return Outcome(place.what, judged, machines(used), sum(map(trained, used)))


def ordered(place: Place, planned: list[Planned], there: dict[str, list[Done]],
            failed: dict[str, str]) -> Outcome:
    """Judge the order of cells. The cells of the outcome are pairs, their numbers differences."""
    what, values = place.what, place.values()
    mine = {cell.name: [run for run in planned if run.cell is cell] for cell in what.cells}
    runs = {name: found(some, there) for name, some in mine.items()}
    numbers = {cell.name: {seed: metrics.value(each.run, cell.metric, values)
                           for seed, each in runs[cell.name].items()} for cell in what.cells}
    judged = []
    for above, below in what.orders:
        verdict = verdicts.judge_order(numbers[above.name], numbers[below.name], what.seeds)
        if verdict.verdict == NOT_RUN:
            lacking = next(cell for cell in (above, below) if not numbers[cell.name])
            why = reason(lacking, mine[lacking.name], failed, verdict.why)
            verdict = replace(verdict, why=f"{lacking.name}: {why}")
        else:
            means = [what.text(mean_of(numbers[cell.name])) for cell in (above, below)]
            verdict = replace(verdict, why=f"{means[0]} against {means[1]}; {verdict.why}")
        assert above.published is not None and below.published is not None
        gap = round(above.published - below.published, 6)
        pair = Cell(f"reduced: {above.name} above {below.name}", gap, {}, {}, above.metric, 0.0, "")
        judged.append((pair, verdict))
    used = [each for some in runs.values() for each in some.values()]
    return Outcome(what, judged, machines(used), sum(map(trained, used)))


def mean_of(numbers: dict[Any, float | None]) -> float | None:
    """Return the mean of the finite numbers."""
    finite = [value for value in numbers.values() if value is not None]
    return sum(finite) / len(finite) if finite else None


def found(planned: list[Planned], there: dict[str, list[Done]]) -> dict[Any, Done]:
    """Return the complete runs of one cell by seed; all seeds count, also those that are not
    planned."""
    runs: dict[Any, Done] = {}
    for run in planned:
        for each in there.get(run.identity, []) if run.identity else []:
            if run.seed is None and is_seed(run, each):
                runs.setdefault(None, each)
            elif run.seed is not None:
                runs.setdefault(each.seed, each)
    return runs


def reason(cell: Cell, planned: list[Planned], failed: dict[str, str], usual: str) -> str:
    """Return why a cell has no run."""
    if cell.lacks:
        return "dbench lacks " + ", ".join(cell.lacks)
    errors = [run.error for run in planned if run.error]
    if errors:
        return errors[0] if errors[0].startswith(MISSING) \
            else f"the program refuses the spec: {errors[0]}"
    ended = [failed[run.name] for run in planned if run.name in failed]
    return f"the run failed: {ended[0]}" if ended else usual


def machines(runs: list[Done]) -> list[str]:
    """Return the programs and machines of the runs, each once."""
    lines = []
    for each in runs:
        about = each.run.provenance
        name = (about.get("versions") or {}).get("dbench", "of unknown version")
        machine = (about.get("environment") or {}).get("cpu", "an unknown processor")
        lines.append(f"dbench {name} on {machine}, {counted(each.run.rank_count, 'rank')}.")
    counts = Counter(lines)
    return [f"{counted(count, 'run')}: {line}" for line, count in counts.items()]


def trained(done: Done) -> float:
    """Return the seconds of training of a run."""
    rows = done.run.evaluations
    return float(rows["elapsed"][-1]) if "elapsed" in rows and len(rows["elapsed"][:]) else 0.0
