"""Options that fit figures to a page: their width, and other names in the legends."""

import argparse
import difflib
import re

from ..basics.errors import AnalysisError


def declare(parser, what: str, example: str):
    """Add the options. `what`: the pictures; `example`: an example of --label."""
    parser.add_argument("--width", type=inches, metavar="LENGTH",
                        help=f"width of {what} on the page, such as 3.3in, 84mm or 8.4cm: text "
                             "has 8 points, narrow panels are placed below each other")
    parser.add_argument("--label", action="append", default=[], metavar="NAME=TEXT",
                        help=f"another name for an entry of the legends, such as {example}; "
                             "may be given several times")


def inches(text: str) -> float:
    """Return a length in inches; a number without a unit is in inches."""
    found = re.fullmatch(r"\s*(\d+\.?\d*)\s*(in|mm|cm|pt)?\s*", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text}: not a length (give e.g. 3.3in or 84mm)")
    value = float(found[1]) / {"mm": 25.4, "cm": 2.54, "pt": 72}.get(found[2], 1.0)
    if not 2 <= value <= 20:
        raise argparse.ArgumentTypeError(f"{text}: out of range (give 2in to 20in)")
    return value


def labels_by_name(labels: list[str], entries: list[str]) -> dict[str, str]:
    """Return {entry of a legend: the name that replaces it}."""
    called = {}
    for label in labels:
        name, equals, text = label.rpartition("=")
        if not equals or name not in entries:
            near = difflib.get_close_matches(name or label, entries, 1)
            raise AnalysisError(f"--label {label}", "names no entry of the legends",
                                f"did you mean {near[0]}={text}?" if near
                                else f"write NAME=TEXT, the names are: {', '.join(entries)}")
        called[name] = text
    return called
