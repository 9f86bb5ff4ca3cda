"""Numbers, durations and tables as text, and durations from text."""

import re
import sys


def shown(text, most=100):
    """Return `text` for one line of a message: short, and without control characters."""
    plain = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[:most])
    return plain + "..." if len(text) > most else plain


def count_text(count):
    """Return a count with thousands separators; very large ones as a power of ten."""
    return f"{count:,}" if count < 10 ** 15 else f"over 10^{len(str(count)) - 1}"


def whole(value, least=1):
    """Return whether the value is a whole number from `least` up that Slurm and MPI can count."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < 2 ** 31


def bytes_text(count):
    """Return a number of bytes with a unit from B to TiB."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024.0
    return f"{count:.1f} TiB"


def minutes_of(text):
    """Return the minutes of a duration in Slurm's forms: M, M:S, H:M:S, D-H, D-H:M, D-H:M:S; None
    for any other text."""
    number = "([0-9]{1,6})"
    match = re.fullmatch(f"(?:{number}-)?{number}(?::{number})?(?::{number})?", str(text))
    if not match:
        return None
    days, a, b, c = (int(part or 0) for part in match.groups())
    if match[1]:
        seconds = ((days * 24 + a) * 60 + b) * 60 + c
    elif match[4]:
        seconds = (a * 60 + b) * 60 + c
    else:
        seconds = a * 60 + b
    return seconds / 60.0


def time_text(minutes):
    """Return minutes as Slurm's D-HH:MM:SS, rounded up to a second."""
    seconds = int(-(-minutes * 60 // 1))
    days, seconds = divmod(seconds, 86400)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{days}-{clock}" if days else clock


def duration_text(seconds):
    """Return an approximate duration: 40 s, 12 min, 3.5 h, 2.1 d."""
    for size, unit in ((86400.0, "d"), (3600.0, "h")):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds / 60.0:.0f} min" if seconds >= 120 else f"{seconds:.0f} s"


def table(head, rows):
    """Return rows as lines with aligned columns; columns of numbers are aligned right."""
    cells = [[shown(str(cell), 1000) for cell in row] for row in [head] + rows]
    widths = [max(len(row[k]) for row in cells) for k in range(len(head))]
    right = [all(isinstance(row[k], (int, float)) for row in rows) for k in range(len(head))]
    lines = []
    for row in cells:
        padded = [cell.rjust(width) if left else cell.ljust(width)
                  for cell, width, left in zip(row, widths, right)]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


class Progress:
    """One line that is rewritten on a terminal, and never written to a log file."""

    def __init__(self, stream=sys.stderr):
        self.stream, self.shown = stream, 0

    def __call__(self, line):
        if self.stream.isatty():
            self.stream.write("\r" + line[:150].ljust(self.shown))
            self.stream.flush()
            self.shown = len(line[:150])

    def clear(self):
        if self.shown:
            self.stream.write("\r" + " " * self.shown + "\r")
            self.stream.flush()
            self.shown = 0
