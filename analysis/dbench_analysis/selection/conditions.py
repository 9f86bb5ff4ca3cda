"""Conditions on runs: `field=value`, `field>=number` and so on, the same for every command."""

import difflib
import fnmatch
import re
from collections.abc import Sequence

from ..basics.errors import AnalysisError
from ..quantities import fields

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
        fields.find(self.key, "condition")
        if self.sign in COMPARED and not (len(self.values) == 1 and is_number(self.values[0])):
            raise AnalysisError(text, f"{self.sign} compares with one number", "such as lr>=0.1")

    def holds(self, value) -> bool:
        """Return whether a value satisfies the condition."""
        if self.sign in COMPARED:
            return is_number(value) and COMPARED[self.sign](float(value), float(self.values[0]))
        return any(alike(value, wanted) for wanted in self.values) != (self.sign == "!=")

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
    if is_number(value) and is_number(wanted):
        return float(value) == float(wanted)
    return fnmatch.fnmatchcase(str(value), wanted)


def matching(runs: list, conditions: Sequence[str]) -> list:
    """Return the runs for which all conditions hold."""
    for condition in map(Condition, conditions):
        keep = condition.kept([fields.find(condition.key).value(run) for run in runs])
        runs = [run for run, kept in zip(runs, keep) if kept]
    return runs
