"""The exception of this package: an error that the user can correct."""

import functools
from contextlib import contextmanager

# the exceptions that h5py, numpy and pandas raise for damaged files
DAMAGE = (KeyError, OSError, RuntimeError, ValueError, TypeError, AttributeError, IndexError,
          OverflowError, MemoryError)


class AnalysisError(Exception):
    """An error with its place, its reason and a remedy: 'place: reason (remedy)'."""

    def __init__(self, place, reason: str, remedy: str = ""):
        text = f"{place}: {reason}"
        super().__init__(f"{text} ({remedy})" if remedy else text)


def damaged(path, field: str, reason) -> AnalysisError:
    """Return the error for a file whose `field` is damaged."""
    problem = " ".join(str(reason).split()) or type(reason).__name__
    return AnalysisError(path, f"{field} is damaged or cut short: {problem}",
                         "`dbench doctor FILE` examines the file")


@contextmanager
def reading(path, field: str):
    """Turn every exception that a damaged file can cause while `field` is read into one
    AnalysisError, which names the file and the field."""
    try:
        yield
    except DAMAGE as error:
        raise damaged(path, field, error) from error


def names_the_run(function):
    """Decorate a function whose first argument is a run: an exception that a damaged file causes
    becomes an AnalysisError that names the run's file."""
    @functools.wraps(function)
    def guarded(run, *others, **named):
        with reading(run.path, f"what its {function.__name__.replace('_', ' ')} is made from"):
            return function(run, *others, **named)

    return guarded
