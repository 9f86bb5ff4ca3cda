"""The verdict on one published number, from the numbers of our runs."""

import math
from dataclasses import dataclass, field

import numpy as np
import scipy  # scipy.stats is loaded when it is first used: it takes a second

REPRODUCED, NOT_REPRODUCED = "reproduced", "not reproduced"
UNDECIDED, NOT_RUN = "undecided", "not run"
NOT_JUDGED = "not judged"  # an experiment that the source did not make
LEVEL = 0.05  # of each of the two one-sided tests
MOST = 200  # runs that are looked at for a decision
RULE = ("A number without randomness is reproduced if ours is within the tolerance. Otherwise, the "
        "one-sided tests of Student at the level 0.05 decide, on the mean of our runs of all "
        "seeds: it is reproduced if both show that our mean is within the tolerance of the "
        "published number (so the 90 % interval lies inside), not reproduced if one shows that it "
        "is outside, and undecided if neither does, or if runs of the listed seeds are missing. "
        "The tests assume that the numbers of seeds are independent and nearly normal.")
SHOWN_RULE = ("A cell that is not judged is an experiment that the source did not make. Its "
              "number is shown beside that of a published one.")
ORDER_RULE = ("Two published numbers are compared with the runs of both cells, seed by seed. "
              "Their order is reproduced if Student's one-sided test at the level 0.05 shows that "
              "the mean difference of ours has the published sign, not reproduced if it shows the "
              "other sign, and undecided otherwise, or if runs of the listed seeds are missing. "
              "The size of the difference is not compared.")


@dataclass(frozen=True)
class Verdict:
    """The verdict on a cell. `ours` is a mean over `runs`, the number by seed; None: no number.

    half   half the width of the 90 % interval of our mean; 0 if nothing is random
    """

    verdict: str
    ours: float | None
    why: str
    runs: dict[int | None, float | None] = field(default_factory=dict)
    half: float = math.nan


def within(off: float, tolerance: float) -> bool:
    """Return whether a difference is at most the tolerance, up to rounding of numbers as written
    in tables."""
    return off <= tolerance + 1e-9 * max(1.0, tolerance)


def factor(count: int) -> float:
    """Return half the width of the interval of a mean of `count` values, in their deviations."""
    return float(scipy.stats.t.ppf(1 - LEVEL, count - 1)) / math.sqrt(count)


def runs_to_decide(off: float, deviation: float, tolerance: float, least: int) -> int | None:
    """Return how many runs would decide if their mean and deviation stayed as they are; None if
    MOST would not."""
    for count in range(max(2, least), MOST + 1):
        half = factor(count) * deviation
        if within(abs(off) + half, tolerance) or not within(abs(off) - half, tolerance):
            return count
    return None


def enough(off: float, deviation: float, tolerance: float, least: int, known: bool) -> str:
    """Return in words how many runs would decide."""
    count = runs_to_decide(off, deviation, tolerance, least)
    basis = (f"a deviation of {deviation:.2g} over seeds"
             + ("" if known else " (that of the published seeds)"))
    return (f"more than {MOST} runs would decide, with {basis}: our mean is at the edge of the "
            "tolerance" if count is None else f"{count} runs would decide, with {basis}")


