"""Errors that a user can act on, and places in the user's code."""

import os
import sys
import sysconfig
import traceback
from collections.abc import Iterable

# Code in these folders is not the user's: this package, the standard library, installed packages.
_OTHERS = tuple(os.path.realpath(folder) + os.sep for folder in {
    os.path.dirname(__file__), sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"),
    sysconfig.get_path("platlib"), os.path.dirname(os.__file__)})


class ExportError(Exception):
    """The message says what is wrong, why, and what to try. The command exits with status 2."""


def is_in_file(source: str) -> bool:
    """Return whether `source` has the form FILE.py:NAME."""
    name, _, function = source.rpartition(":")
    return name.endswith(".py") and function.isidentifier()


def is_of_user(file: str) -> bool:
    """Return True if the file is neither of this package nor of an installed one."""
    path = os.path.realpath(file)
    return (os.path.isfile(path) and "site-packages" not in path.split(os.sep)
            and not path.startswith(_OTHERS))


def last_place(frames: Iterable[traceback.FrameSummary]) -> str:
    """Return "FILE:LINE (code)" of the innermost frame in the user's code, or "" if it has none."""
    own = [frame for frame in frames if is_of_user(frame.filename)]
    if not own:
        return ""
    return f"{os.path.relpath(own[-1].filename)}:{own[-1].lineno} ({own[-1].line})"


def place_of(error: BaseException) -> str:
    """Return the place in the user's code where the error, or the error that caused it, arose."""
    seen: BaseException | None = error
    while seen is not None:
        place = last_place(traceback.extract_tb(seen.__traceback__))
        if place:
            return place
        seen = seen.__cause__ or seen.__context__
    return ""


def current_place() -> str:
    """Return the place in the user's code that is being executed."""
    return last_place(traceback.extract_stack(sys._getframe(1)))


def first_line(error: BaseException) -> str:
    """Return the type and the first line of an error's message."""
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__
