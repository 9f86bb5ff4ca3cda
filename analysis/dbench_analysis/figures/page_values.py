"""Widths, limits and names of a page, as texts or values that users give."""

import difflib
import re

from ..basics.errors import AnalysisError

UNITS = {"mm": 25.4, "cm": 2.54, "pt": 72}  # of each unit, an inch has so many


def inches(text, name: str = "width") -> float:
    """Return a length in inches, from a number of inches or a text such as 84mm."""
    found = re.fullmatch(r"\s*(\d+\.?\d*)\s*(in|mm|cm|pt)?\s*", str(text))
    if not found:
        raise AnalysisError(f"{name} {text}", "not a length", "give e.g. 3.3in or 84mm")
    value = float(found[1]) / UNITS.get(found[2], 1.0)
    if not 2 <= value <= 20:
        raise AnalysisError(f"{name} {text}", "out of range", "give 2in to 20in")
    return value


def number(text: str) -> float | None:
    """Return a number, which may be in per cent; None if the text is empty."""
    value, percent, _ = text.strip().partition("%")
    return float(value) / (100 if percent else 1) if value else None


def limits(given, name: str) -> tuple[float | None, float | None]:
    """Return the two ends of an axis from (LOW, HIGH) or from a text LOW:HIGH, in which one end may
    be left out."""
    try:
        low, high = map(number, given.split(":")) if isinstance(given, str) else given
    except (TypeError, ValueError):
        raise AnalysisError(f"{name} {given}", "not LOW:HIGH", "such as 0.8:0.95, 80%:, or :2000"
                            ) from None
    if low is not None and high is not None and not low < high:
        raise AnalysisError(f"{name} {given}", "the first number must be the lower one",
                            f"did you mean {high:g}:{low:g}?")
    return low, high


def labels_by_name(labels, entries: list[str], place: str = "--label") -> dict[str, str]:
    """Return {entry of a legend: the name that replaces it}, from texts NAME=TEXT. Both may contain
    `=`: the longest NAME that is an entry counts."""
    called = {}
    for label in labels:
        parts = label.split("=")
        splits = [("=".join(parts[:i]), "=".join(parts[i:])) for i in range(len(parts) - 1, 0, -1)]
        known = [split for split in splits if split[0] in entries]
        if not known:
            alike = [(difflib.SequenceMatcher(None, one, name).ratio(), f"{one}={text}")
                     for name, text in splits or [(label, "")] for one in entries]
            likeness, near = max(alike, default=(0.0, ""))
            raise AnalysisError(f"{place} {label}", "names no entry of the legends",
                                f"did you mean {near}?" if likeness >= 0.6
                                else f"write NAME=TEXT, the names are: {', '.join(entries)}")
        name, text = known[0]
        called[name] = text
    return called
