"""Summarise the measurements of bench/peers as a dictionary (for JSON) and as a table."""

import statistics

COLUMNS = ["case", "ms", "least to most", "over none", "over the same", "over the best"]
RATIOS = {"over_whole": "over float32", "over_floor": "over the wire's floor"}


def best(cases, rows, names):
    """Return the smallest median of the cases in `names`, or None if none was measured."""
    return min((rows[case.name]["median"] for case in cases
                if case.name in names and "median" in rows[case.name]), default=None)


def summary(cases, seen, failed):
    """Return for each case's name its rounds in ms, their median and range, and ratios of medians:
    over the same program without exchange, over the best other program that exchanges the same,
    over the best other program that exchanges anything and, for 16 bits, over the same case in
    float32. `seen` maps names to the milliseconds of the rounds, `failed` maps names to reasons."""
    rows: dict = {}
    for case in cases:
        ms = seen.get(case.name, [])
        rows[case.name] = {"exchange": case.exchange, "ms": ms}
        if case.name in failed:
            rows[case.name]["failed"] = failed[case.name]
        if ms:
            rows[case.name].update(median=statistics.median(ms), least=min(ms), most=max(ms))
    peers = [case for case in cases if not case.ours]
    for case in cases:
        none = {other.name for other in cases
                if other.exchange == "none" and other.ours == case.ours}
        same = {peer.name for peer in peers if peer.exchange == case.exchange}
        exchanging = {peer.name for peer in peers if peer.exchange != "none"}
        others = {"over_none": none - {case.name}, "over_same": same if case.ours else set(),
                  "over_best": exchanging if case.exchange != "none" else set(),
                  "over_whole": {case.whole}}
        for key, names in others.items():
            reference = best(cases, rows, names)
            if reference and "median" in rows[case.name]:
                rows[case.name][key] = rows[case.name]["median"] / reference
    return rows


def floors(cases, rows, run, parameters, rate, hosts):
    """Add the least time that the link needs: the bytes that a host sends, divided by the rate of
    its link. With several ranks per host it is known only for sums over all ranks, which a host
    can begin with the sum of its own ranks."""
    for case in cases:
        if hosts != run.ranks and not case.sums_all:
            continue
        floor = case.sends(hosts, run.node) * parameters * 4 * 8 / rate * 1e3
        rows[case.name]["floor"] = floor
        if floor and "median" in rows[case.name]:
            rows[case.name]["over_floor"] = rows[case.name]["median"] / floor


def cell(row, key):
    return f"{row[key]:.2f}" if key in row else ""


def table(rows, remarks=()):
    """Return the lines of a Markdown table. `remarks` are (name, text) of cases without results."""
    more = [key for key in RATIOS if any(key in row for row in rows.values())]
    columns = COLUMNS + [RATIOS[key] for key in more]
    lines = ["| " + " | ".join(columns) + " |", "|---|" + "---:|" * (len(columns) - 1)]
    for name, row in rows.items():
        if "median" not in row:
            continue
        cells = [name, f"{row['median']:.1f}", f"{row['least']:.1f} to {row['most']:.1f}"]
        cells += [cell(row, key) for key in ("over_none", "over_same", "over_best", *more)]
        lines.append("| " + " | ".join(cells) + " |")
    failed = [(name, row["failed"]) for name, row in rows.items() if "failed" in row]
    return lines + [f"| {name} | {words} |" + " |" * (len(columns) - 2)
                    for name, words in [*failed, *remarks]]
