"""The tables of bench/gpu: the wanted ratios beside those measured, and every step."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from . import sections


class Unknown(Exception):
    """No figure: why, in a few words."""


def medians(journal, case, rounds):
    """Median milliseconds of a case's sides; of one without, what it said."""
    held = journal.steps("ratios")
    found = [held[f"{case} / {k}"] for k in range(1, rounds + 1) if f"{case} / {k}" in held]
    first = held.get(f"{case} / 0", {})
    names = [name for name in first if name != "status"]
    seen = {}
    for name in names:
        ms = [one[name]["ms"] for one in found if "ms" in one.get(name, {})]
        seen[name] = statistics.median(ms) if ms else first[name]
    return seen


def of(seen, name):
    if name not in seen:
        raise Unknown("not run")
    if isinstance(seen[name], float):
        return seen[name]
    if "reason" in seen[name]:
        raise Unknown(f"{seen[name]['status']}: {seen[name]['reason']}")
    raise Unknown("not run")


def best(seen, names):
    """The least of those; no figure unless all were measured."""
    known = [seen[name] for name in names if isinstance(seen.get(name), float)]
    if 0 < len(known) < len(names):
        without = next(name for name in names if not isinstance(seen.get(name), float))
        reason = seen.get(without, {}).get("reason", "not run")
        raise Unknown(f"not complete: {without}: {reason}")
    return min(of(seen, name) for name in names)


@dataclass
class Wanted:
    title: str
    target: float
    at_most: bool
    value: Callable


def wanted(journal, rounds):
    def sides(case):
        return medians(journal, case, rounds)

    def step(section, name):
        result = journal.steps(section).get(name)
        if result is None:
            raise Unknown("not run")
        if "reason" in result:
            raise Unknown(f"{result['status']}: {result['reason']}")
        return result

    def fused():
        kernels = step("kernels", "kernels over a copy")["kernels"]
        shares = [row["share"] for name, row in kernels.items() if name.startswith("fused")]
        if not shares:
            raise Unknown("not run: no fused kernel among those timed")
        return min(shares)

    def over(case, ours, *others):
        def ratio():
            seen = sides(case)
            return best(seen, others) / of(seen, ours)
        return ratio

    def recorded():
        seen = sides("recording, 16 replicas")
        return of(seen, "dbench, everything") / of(seen, "dbench, nothing")

    def scale():
        seen = sides("scale MLP")
        return of(seen, "dbench, 1008 replicas") / 1008 / (of(seen, "dbench, 16 replicas") / 16)

    everything = ("eager", "graph", "compile")
    of_32, of_512 = "ResNet-20, batch 32", "ResNet-20, batch 512"
    sixteen = "dbench, 16 replicas of 32"
    return [
        Wanted("fused update, mixing and norms over a copy's bandwidth", 0.90, False, fused),
        Wanted("ResNet-20, batch 32: over PyTorch eager", 3.0, False,
               over(of_32, "dbench", "eager")),
        Wanted("ResNet-20, batch 32: over PyTorch's best", 1.1, False,
               over(of_32, "dbench", *everything)),
        Wanted("ResNet-20, batch 128: over DDP eager", 3.0, False,
               over("ResNet-20, batch 128", "dbench", "ddp")),
        Wanted("ResNet-20, batch 512: over PyTorch's best", 1.0, False,
               over(of_512, "dbench", *everything)),
        Wanted("device busy, ResNet-20, batch 32", 0.90, False,
               lambda: step("profile", "device busy, ResNet-20, batch 32")["share"]),
        Wanted("16 replicas of batch 32 over one model at batch 512", 0.70, False,
               over(of_512, sixteen, "dbench")),
        Wanted("16 replicas of batch 32 over a torch.func ensemble", 1.5, False,
               over(of_512, sixteen, "ensemble")),
        Wanted("cost per replica, scale MLP, 1008 over 16 replicas", 1.1, True, scale),
        Wanted("recording everything, 16 replicas", 1.03, True, recorded),
    ]


def against_targets(journal, rounds):
    """Rows (case, wanted, measured, whether it is met or why that is not known)."""
    rows = []
    for row in wanted(journal, rounds):
        bound = f"{'at most ' if row.at_most else ''}{row.target:g}"
        try:
            value = row.value()
            met = value <= row.target if row.at_most else value >= row.target
            rows.append((row.title, bound, f"{value:.2f}", "met" if met else "missed"))
        except Unknown as unknown:
            rows.append((row.title, bound, "", str(unknown)))
    return rows


def words_of(result):
    """What a step found, in a line."""
    if "reason" in result:
        return result["reason"]
    if "distance" in result:
        return f"{result['distance']:.1e} apart at most, {result['tolerance']:g} allowed" + (
            f" ({result['where']})" if result["where"] else "")
    if "compared" in result:
        return f"{result['compared']} compared, {len(result['differs'])} differ"
    numbers = {key: value for key, value in result.items() if isinstance(value, (int, float, str))
               and key not in ("status", "took")}
    sides = {key: value for key, value in result.items() if isinstance(value, dict)
             and ("ms" in value or "reason" in value)}
    texts = [f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
             for key, value in numbers.items()]
    texts += [f"{key} " + (f"{value['ms']:.3f} ms" if "ms" in value else value["status"])
              for key, value in sides.items()]
    return ", ".join(texts)


def columns(rows):
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]) - 1)]
    return ["  ".join([*(f"{word:<{width}}" for word, width in zip(row, widths)), row[-1]]).rstrip()
            for row in rows]


def table(journal, rounds):
    """Lines: the state of each section, its steps, and the wanted ratios."""
    lines = []
    for name in sections.SECTIONS:
        lines.append(f"{name}: {journal.state(name)}")
        rows = [(f"  {step}", result["status"], words_of(result))
                for step, result in journal.steps(name).items()]
        lines += columns(rows) if rows else []
        for found in journal.steps(name).values():
            lines += [f"    {' | '.join(row)}" for row in found.get("rows", [])]
            lines += [f"    {kernel:<32} {row['gb_s']:8.1f} GB/s, {row['share']:.2f} of a copy"
                      for kernel, row in found.get("kernels", {}).items()] if isinstance(
                          found.get("kernels"), dict) else []
    lines += ["", *columns([("case", "wanted", "measured", ""),
                            *against_targets(journal, rounds)])]
    return lines
