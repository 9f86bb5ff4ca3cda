"""The one exception of this package, for faults that the user can mend."""

import functools
from contextlib import contextmanager

# what h5py, numpy and pandas raise of files whose bytes are not what they were
DAMAGE = (KeyError, OSError, RuntimeError, ValueError, TypeError, AttributeError, IndexError,
          OverflowError, MemoryError)


class AnalysisError(Exception):
    """A fault with its place, reason and remedy: 'place: reason (remedy)'."""

    def __init__(self, place, reason: str, remedy: str = ""):
        text = f"{place}: {reason}"
        super().__init__(f"{text} ({remedy})" if remedy else text)


def damaged(path, field: str, reason) -> AnalysisError:
    """The fault of a file whose `field` is not as it must be."""
    said = " ".join(str(reason).split()) or type(reason).__name__
    return AnalysisError(path, f"{field} is damaged or cut short: {said}",
                         "`dbench doctor FILE` examines the file")


@contextmanager
def reading(path, field: str):
    """Whatever a damaged file makes of reading its `field` ends as one fault that names both."""
    try:
        yield
    except DAMAGE as error:
        raise damaged(path, field, error) from error


def of_a_run(function):
    """A function of a run and other things, whose failures are faults of the run's file."""
    @functools.wraps(function)
    def guarded(run, *others, **named):
        with reading(run.path, f"what its {function.__name__.replace('_', ' ')} is made from"):
            return function(run, *others, **named)

    return guarded
