"""Options that commands share: the file to write, the width of figures, names in legends."""

import argparse

from ..basics.errors import AnalysisError
from ..figures import page_values


def declare(parser, what: str, example: str):
    """Add the options. `what`: the pictures; `example`: an example of --label."""
    parser.add_argument("--width", type=inches, metavar="LENGTH",
                        help=f"width of {what} on the page, such as 3.3in, 84mm or 8.4cm: text "
                             "has 8 points, narrow panels are placed below each other")
    parser.add_argument("--label", action="append", default=[], metavar="NAME=TEXT",
                        help=f"another name for an entry of the legends, such as {example}; "
                             "may be given several times")


def target(text: str) -> str:
    """Return the name of a file or folder to write. An empty one (-o "$UNSET") is refused."""
    if not text:
        raise argparse.ArgumentTypeError("the name is empty: give one, or leave the option out")
    return text


def text_target(text: str) -> str:
    """Return the name of a file of text to write. The name of a result file is refused: the shell
    inserts one if the name was forgotten (-o results/*.h5)."""
    if target(text).endswith((".h5", ".hdf5")):
        raise argparse.ArgumentTypeError(f"{text} has the name of a result file, which would be "
                                         "overwritten: give another name after -o")
    return text


def inches(text: str) -> float:
    """Return a length in inches; a number without a unit is in inches."""
    try:
        return page_values.inches(text)
    except AnalysisError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
