"""Paths as users write them: ~ is expanded, other notation of shells is refused. Writing files."""

import os
import re
from pathlib import Path

from .errors import AnalysisError

VARIABLE = re.compile(r"\$\w+|\$\{\w+\}")
PLACEHOLDER = re.compile(r"\{[\w.]+\}")


def user_path(text: str, where: str) -> str:
    """Return the path with a leading ~ replaced by the home folder. Raises AnalysisError, which
    begins with `where`, if the path holds $NAME or a {placeholder} and does not exist as it is
    written: the analysis knows none of them."""
    path = os.path.expanduser(text)
    if os.path.lexists(path):
        return path
    if found := VARIABLE.search(path):
        raise AnalysisError(f"{where} {path}", f"contains {found[0]}, which only a shell replaces",
                            "write the value, or leave the shell's single quotes out")
    if found := PLACEHOLDER.search(path):
        raise AnalysisError(f"{where} {path}", f"contains {found[0]}, which stands for nothing "
                            "here", "write the name itself; no placeholder is known")
    if path.startswith("~"):
        raise AnalysisError(f"{where} {path}", "names a home folder that does not exist",
                            "write the whole path (./~ for a name that begins with ~)")
    return path


def replace_file(target: Path, text: str):
    """Write a file, the whole file or nothing."""
    part = target.with_name(f".{target.name}.part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, target)
