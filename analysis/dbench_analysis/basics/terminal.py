"""Output on terminals whose encoding lacks some letters, such as ASCII or Latin-1."""

import codecs
import sys
import unicodedata

PLAIN = {"±": "+-", "†": "*", "×": "x", "·": ";", "–": "-", "—": "-", "…": "...", "‖": "||",
         "→": "->", "≤": "<=", "≥": ">=", "µ": "u", "⁻": "-"}


def plain(error: UnicodeError) -> tuple[str, int]:
    """Return a replacement for the letters that an encoding lacks: the letter without its accents,
    or its number."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    parts = []
    for letter in error.object[error.start : error.end]:
        simple = unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode()
        parts.append(PLAIN.get(letter) or simple or
                     letter.encode("ascii", "backslashreplace").decode())
    return "".join(parts), error.end


def accept_every_letter():
    """Let standard output and standard error replace what their encodings lack."""
    codecs.register_error("dbench-plain", plain)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="dbench-plain")
