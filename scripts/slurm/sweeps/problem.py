"""The error that is shown to the user instead of a traceback."""

from .text import shown


class Problem(Exception):
    """`where` is the key, file or command; `reason` says what is wrong and why, `remedy` what to
    try."""

    def __init__(self, where, reason, remedy=""):
        super().__init__("{}: {}{}".format(shown(str(where), 500), reason,
                                           f" ({remedy})" if remedy else ""))
