"""The one exception of this package, for faults that the user can mend."""


class AnalysisError(Exception):
    """A fault with its place, reason and remedy: 'place: reason (remedy)'."""

    def __init__(self, place, reason: str, remedy: str = ""):
        text = f"{place}: {reason}"
        super().__init__(f"{text} ({remedy})" if remedy else text)
