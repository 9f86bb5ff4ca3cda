"""Result files by name: folders and glob patterns become lists of files."""

import glob
import os
import re
import stat
from collections.abc import Iterable
from io import BufferedReader
from pathlib import Path

from ..basics.errors import AnalysisError

SUFFIXES = (".h5", ".hdf5")
# The file that a resumed run with other replicas keeps of its first N iterations: RUN.h5.until-N.h5
EARLIER = re.compile(r"\.until-[0-9]+(-[0-9]+)?\.h5$")
TABLES = (".csv", ".parquet")  # suffixes of the tables that `collect` writes


def regular(path, expected: str = "a result file") -> BufferedReader:
    """Return the file, open for reading bytes. Raises AnalysisError if it does not exist, may not
    be read, or is not a regular file: opening a FIFO would block forever, and a device has no end.
    `expected` says what the file should be."""
    path = Path(path)
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise AnalysisError(path, "no such file", "check the path, or run `dbench run` first"
                            ) from error
    except PermissionError as error:
        raise AnalysisError(path, "cannot be read: permission denied", f"try `chmod u+r {path}`"
                            ) from error
    except (OSError, ValueError) as error:  # ValueError: a path with a zero byte
        raise AnalysisError(path, f"cannot be opened: {getattr(error, 'strerror', error)}",
                            "check the path") from error
    kind = os.fstat(handle).st_mode
    if stat.S_ISREG(kind):
        return os.fdopen(handle, "rb")
    os.close(handle)
    if stat.S_ISDIR(kind):
        raise AnalysisError(path, f"is a folder, not {expected}", "name a file in it")
    raise AnalysisError(path, "is not a regular file",
                        "give the .h5 file that `dbench run` wrote, or a table of `collect`")


def natural(path) -> list:
    """Return a sorting key that puts n4 before n16."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", str(path))]


def distinct(named: Iterable[str]) -> list[str]:
    """Return the names of different files or folders: the first name of each, because a second name
    may be a link to it or another way to write its path."""
    found: dict[str, str] = {}
    for name in named:
        found.setdefault(os.path.realpath(name), name)
    return list(found.values())


def below(folder: Path) -> list[Path]:
    """Return the files in a folder and below it. Folders that are links are entered after the
    others, each folder once. A link to a folder that contains the link or the given folder is not
    entered."""
    top = os.path.realpath(folder)
    seen: set[str] = set()
    found: list[Path] = []
    places = [str(folder)]
    while places:
        links: list[str] = []
        for place in places:
            for here, folders, names in os.walk(place):
                real = os.path.realpath(here)
                if real in seen:
                    folders.clear()
                    continue
                seen.add(real)
                for path in (os.path.join(here, name) for name in folders):
                    target = os.path.realpath(path)
                    if os.path.islink(path) and not any(
                            Path(inner).is_relative_to(target) for inner in (top, real)):
                        links.append(path)
                found += [Path(here, name) for name in names]
        places = sorted(links, key=natural)
    return found


def result_files(named: list[str]) -> list[tuple[Path, bool]]:
    """Return (file, whether the user named it explicitly) in order, each file once, also if it has
    several names.

    A folder stands for all result files in it and below it, and a glob pattern for all files that
    match, except copies of the first iterations of a run (EARLIER). Raises AnalysisError if a
    folder or a pattern yields no file.
    """
    found: dict[str, tuple[Path, bool]] = {}

    def add(path: Path, explicit: bool):
        real = os.path.realpath(path)
        first, before = found.get(real, (path, False))
        found[real] = first, explicit or before

    for item in named:
        path = Path(item)
        if path.is_dir():
            # The name of a file itself comes before links to it.
            files = [p for p in sorted(below(path), key=Path.is_symlink) if p.suffix in SUFFIXES
                     and p.is_file() and not EARLIER.search(p.name)]
            if not files:
                raise AnalysisError(item, "no .h5 file in this folder",
                                    "did the run write elsewhere?")
            for file in sorted(distinct(map(str, files)), key=natural):
                add(Path(file), False)
        elif not path.exists() and glob.has_magic(item):
            matches = sorted(glob.glob(item, recursive=True), key=natural)
            if not matches:
                raise AnalysisError(item, "no file matches", "check the pattern and the folder")
            # A pattern that only copies match was written for them.
            for match in [match for match in matches if not EARLIER.search(match)] or matches:
                add(Path(match), False)
        else:
            add(path, True)
    return list(found.values())
