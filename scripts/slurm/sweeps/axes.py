"""From axes to points: products, zipped lists and conditions; and the name of a point."""

import collections
import itertools
import json
import re

from .problem import Problem
from .text import count_text, shown

SHORT = ("graph", "implementation", "algorithm", "replicas", "seed", "model", "data")
MOST_RUNS = 10000  # the program checks each run, in up to half a second of one core
MOST_AXES = 100
MOST_COMPARISONS = 10 ** 7  # of values with conditions: a few seconds in total
MOST_LETTERS = 200  # of a name; file names extend it, and a file system allows 255


def pointer(axis):
    """Return the JSON pointer that an axis sets."""
    return axis if axis.startswith("/") else "/" + axis


def label(value):
    """Return a value as a part of a name: ring, 0.1, ring_lattice-k4."""
    if isinstance(value, dict):
        parts = [label(value[key]) if key == "type" else key + label(value[key]) for key in value]
        text = "-".join(parts)
    elif isinstance(value, str):
        text = value
    elif isinstance(value, float):
        text = f"{value:g}"
    else:
        text = json.dumps(value)
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text).strip("_")


def check_axis(where, axis, values):
    """Raise Problem if the axis or its list of values is not valid."""
    pointing = axis.startswith("/") and len(axis) > 1 and axis.isprintable() and "=" not in axis
    if not pointing and axis not in SHORT:
        raise Problem(f"{where}/{axis}", "no such axis", "there are: {}, zip, and any JSON "
                      "pointer such as /optimizer/lr".format(", ".join(SHORT)))
    if pointer(axis) in ("/name", "/output"):
        raise Problem(f"{where}/{axis}", "the sweep itself sets it", "use \"name\" and \"output\"")
    if not isinstance(values, list) or not values:
        raise Problem(f"{where}/{axis}", "not a list of values", "such as [1, 2]")


def groups(axes):
    """Return lists of partial points; the sweep is the product of these lists, in this order."""
    found, seen = [], set()

    def add(where, axis, values):
        check_axis(where, axis, values)
        if pointer(axis) in seen:
            raise Problem(f"{where}/{axis}", "this axis is given twice", "remove one of them")
        seen.add(pointer(axis))

    for axis, values in axes.items():
        if axis != "zip":
            add("/axes", axis, values)
            found.append([{axis: value} for value in values])
            continue
        zips = values if isinstance(values, list) else [values]
        for k, group in enumerate(zips):
            where = f"/axes/zip/{k}"
            if not isinstance(group, dict) or not group:
                raise Problem(where, "not an object of lists",
                              "such as {\"replicas\": [4, 8], \"/optimizer/lr\": [0.1, 0.2]}")
            for inner, listed in group.items():
                add(where, inner, listed)
            lengths = {inner: len(listed) for inner, listed in group.items()}
            if len(set(lengths.values())) > 1:
                raise Problem(where, "lists of different lengths: {}".format(
                    ", ".join("{} {}".format(*item) for item in lengths.items())),
                    "zipped lists advance together")
            found.append([collections.OrderedDict(zip(group, column))
                          for column in zip(*group.values())])
    if len(seen) > MOST_AXES:
        raise Problem("/axes", f"{len(seen)} axes (at most {MOST_AXES})",
                      "move keys that do not vary to the base")
    return found


def listed(wanted):
    return wanted if isinstance(wanted, list) else [wanted]


def matches(point, condition):
    """Return whether every axis that the condition names has its value, or one of its values."""
    def same(value, wanted):
        return value == wanted or (isinstance(value, dict) and value.get("type") == wanted)
    return all(any(same(point[axis], one) for one in listed(wanted))
               for axis, wanted in condition.items())


def require_bounded(partial, conditions):
    """Raise Problem for a sweep that would take hours or never end."""
    count = 1
    for group in partial:
        count *= len(group)
    if count > MOST_RUNS:
        raise Problem("/axes", "{} combinations ({}; at most {}, because the program checks "
                      "each)".format(count_text(count), " x ".join(
                          str(len(group)) for group in partial), count_text(MOST_RUNS)),
                      "list the wanted ones by \"zip\", or make several sweeps")
    compared = sum(len(listed(wanted)) for condition in conditions for wanted in condition.values())
    if count * compared > MOST_COMPARISONS:
        raise Problem("/exclude and /only", f"{count_text(count)} combinations, each to be "
                      f"compared with {count_text(compared)} values",
                      "list the wanted runs by \"zip\"")


def points(axes, exclude=(), only=()):
    """Yield every point of the sweep, a mapping from axis to value in the order of the axes."""
    partial = groups(axes)
    require_bounded(partial, list(exclude) + list(only))
    names = [axis for group in partial for axis in group[0]]
    for key, conditions in (("exclude", exclude), ("only", only)):
        for k, condition in enumerate(conditions):
            for axis in condition:
                if axis not in names:
                    raise Problem(f"/{key}/{k}/{axis}", "not an axis of this sweep",
                                  "there are: {}".format(", ".join(names) or "none"))
    for parts in itertools.product(*partial):
        point = collections.OrderedDict(item for part in parts for item in part.items())
        if any(matches(point, c) for c in exclude):
            continue
        if only and not any(matches(point, c) for c in only):
            continue
        yield point


def default_template(axes):
    letters = {"replicas": "n", "seed": "s"}
    names = [axis for group in groups(axes) for axis in group[0]]
    return "-".join(letters.get(axis, "") + "{" + axis + "}" for axis in names)


def name(template, point):
    """Return the template with each {axis} filled in; {lr} means {/optimizer/lr} if that is
    unique."""
    def fill(match):
        field = match.group(1)
        found = [a for a in point if a == field] or [
            a for a in point if a.rsplit("/", 1)[-1] == field]
        if len(found) != 1:
            raise Problem("/name", "{{{}}} names {} axes".format(shown(field), len(found) or "no"),
                          "there are: {}".format(", ".join(f"{{{a}}}" for a in point) or "none"))
        return label(point[found[0]])
    text = re.sub(r"\{([^{}]*)\}", fill, template)
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*", text):
        raise Problem("/name", f"gives '{shown(text)}'", "letters, digits, '.', '_' and '-' only")
    if len(text) > MOST_LETTERS:
        raise Problem("/name", f"gives '{text:.40}...' of {len(text)} letters (at most "
                      f"{MOST_LETTERS})", "name fewer axes in the template, or shorten it")
    return text
