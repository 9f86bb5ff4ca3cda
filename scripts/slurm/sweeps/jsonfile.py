"""Reads JSON files as the program does, with // comments, and writes JSON files."""

import collections
import json
import math
import os
import re
import tempfile

from . import files
from .problem import Problem

MOST_BYTES = 4 << 20
DEEPEST = 100
LONGEST_NUMBER = 100

# A string is matched first, because a // in a string is no comment. A string without an end
# extends to the end of the line.
_STRING_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"?|//[^\n]*')


def _text(path, most):
    try:
        with files.reader(path) as file:
            data = file.read(most + 1)
        if len(data) <= most:
            return data.decode("utf-8")
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, or a path with a zero byte
        raise Problem(path, f"cannot be read: {getattr(error, 'strerror', None) or error}",
                      "name an existing JSON file") from error
    raise Problem(path, f"larger than {most >> 20} MiB", "no file of this kind needs that much")


def _require_shallow(path, plain):
    level = 0
    for mark in re.finditer(r"[\[{\]}]", _STRING_OR_COMMENT.sub("", plain)):
        level += 1 if mark.group() in "[{" else -1
        if level > DEEPEST:
            raise Problem(path, f"nested more than {DEEPEST} levels deep", "use fewer levels")


def _once(pairs):
    found = collections.OrderedDict(pairs)
    if len(found) < len(pairs):
        seen = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key \"{key}\" is given twice")
            seen.add(key)
    return found


def _number(kind):
    def read(digits):
        value = kind(digits) if len(digits) <= LONGEST_NUMBER else math.inf
        if math.isinf(value):
            raise ValueError(f"the number {digits:.30} is too large")
        return value
    return read


def _no_number(word):
    raise ValueError(f"{word} is no number here")


def parse(path, text):
    """Return the value in `text`, with keys in their order and valid Unicode; `path` is for
    messages."""
    plain = _STRING_OR_COMMENT.sub(lambda m: m.group() if m.group()[0] == '"' else "", text)
    _require_shallow(path, plain)
    try:
        value = json.loads(plain, object_pairs_hook=_once, parse_int=_number(int),
                           parse_float=_number(float), parse_constant=_no_number)
    except ValueError as error:
        raise Problem(path, f"not JSON: {error}", "correct the file there") from error
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])
        raise Problem(path, f"{half} is half of a character", "write both halves") from error
    return value


def read(path, most=MOST_BYTES):
    """Return the value in the file at `path`."""
    return parse(path, _text(path, most))


def read_object(path):
    """Return the object in the file at `path`."""
    value = read(path)
    if not isinstance(value, dict):
        raise Problem(path, "not a JSON object", "it must start with {")
    return value


def make_folder(path):
    """Create the folder unless it exists."""
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise Problem(path, f"cannot be made: {error.strerror}",
                      "free disk space, change the permissions, or change \"output\"") from error


def write(path, value):
    """Write the whole file or nothing, even if other processes write it at the same time."""
    folder, temporary = os.path.dirname(path), None
    make_folder(folder)
    try:
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=".tmp-")
        with os.fdopen(handle, "w") as file:
            json.dump(value, file, indent=2)
            file.write("\n")
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)
        raise Problem(path, f"cannot be written: {error.strerror}",
                      "free disk space, change the permissions, or change \"output\"") from error
