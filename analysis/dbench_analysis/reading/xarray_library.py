"""Access to xarray, which is an optional dependency of this package."""

from typing import Any

from ..basics.errors import AnalysisError


def library() -> Any:
    """Return the module xarray. Raises AnalysisError if it is not installed."""
    try:
        import xarray
    except ImportError as error:
        raise AnalysisError("to_xarray", "needs xarray, which is not installed",
                            "`pip install xarray`, or use frame()") from error
    return xarray
