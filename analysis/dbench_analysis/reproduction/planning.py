"""The runs of a reproduction as a plan: which are there, and what the others cost."""

import time

import numpy as np

from ..basics.formatting import aligned, counted, seconds
from .running import Place, Planned, cores, is_seed

SHARE_CPU = 0.5  # of the speed of matrix products that training reaches on a core
GPU = ("an NVIDIA H200", 51e12, 0.25)  # products in float32 as measured (docs/gpu.md); the share


def text(place: Place, planned: list[Planned]) -> str:
    """Return the plan: a line for each run, what cannot be run, and the cost of what is missing."""
    there = place.done(planned)
    rows, missing, iterations = [["run", "iterations", "state"]], 0, 0
    assumed = int(place.what.given["cost"].get("iterations", 0))
    for run in planned:
        done = any(is_seed(run, each) for each in there.get(run.identity, []) if run.identity)
        if not done:
            missing += 1
            iterations += run.iterations or assumed
        state = "complete" if done else f"refused: {run.error}" if run.error else "to do"
        rows.append([run.name, str(run.iterations or assumed or "-"), state])
    lacking = [f"not possible yet: {cell.name}: dbench lacks {', '.join(cell.lacks)}"
               for cell in place.what.cells if cell.lacks]
    iterations += assumed * len(place.what.seeds) * len(lacking)
    lines = [aligned(rows)] if planned else []
    lines += [*lacking, f"{counted(len(planned), 'run')}, {missing} to do, in {place.folder}"]
    if lacking and assumed:
        lines.append(f"the cost includes {counted(len(place.what.seeds) * len(lacking), 'run')} "
                     "that are not possible yet")
    return "\n".join([*lines, *cost(place, iterations)])


def cost(place: Place, iterations: int) -> list[str]:
    """Return what these iterations cost here and on a GPU."""
    given = place.what.given["cost"]
    lines = []
    if "core_seconds" in given:
        lines.append("one core: about " + seconds(given["core_seconds"] * iterations))
    elif "flop" in given:
        rate = SHARE_CPU * products_per_second()
        flop = given["flop"] * iterations
        lines.append(f"this machine, {counted(cores(), 'core')}: about {seconds(flop / rate)} "
                     f"(assumed: {100 * SHARE_CPU:.0f} % of the {rate / SHARE_CPU / 1e9:.0f} "
                     "GFLOP/s of its matrix products)")
    if "flop" in given:
        name, speed, share = GPU
        lines.append(f"{name}: about {seconds(given['flop'] * iterations / (speed * share))} "
                     f"(assumed: {100 * share:.0f} % of its {speed / 1e12:.0f} TFLOP/s in float32)")
    return [*lines, f"basis: {given['how']}"]


def products_per_second() -> float:
    """Return the floating-point operations in a second of this machine's float32 matrix products,
    measured for a fraction of a second."""
    size = 768
    matrix = np.ones((size, size), np.float32)
    matrix @ matrix
    began, count = time.perf_counter(), 0
    while time.perf_counter() - began < 0.2:
        matrix @ matrix
        count += 1
    return count * 2 * size ** 3 / (time.perf_counter() - began)