def judge(published: float | None, tolerance: float, runs: dict[int | None, float | None],
          seeds: list[int | None], by_seed: dict[int, float] | None = None,
          differs: list[str] | None = None) -> Verdict:
    """Return the verdict from the numbers of our runs by seed. A number None belongs to a complete
    run that never reached what is counted. `seeds` [None] says that nothing is random."""
    known = ("; known differences: " + "; ".join(differs)) if differs else ""
    if not runs:
        return Verdict(NOT_RUN, None, "no complete run of this spec")
    finite = [value for value in runs.values() if value is not None]
    ours = float(np.mean(finite)) if finite else None
    if published is None:
        return Verdict(NOT_RUN, ours, "nothing to compare with: the published number was not read",
                       runs)
    failed = len(runs) - len(finite)
    if failed:
        which = "the run" if len(runs) == 1 else f"{failed} of {len(runs)} runs"
        return Verdict(NOT_REPRODUCED, ours, f"{which} never reached what is counted, or gave no "
                       f"finite number{known}", runs)
    assert ours is not None
    off = ours - published
    if seeds == [None]:
        if within(abs(off), tolerance):
            return Verdict(REPRODUCED, ours, "equal" if off == 0 else
                           f"differs by {off:+.4g}, tolerance {tolerance:g}", runs, 0.0)
        return Verdict(NOT_REPRODUCED, ours, f"differs by {off:+.4g}, tolerance {tolerance:g}"
                       f"{known}", runs, 0.0)
    values = np.array(finite)
    missing = [seed for seed in seeds if seed not in runs]
    measured = len(values) > 1
    if measured:
        deviation = float(values.std(ddof=1))
    else:
        listed = list((by_seed or {}).values())
        deviation = float(np.std(listed, ddof=1)) if len(listed) > 1 else math.nan
    half = factor(len(values)) * deviation if measured else math.nan
    at = f"our mean differs by {off:+.3g}"
    if measured:
        at += f" ± {half:.2g}"
    at += f", tolerance {tolerance:g}"
    later = (enough(off, deviation, tolerance, len(seeds), measured)
             if math.isfinite(deviation) else f"{max(2, len(seeds))} runs or more would decide")
    if missing:
        return Verdict(UNDECIDED, ours, f"{at}; no run of seed "
                       f"{', '.join(map(str, missing))}; {later}", runs, half)
    if measured and within(abs(off) + half, tolerance):
        return Verdict(REPRODUCED, ours, at, runs, half)
    if measured and not within(abs(off) - half, tolerance):
        return Verdict(NOT_REPRODUCED, ours, at + known, runs, half)
    return Verdict(UNDECIDED, ours, f"{at}; {later}", runs, half)


def show(numbers: dict[int | None, float | None], published: dict[int | None, float | None],
         name: str, number: str, reason: str) -> Verdict:
    """Return the verdict on a cell that was not published, from the numbers of our runs by seed: it
    is not judged. `published` has those of the cell beside which it stands, `name` and `number` are
    this cell's name and published number."""
    if not numbers:
        return Verdict(NOT_RUN, None, "no complete run of this spec")
    finite = [value for value in numbers.values() if value is not None]
    ours = float(np.mean(finite)) if finite else None
    half = (factor(len(finite)) * float(np.std(finite, ddof=1)) if len(finite) > 1 else math.nan)
    why = f"not the source's experiment: {reason}; the source has {number} for {name}"
    gaps = [mine - other for mine, other in
            ((numbers[seed], published[seed]) for seed in numbers.keys() & published.keys())
            if mine is not None and other is not None]
    if gaps:
        why += f"; ours differs from our {name} by {np.mean(gaps):+.3g}"
        if len(gaps) > 1:
            why += f" ± {factor(len(gaps)) * np.std(gaps, ddof=1):.2g}"
    return Verdict(NOT_JUDGED, ours, why, numbers, half)


def judge_order(above: dict[int | None, float | None], below: dict[int | None, float | None],
                seeds: list[int | None]) -> Verdict:
    """Return the verdict on the order of two cells, from the numbers of our runs by seed; `above`
    has the larger published number."""
    if not above or not below:
        return Verdict(NOT_RUN, None, "no complete run of this spec")
    gaps: dict[int | None, float | None] = {}
    for seed in above.keys() & below.keys():
        more, less = above[seed], below[seed]
        gaps[seed] = None if more is None or less is None else more - less
    values = [gap for gap in gaps.values() if gap is not None]
    if len(values) < len(gaps) or not values:
        return Verdict(UNDECIDED, None, "a run gave no finite number, or no seed has both runs",
                       gaps)
    mean = float(np.mean(values))
    at = f"ours differ by {mean:+.3g}"
    missing = [seed for seed in seeds if seed not in gaps]
    if missing:
        return Verdict(UNDECIDED, mean, f"{at}; no pair of runs of seed "
                       f"{', '.join(map(str, missing))}", gaps)
    if len(values) == 1 and seeds != [None]:
        return Verdict(UNDECIDED, mean, f"{at}; one pair of runs decides nothing", gaps)
    half = 0.0 if seeds == [None] else factor(len(values)) * float(np.std(values, ddof=1))
    at += f" ± {half:.2g}" if half else ""
    if mean - half > 0:
        return Verdict(REPRODUCED, mean, at, gaps, half)
    if mean + half < 0:
        return Verdict(NOT_REPRODUCED, mean, f"{at}: the other order", gaps, half)
    return Verdict(UNDECIDED, mean, at, gaps, half)
