"""Conditions on runs: `field=value`, `field>=number` and so on, the same for every command."""

import difflib
import fnmatch
import json
import re
from collections.abc import Sequence

import numpy as np

from ..basics.errors import AnalysisError
from ..naming import pointers
from ..naming.differences import flattened
from ..quantities import fields
from ..reading.metrics import METRICS

COMPARED = {"<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b,
            ">=": lambda a, b: a >= b}
HELP = ("only runs like this: =, !=, <, <=, >, >=, alternatives by |, patterns; may be given "
        "several times")


class Condition:
    """One condition: `field=value` or `field!=value`, with alternatives separated by `|` and shell
    patterns in words; `<`, `<=`, `>`, `>=` compare numbers. A field is a column of `table` or a
    JSON pointer into the spec."""

    def __init__(self, text: str):
        self.text = text
        parts = re.fullmatch(r"\s*([^=<>!]+?)\s*(!=|<=|>=|=|<|>)(.*)", text)
        if not parts:
            raise AnalysisError(text, "not understood as a condition",
                                "write field=value, such as replicas=16")
        self.key, self.sign = parts[1], parts[2]
        self.values = [value.strip() for value in parts[3].split("|")]
        if self.key in METRICS:
            raise AnalysisError(text, f"a run has several values of {self.key}",
                                f"name one: {self.key}_mean_model, {self.key}_median, "
                                f"{self.key}_min, {self.key}_max or {self.key}_best"
                                + ", as fractions: 0.8 is 80 %" * (
                                    fields.find(f"{self.key}_best").is_fraction))
        self.field = fields.find(self.key, "condition")
        if self.field.is_fraction:
            self.values = [self._fraction(value) for value in self.values]
        if self.sign in COMPARED and not (len(self.values) == 1 and is_number(self.values[0])):
            raise AnalysisError(text, f"{self.sign} compares with one number", "such as lr>=0.1")

    def _fraction(self, value: str) -> str:
        """Return a fraction, also of a number in per cent. Raises AnalysisError for a number above
        1: `accuracy_best<80` would hold for every run, and `accuracy_best>80` for none."""
        number, percent, _ = value.partition("%")
        if not is_number(number):
            return value
        if percent:
            return repr(float(number) / 100)
        if float(number) > 1:
            raise AnalysisError(self.text, f"{self.key} is a fraction from 0 to 1, and {value} is "
                                "more than 1", f"did you mean {self.key}{self.sign}"
                                f"{float(number) / 100:g}, which is {number.strip()} %?")
        return value

    def holds(self, value) -> bool:
        """Return whether a value satisfies the condition."""
        if self.sign in COMPARED:
            return is_number(value) and COMPARED[self.sign](float(value), float(self.values[0]))
        same = fnmatch.fnmatchcase if self.field.is_text else alike
        return any(same(value, wanted) for wanted in self.values) != (self.sign == "!=")

    def kept(self, values) -> list[bool]:
        """Return for each value whether the condition holds. Raises AnalysisError, with the
        existing values, if it holds for none."""
        keep = [self.holds(value) for value in values]
        if any(keep):
            return keep
        existing = list(dict.fromkeys(str(value) for value in values))
        near = difflib.get_close_matches(self.values[0], existing, 1, 0.5)
        raise AnalysisError(self.text, "no run matches", f"did you mean {self.key}={near[0]}?"
                            if near and self.sign == "=" else f"{self.key} is: "
                            f"{', '.join(sorted(existing)[:12]) or 'not known, there is no run'}")


def is_number(value) -> bool:
    try:
        return float(value) == float(value)
    except (TypeError, ValueError):
        return False


def alike(value, wanted: str) -> bool:
    """Return whether a value equals `wanted` as a number, or matches it as a pattern."""
    if isinstance(value, (bool, np.bool_)) and not is_number(wanted):  # true and false, as in JSON
        return fnmatch.fnmatchcase(json.dumps(bool(value)), wanted.lower())
    if is_number(value) and is_number(wanted):
        return float(value) == float(wanted)
    return fnmatch.fnmatchcase(str(value), wanted)


def refuse_unknown(runs: list, keys: list[str]) -> None:
    """Raise AnalysisError for a JSON pointer among `keys` that is in the spec of no run."""
    for fault in unknown(runs, keys):
        raise fault


def unknown(runs: list, keys: list[str]) -> list[AnalysisError]:
    """Return an error for each JSON pointer among `keys` that is in the spec of no run."""
    pointed = [key for key in keys if key.startswith("/")]
    return list(pointers.unknown(pointed, [flattened(run.spec) for run in runs] if pointed else []))


def matching(runs: list, conditions: Sequence[str]) -> list:
    """Return the runs for which all conditions hold. Raises AnalysisError if a condition names a
    JSON pointer that is in the spec of no run."""
    wanted = [Condition(text) for text in conditions]
    refuse_unknown(runs, [condition.key for condition in wanted])
    for condition in wanted:
        keep = condition.kept([fields.find(condition.key).value(run) for run in runs])
        runs = [run for run, kept in zip(runs, keep) if kept]
    return runs
