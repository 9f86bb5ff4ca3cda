"""The rank correlations of the early spread with the final performance, as a table."""

import numpy as np

from ..basics.formatting import aligned
from ..naming.measures import TITLES
from ..quantities.ends import ends
from ..reading.run import Run
from ..statistics.early_correlation import WINDOWS, correlations, measured, other_differences


def finals(found) -> np.ndarray:
    """Return the last accuracy, or loss, of the mean model and of the median local model
    [runs, 2]."""
    return np.array([[end.mean, end.median] for end in found]).reshape(-1, 2)


def text(runs: list[Run], measure: str = "variance", window: float = 0.1) -> str:
    """Return the correlations for each window, before and after averaging, with and without
    C_complete."""
    found, kind = ends(runs)
    kept = [end.run for end in found]
    if len(kept) < 3:
        return f"rank correlation: needs 3 runs or more, here {len(kept)}"
    by_key = correlations(kept, finals(found), measure, window)
    rows = [[f"Spearman, {TITLES[measure]}", "window", f"with {kind} of", "all settings",
             "without C_complete"]]
    for name, when in measured(measure):
        windows = sorted({share for of, share, _, _ in by_key if of == name})
        if not windows:
            rows.append([when, "-", "-", "not recorded", "not recorded"])
        for share in windows:
            for j, of in enumerate(("mean model", "local median")):
                rows.append([when, f"{100 * share:g} %", of,
                             *(str(by_key[name, share, j, without]) for without in (False, True))])
    return "\n".join([aligned(rows), *notes(kept, window)])


def notes(runs: list[Run], window: float) -> list[str]:
    """Return what a reader must know about the table above."""
    others = other_differences(runs)
    if others:
        return [f"note: the runs differ in {', '.join(others)}, too: the correlations mix these, "
                "and no p is given"]
    found = ["note: a point is a setting, the mean over its seeds; p by permuting the settings, "
             "corrected for the windows, both accuracies, before and after (each column by itself)"]
    if window not in WINDOWS:
        found.append(f"note: no p for {100 * window:g} %, which is not one of the windows fixed in "
                     "advance")
    return found
