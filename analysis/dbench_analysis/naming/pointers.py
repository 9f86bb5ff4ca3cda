"""JSON pointers (RFC 6901) to entries of specs."""

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..basics.errors import AnalysisError

INDEX = re.compile(r"0|[1-9][0-9]{0,8}")  # of an element of a list
ABSENT = object()


def words(pointer: str) -> list[str]:
    """Return the keys and indices of a pointer."""
    return [word.replace("~1", "/").replace("~0", "~") for word in pointer.split("/")[1:]]


def entry(value: Any, path: list[str], default: Any = None) -> Any:
    """Return what is at a path of keys and indices in a JSON value; `default` if there is
    nothing."""
    for word in path:
        if isinstance(value, dict) and word in value:
            value = value[word]
        elif isinstance(value, list) and INDEX.fullmatch(word) and int(word) < len(value):
            value = value[int(word)]
        else:
            return default
    return value


def is_in(spec: dict[str, str], pointer: str) -> bool:
    """Return whether a flattened spec has an entry at the pointer. Its leaves are texts, and a list
    is a leaf."""
    path, place = words(pointer), ""
    for depth, word in enumerate(path, 1):
        place += f"/{word}"
        if place in spec:
            return depth == len(path) or entry(parsed(spec[place]), path[depth:],
                                               ABSENT) is not ABSENT
    return any(known.startswith(place + "/") for known in spec)


def parsed(text: str) -> Any:
    """Return the JSON value in a text; None if it holds none."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def refuse_unknown(keys: Iterable[str], specs: Sequence[dict[str, str] | None]) -> None:
    """Raise AnalysisError for the first of the `unknown` pointers."""
    for fault in unknown(keys, specs):
        raise fault


def unknown(keys: Iterable[str],
            specs: Sequence[dict[str, str] | None]) -> Iterator[AnalysisError]:
    """Yield an error for each pointer among `keys` that is in none of the flattened specs. If some
    specs are not known (None), every pointer is accepted."""
    found = [spec for spec in specs if spec is not None]
    if not found or len(found) < len(specs):
        return
    for key in keys:
        if not key.startswith("/") or any(is_in(spec, key) for spec in found):
            continue
        leaves = dict.fromkeys(leaf for spec in found for leaf in spec)
        known = dict.fromkeys("/".join(parts[:depth]) for parts in (x.split("/") for x in leaves)
                              for depth in range(2, len(parts) + 1))
        last = key.rpartition("/")[2]
        near = [place for place in known if place.rpartition("/")[2] == last]
        near += [one for one in difflib.get_close_matches(key, known, 3) if one not in near]
        sections = [place for place in known if place.count("/") == 1]
        yield AnalysisError(key, "is in the spec of no run",
                            f"did you mean {' or '.join(near[:3])}?" if near
                            else f"the specs have {', '.join(sections)}")
