"""Numbers and tables as text."""

import math
import textwrap


def number(value, digits: int = 4) -> str:
    """Return a number as text; a dash for NaN and None."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, float):
        return f"{value:.{digits}g}"
    return str(value)


def counted(count: int, noun: str) -> str:
    """Return "1 run", "2 runs"."""
    return f"{count} {noun}" + "s" * (count != 1)


def percent(value) -> str:
    """Return a fraction as per cent; a dash for None and values that are not finite."""
    return "-" if value is None or not math.isfinite(value) else f"{100 * value:.2f} %"


def seconds(value) -> str:
    """Return a duration with a unit from us to h; a dash for None and values that are not
    finite."""
    if value is None or not math.isfinite(value):
        return "-"
    for limit, factor, unit in ((1e-3, 1e6, "us"), (1, 1e3, "ms"), (120, 1, "s"),
                                (7200, 1 / 60, "min")):
        if value < limit:
            return f"{value * factor:.3g} {unit}"
    return f"{value / 3600:.3g} h"


def bytes_(value) -> str:
    """Return a number of bytes with a unit from B to PB; a dash for None and values that are not
    finite."""
    if value is None or not math.isfinite(value):
        return "-"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if abs(value) < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} PB"


def aligned(rows: list[list[str]], gap: str = "  ") -> str:
    """Return rows of cells as lines with aligned columns, the first column left, the others right.

    The words of a head (first row) stand below each other if the column is narrower than the head.
    """
    narrow = [max((len(row[i]) for row in rows[1:]), default=80) for i in range(len(rows[0]))]
    heads = [textwrap.wrap(h, max([w, 1, *map(len, h.split())])) for h, w in zip(rows[0], narrow)]
    depth = max(map(len, heads))
    heads = [[""] * (depth - len(h)) + h for h in heads]
    rows = [[head[line] for head in heads] for line in range(depth)] + rows[1:]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))]
        lines.append(gap.join(cells).rstrip())
    return "\n".join(lines)
