"""Checks a JSON object against a table of its keys."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..basics.errors import AnalysisError


@dataclass(frozen=True)
class Key:
    """One key of an object: its kind in words, how to recognise a valid value, and whether it must
    be given."""

    kind: str
    valid: Callable[[Any], bool]
    required: bool = False


def is_number(value) -> bool:
    return (isinstance(value, (int, float)) and not isinstance(value, bool)
            and math.isfinite(value))


def is_whole(value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_text(value) -> bool:
    return isinstance(value, str) and bool(value.strip())


def is_texts(value) -> bool:
    return isinstance(value, list) and all(map(is_text, value))


def is_object(value) -> bool:
    return isinstance(value, dict)


def is_pointers(value) -> bool:
    """Return whether this maps JSON pointers to values."""
    return isinstance(value, dict) and all(
        key.startswith("/") and len(key) > 1 for key in value)


TEXT, NUMBER, OBJECT = ("a text", is_text), ("a number", is_number), ("an object", is_object)
TEXTS = ("a list of texts", is_texts)
POINTERS = ("an object of values by JSON pointer", is_pointers)
COUNT = ("a whole number from 1", lambda value: is_whole(value) and value > 0)


def checked(where: str, given: Any, keys: dict[str, Key]) -> dict:
    """Return the object. Raises AnalysisError, which begins with `where`, if a key is unknown,
    missing or of another kind."""
    if not isinstance(given, dict):
        raise AnalysisError(where, "not a JSON object", f"its keys are {', '.join(keys)}")
    for name, value in given.items():
        if name not in keys:
            raise AnalysisError(f"{where}/{name}", "unknown key",
                                f"there are: {', '.join(keys)}")
        if not keys[name].valid(value):
            raise AnalysisError(f"{where}/{name}", f"not {keys[name].kind}",
                                "docs/analysis.md describes this file")
    for name, key in keys.items():
        if key.required and name not in given:
            raise AnalysisError(f"{where}/{name}", "missing", f"give {key.kind}")
    return given
