"""The tables of bench/gpu: target ratios with the measured ones, and all steps."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from . import profiles, ratios, sections, study
from .journal import DIFFERS, sides_of


class Unknown(Exception):
    """There is no result; the message says why."""


@dataclass
class Figure:
    """A measured number: a value for each round, or a single value; with notes for the reader."""
    values: list
    of_rounds: bool = False
    notes: tuple = ()

    def text(self):
        middle = f"{statistics.median(self.values):.2f}"
        if not self.of_rounds:
            return middle
        count = len(self.values)
        return (f"{middle} ({min(self.values):.2f} to {max(self.values):.2f}, {count} "
                f"round{'s' if count > 1 else ''})")

    def against(self, target, at_most, rounds):
        """Return whether the target is met, missed, undecided (values on both sides), or measured
        in too few rounds."""
        if self.of_rounds and len(self.values) < rounds:
            return f"only {len(self.values)} of {rounds} rounds"
        if min(self.values) < target < max(self.values):
            return "undecided"
        value = statistics.median(self.values)
        return "met" if (value <= target if at_most else value >= target) else "missed"


def why_not(rounds, names):
    """Return why no round has times of all these sides: what the first side without a time said."""
    without = next((name for name in names
                    if not any("ms" in one.get(name, {}) for one in rounds)), None)
    if without is None:
        return "no round has all sides"
    said = [one[without] for one in rounds if "reason" in one.get(without, {})]
    text = f"{said[-1]['status']}: {said[-1]['reason']}" if said else "not run"
    alone = len(names) > 2 and any("ms" in result for one in rounds
                                   for result in sides_of(one).values())
    return f"not complete: {without}: {text}" if alone else text


def not_captured(rounds, names):
    """Return a note for each side of DBench whose passes were not captured on a GPU."""
    said = {}
    for one in rounds:
        for name in names:
            found = one.get(name, {})
            if "capture" in found and (found["uncaptured"]
                                       or not found["capture"].startswith("on")):
                said[name] = " ".join([found["capture"], *found["uncaptured"]])
    return tuple(f"{name} not captured: {text}" for name, text in said.items())


def of_each_round(journal, case, value, *names):
    """Return a Figure with `value`(milliseconds of the sides) for each round that has all sides.
    Raise Unknown if no round has them."""
    held = journal.steps("ratios")
    rounds = [result for step, result in held.items() if step.startswith(f"{case} / ")]
    whole = [one for one in rounds if all("ms" in one.get(name, {}) for name in names)]
    if not whole:
        raise Unknown(why_not(rounds, names))
    return Figure([value(*(one[name]["ms"] for name in names)) for one in whole], True,
                  not_captured(whole, names))


@dataclass
class Wanted:
    title: str
    target: float
    at_most: bool
    figure: Callable


def wanted(journal):
    def step(section, name):
        result = journal.steps(section).get(name)
        if result is None:
            raise Unknown("not run")
        if "reason" in result:
            raise Unknown(f"{result['status']}: {result['reason']}")
        return result

    def fused():
        kernels = step("kernels", "kernels over a copy")["kernels"]
        shares = [row["share"] for name, row in kernels.items() if name.startswith("fused")]
        if not shares:
            raise Unknown("not run: no fused kernel among those timed")
        return Figure([min(shares)])

    def over(case, ours, *others):
        """Return a function that computes the time of the fastest other side over ours."""
        return lambda: of_each_round(journal, case, lambda own, *rest: min(rest) / own, ours,
                                     *others)

    everything = ("eager", "graph", "compile")
    sixteen, recorded = "dbench, 16 replicas of 32", "dbench, 16 replicas, all recorded"
    return [
        Wanted("fused update, mixing and norms over a copy's bandwidth", 0.90, False, fused),
        Wanted("ResNet-20, batch 32: over PyTorch eager", 3.0, False,
               over(ratios.OF_32, "dbench", "eager")),
        Wanted("ResNet-20, batch 32: over PyTorch's best", 1.15, False,
               over(ratios.OF_32, "dbench", *everything)),
        Wanted("ResNet-20, batch 128: over DDP eager", 3.0, False,
               over(ratios.OF_128, "dbench", "ddp")),
        Wanted("ResNet-20, batch 512: over PyTorch's best", 1.1, False,
               over(ratios.OF_512, "dbench", *everything)),
        Wanted("ResNet-20, batch 128, TF32: over PyTorch's best", 1.0, False,
               over(ratios.IN_TF32, "dbench", "eager", "graph")),
        Wanted("ResNet-20, batch 128, bfloat16: over PyTorch's best", 1.0, False,
               over(ratios.IN_BFLOAT16, "dbench", "eager", "graph")),
        Wanted(profiles.BUSY, 0.90, False,
               lambda: Figure([step("profile", profiles.BUSY)["share"]])),
        Wanted("16 replicas of batch 32 over one model at batch 512", 0.95, False,
               over(ratios.OF_512, sixteen, "dbench")),
        Wanted("16 replicas of batch 32 over a torch.func ensemble", 1.5, False,
               over(ratios.OF_512, sixteen, "ensemble")),
        Wanted("cost per replica, scale MLP, 1008 over 16 replicas", 1.1, True,
               lambda: of_each_round(journal, ratios.SCALE,
                                     lambda many, few: many / 1008 / (few / 16),
                                     "dbench, 1008 replicas", "dbench, 16 replicas")),
        Wanted("recording everything, 16 replicas", 1.01, True,
               lambda: of_each_round(journal, ratios.OF_512, lambda all_, none: all_ / none,
                                     recorded, sixteen)),
    ]


def against_targets(journal, rounds):
    """Return rows (case, target, measured value, whether it is met or why that is unknown)."""
    rows = []
    for row in wanted(journal):
        bound = f"{'at most ' if row.at_most else ''}{row.target:g}"
        try:
            figure = row.figure()
            state = figure.against(row.target, row.at_most, rounds)
            rows.append((row.title, bound, figure.text(), "; ".join([state, *figure.notes])))
        except Unknown as unknown:
            rows.append((row.title, bound, "", str(unknown)))
    return rows


def words_of(result):
    """Return the result of a step as one line."""
    if "reason" in result:
        return result["reason"]
    if "distance" in result:
        return f"{result['distance']:.1e} apart at most, {result['tolerance']:g} allowed" + (
            f" ({result['where']})" if result["where"] else "")
    if "compared" in result:
        return f"{result['compared']} compared, {len(result['differs'])} differ"
    numbers = {key: value for key, value in result.items() if isinstance(value, (int, float, str))
               and key not in ("status", "took", "call", "tries", "partial")}
    sides = {key: value for key, value in sides_of(result).items()
             if "ms" in value or "reason" in value}
    texts = [f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
             for key, value in numbers.items()]
    texts += [f"{key} " + (f"{value['ms']:.3f} ms" if "ms" in value else value["status"])
              for key, value in sides.items()]
    return ", ".join(texts)


def columns(rows):
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]) - 1)]
    return ["  ".join([*(f"{word:<{width}}" for word, width in zip(row, widths)), row[-1]]).rstrip()
            for row in rows]


def details_of(result):
    """Return the detail lines of a step."""
    lines = [" | ".join(row) for row in result.get("rows", [])]
    kernels = result.get("kernels", {})
    if isinstance(kernels, dict):
        lines += [f"{kernel:<32} {row['gb_s']:8.1f} GB/s, {row['share']:.2f} of a copy"
                  for kernel, row in kernels.items()]
    else:
        lines += [f"{row['ms']:9.3f} ms  {row['name']}" for row in kernels]
    lines += [f"{ms:9.3f} ms an iteration: {kind}" for kind, ms in result.get("kinds", {}).items()]
    for name, side in sides_of(result).items():
        lines += [f"{name}: {line}" for line in side.get("warnings", [])]
    return [f"    {line}" for line in lines]


def ways(journal):
    """Return lines that say how each side of DBench computed its replicas (stacking, capture,
    resident data), from the first round that has the side."""
    found = {}
    for step, result in journal.steps("ratios").items():
        for name, side in sides_of(result).items():
            if "stacking" in side:
                found.setdefault(f"  {step.split(' / ')[0]}: {name}", (
                    f"asked {side['asked']}", side["stacking"], f"capture {side['capture']}",
                    f"resident {side['resident']}"))
    return columns([(name, *words) for name, words in found.items()]) if found else []


def machines(journal):
    """Return lines that say on which machine each section was measured."""
    found = {}
    for section in sections.SECTIONS:
        for result in journal.steps(section).values():
            machine = journal.machine(result) or {}
            text = ", ".join([*(machine.get("cards") or ["no GPU"]), *machine.get("program", [])])
            found.setdefault(text, {})[section] = None
    return [f"{', '.join(names)}: {text}" for text, names in found.items()]


def wrong(journal):
    """Return the lines about steps whose results differ; they come first in the table."""
    return [f"DIFFERS: {section}, {name}" for section in sections.SECTIONS
            for name, result in journal.steps(section).items() if result["status"] == DIFFERS]


def table(journal, rounds):
    """Return the lines of the report: the state of each section, its steps, and the targets."""
    lines = [*wrong(journal), *machines(journal), ""]
    for name in sections.SECTIONS:
        lines.append(f"{name}: {journal.state(name)}")
        held = journal.steps(name)
        rows = [(f"  {step}", "in part" if result.get("partial") else result["status"],
                 words_of(result)) for step, result in held.items()]
        lines += columns(rows) if rows else []
        lines += [line for result in held.values() for line in details_of(result)]
    if trained := study.summary(journal):
        lines += ["", *columns(trained)]
    if set(journal.data["sections"]) == {study.SECTION}:  # the study has no targets
        return lines
    return [*lines, "", *ways(journal), "", *columns([("case", "target", "measured", ""),
                                                      *against_targets(journal, rounds)])]
