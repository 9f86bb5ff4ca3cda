"""Writes invented traces next to result files: ranks on a ring that exchange after each update."""

import json

FORWARD, BACKWARD, UPDATE, LATENCY, RECORD = 100.0, 200.0, 20.0, 30.0, 15.0  # microseconds


def schedule(ranks: int, iterations: range, delays=None):
    """Return {(rank, iteration): times} of a ring without jitter. `delays`: microseconds by (rank,
    iteration). Times: start, sent, arrived (of the last message), from (its sender)."""
    found, free = {}, [1000.0] * ranks
    for t in iterations:
        for rank in range(ranks):
            start = free[rank]
            sent = start + FORWARD + (delays or {}).get((rank, t), 0.0) + BACKWARD
            found[rank, t] = {"start": start, "sent": sent}
        for rank in range(ranks):
            peers = sorted({(rank - 1) % ranks, (rank + 1) % ranks} - {rank})
            arrivals = [(found[peer, t]["sent"] + LATENCY, peer) for peer in peers]
            last, peer = max(arrivals, default=(found[rank, t]["sent"], -1))
            found[rank, t] |= {"arrived": max(last, found[rank, t]["sent"] + 1.0), "from": peer,
                               "peers": peers}
            free[rank] = found[rank, t]["arrived"] + RECORD + 5.0
    return found


def events(rank: int, ranks: int, iterations: range, delays=None, skew=0.0, uncertainty=2.0,
           host="node01"):
    """Return the events of a rank, in the order in which a run writes them."""
    times = schedule(ranks, iterations, delays)
    head = (("process_name", 0, {"name": f"rank {rank} ({host})"}),
            ("process_sort_index", 0, {"sort_index": rank}),
            ("thread_name", 0, {"name": "program"}), ("thread_name", 1, {"name": "progress"}),
            ("clock", 0, {"offset_us": 3.0, "uncertainty_us": uncertainty}))
    found = [{"name": name, "ph": "M", "pid": rank, "tid": tid, "args": args}
             for name, tid, args in head]

    def add(name, kind, start, end, t, thread=0, **details):
        found.append({"name": name, "cat": kind, "ph": "X", "dur": round(end - start, 3),
                      "ts": round(start + skew, 3), "pid": rank, "tid": thread,
                      "args": {"iteration": t, **details}})

    def flow(kind, at, t, sender, receiver):
        number = (t * ranks + sender) * ranks + receiver
        found.append({"name": "message", "cat": "exchange", "ph": kind, "id": number,
                      "ts": round(at + skew, 3), "pid": rank, "tid": 0,
                      **({"bp": "e"} if kind == "f" else {}),
                      "args": {"iteration": t, "bucket": 0, "bytes": 4096,
                               "peer": receiver if kind == "s" else sender}})

    for t in iterations:
        now = times[rank, t]
        start, sent, arrived = now["start"], now["sent"], now["arrived"]
        computed = sent - BACKWARD
        add("forward", "compute", start, computed, t, replica=rank)
        found.append({"name": "bucket ready", "cat": "compute", "ph": "i", "s": "t",
                      "ts": sent - UPDATE + skew, "pid": rank, "tid": 0,
                      "args": {"iteration": t, "bucket": 0, "bytes": 4096}})
        add("update", "compute", sent - UPDATE, sent, t, bucket=0)
        for peer in now["peers"]:
            flow("s", sent - 1.0, t, rank, peer)
        add("backward", "compute", computed, sent, t, replica=rank)
        add("wait", "wait", sent + 0.5, arrived, t, peer=now["from"])
        for peer in now["peers"]:
            flow("f", max(times[peer, t]["sent"] + LATENCY, sent), t, peer, rank)
        add("exchange", "exchange", sent, arrived, t)
        add("exchange", "exchange", sent, arrived, t, thread=1)
        add("wait", "wait", arrived + 1.0, arrived + RECORD - 1.0, t, peer=0)
        add("measure", "record", arrived, arrived + RECORD, t)
    return found


def write(run, ranks: int, iterations: range = range(3, 7), delays=None, skews=None, **more):
    """Write the traces of all ranks next to the result file `run`. `skews`: microseconds by rank
    that a rank's clock is ahead of that of rank 0. Return the files."""
    files = []
    for rank in range(ranks):
        found = events(rank, ranks, iterations, delays, (skews or {}).get(rank, 0.0), **more)
        files.append(run.with_name(f"{run.stem}.trace-{rank}.json"))
        files[-1].write_text("[\n" + "".join(
            json.dumps(event, separators=(",", ":")) + ",\n" for event in found))
    return files
