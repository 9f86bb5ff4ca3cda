"""What is shown to the user in place of a traceback."""

from .text import shown


class Problem(Exception):
    """`where` is the key, file or command; the message says what and why, `remedy` what to do."""

    def __init__(self, where, reason, remedy=""):
        super().__init__("{}: {}{}".format(shown(str(where), 500), reason,
                                           f" ({remedy})" if remedy else ""))
