"""The runs of a reproduction as a plan: which are there, and what the others cost."""

import time

import numpy as np

from ..basics.formatting import aligned, counted, seconds
from .definition import Cell
from .running import Place, Planned, cores, is_seed

SHARE_CPU = 0.5  # of the speed of matrix products that training reaches on a core
GPU = ("an NVIDIA H200", 51e12, 0.25)  # products in float32 as measured (docs/gpu.md); the share


def text(place: Place, planned: list[Planned]) -> str:
    """Return the plan: a line for each run, what cannot be run, and the cost of what is missing."""
    there = place.done(planned)
    rows, missing, due = [["run", "iterations", "state"]], 0, []
    reasons: dict[str, int] = {}
    for run in planned:
        done = any(is_seed(run, each) for each in there.get(run.identity, []) if run.identity)
        iterations = run.iterations or assumed(run.cell)
        if not done:
            missing += 1
            due.append((run.cell, iterations))
        if run.error and not done:
            reasons[run.error] = reasons.get(run.error, 0) + 1
        state = "complete" if done else "refused" if run.error else "to do"
        rows.append([run.name, str(iterations or "-"), state])
    lacking = [cell for cell in place.what.cells if cell.lacks]
    impossible = len(place.what.seeds) * len(lacking)
    due += [(cell, assumed(cell)) for cell in lacking for _ in place.what.seeds]
    lines = [aligned(rows)] if planned else []
    lines += [f"refused, {counted(number, 'run')}: {reason}" for reason, number in reasons.items()]
    lines += [f"not possible yet: {cell.name}: dbench lacks {', '.join(cell.lacks)}"
              for cell in lacking]
    lines.append(f"{counted(len(planned), 'run')}, {missing} to do, in {place.folder}")
    if any(assumed(cell) for cell in lacking):
        lines.append(f"the cost includes {counted(impossible, 'run')} that are not possible yet")
    known = [(cell, iterations) for cell, iterations in due if iterations]
    if len(known) < len(due):
        lines.append(f"the cost leaves out {counted(len(due) - len(known), 'run')} of unknown "
                     "length")
    return "\n".join(lines + (cost(place.what.cells, known) if known or not due else []))


def assumed(cell: Cell) -> int:
    """Return the iterations of a run that the program cannot plan; 0 if they are not known."""
    return int(cell.cost.get("iterations", 0))


def cost(cells: list[Cell], due: list[tuple[Cell, int]]) -> list[str]:
    """Return what the runs that are due (their cells and iterations) cost here and on a GPU. A
    number that a cell lacks gives no estimate, because the sum would leave this cell out."""
    def known(key: str) -> bool:
        return all(key in cell.cost for cell in cells)

    def sum_of(key: str) -> float:
        return sum(cell.cost[key] * iterations for cell, iterations in due)

    lines = []
    if known("core_seconds"):
        lines.append("one core: about " + seconds(sum_of("core_seconds")))
    elif known("flop"):
        rate = SHARE_CPU * products_per_second()
        lines.append(f"this machine, {counted(cores(), 'core')}: about "
                     f"{seconds(sum_of('flop') / rate)} (assumed: {100 * SHARE_CPU:.0f} % of the "
                     f"{rate / SHARE_CPU / 1e9:.0f} GFLOP/s of its matrix products)")
    if known("flop"):
        name, speed, share = GPU
        lines.append(f"{name}: about {seconds(sum_of('flop') / (speed * share))} "
                     f"(assumed: {100 * share:.0f} % of its {speed / 1e12:.0f} TFLOP/s in float32)")
    how = dict.fromkeys(cell.cost["how"] for cell in cells)
    return [*lines, *(f"basis: {each}" for each in how)]


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
