"""The options by which pictures are made for a page: its width, and other names in the legends."""

import argparse
import difflib
import re

from ..errors import AnalysisError


def declare(parser, what: str, example: str):
    """`what`: is drawn; `example`: of a --label."""
    parser.add_argument("--width", type=inches, metavar="LENGTH",
                        help=f"width of {what} on the page, such as 3.3in, 84mm or 8.4cm: text "
                             "has 8 points, panels stand below each other where they are narrow")
    parser.add_argument("--label", action="append", default=[], metavar="NAME=TEXT",
                        help=f"another name for an entry of the legends, such as {example}; "
                             "may be given several times")


def inches(text: str) -> float:
    """A length in inches; bare numbers are inches."""
    found = re.fullmatch(r"\s*(\d+\.?\d*)\s*(in|mm|cm|pt)?\s*", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text}: not a length (such as 3.3in or 84mm)")
    value = float(found[1]) / {"mm": 25.4, "cm": 2.54, "pt": 72}.get(found[2], 1.0)
    if not 2 <= value <= 20:
        raise argparse.ArgumentTypeError(f"{text}: out of range (give 2in to 20in)")
    return value


def names_of(labels: list[str], entries: list[str]) -> dict[str, str]:
    """{entry of a legend: how it is to be called}."""
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
