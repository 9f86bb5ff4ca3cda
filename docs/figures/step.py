#!/usr/bin/env python3
"""Draw one training step of two ranks, in two orders, for docs/architecture.md.

    .venv/bin/python docs/figures/step.py            # writes docs/images/step.svg
    .venv/bin/python docs/figures/step.py step.png   # the same picture as a PNG

The times are invented: the figure shows the order of events, not measurements.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle

OUTPUT = Path(__file__).resolve().parents[1] / "images" / "step.svg"

COLOURS = {
    "forward": "#bcd5ee",
    "backward": "#7fa8d8",
    "update": "#f2b66d",
    "finish": "#8cc48a",
    "message": "#d9c9ea",
    "wait": "#ffffff",
}
INK = "#222222"
LANES = {"main 0": 3.0, "progress 0": 2.0, "progress 1": 0.8, "main 1": -0.2}
HEIGHT = 0.62
TRANSFER = 1.25  # time of a message
LATE = 0.45  # rank 1 begins this much later than rank 0
BUCKETS = 3


def box(axes, lane, begin, end, kind, label="", hatch=None):
    """Draw a period of one thread."""
    y = LANES[lane] - HEIGHT / 2
    axes.add_patch(Rectangle((begin, y), end - begin, HEIGHT, facecolor=COLOURS[kind],
                             edgecolor=INK, linewidth=0.6, hatch=hatch))
    if label:
        axes.text((begin + end) / 2, LANES[lane], label, ha="center", va="center", fontsize=7.5)


def start_mark(axes, rank, time):
    """Mark the call of start_mix on the main thread, which hands the messages over."""
    main, progress = LANES[f"main {rank}"], LANES[f"progress {rank}"]
    sign = 1 if progress < main else -1
    axes.annotate("", (time, progress + sign * HEIGHT / 2), (time, main - sign * HEIGHT / 2),
                  arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 0.9, "shrinkA": 0,
                              "shrinkB": 0})


def message(axes, sender, begin, end):
    """Draw the message of one bucket from `sender` to the other rank."""
    edge = HEIGHT / 2
    y = (LANES["progress 0"] - edge, LANES["progress 1"] + edge)
    top, bottom = y if sender == 0 else y[::-1]
    axes.annotate("", (end, bottom), (begin, top),
                  arrowprops={"arrowstyle": "-|>", "color": "#6a3d9a", "lw": 1.1, "shrinkA": 0,
                              "shrinkB": 0})


def transfer(axes, starts, end, name):
    """Draw one exchange, which rank r starts at starts[r], on both progress threads."""
    for rank, begin in enumerate(starts):
        box(axes, f"progress {rank}", begin, end, "message", name)
        message(axes, rank, begin + 0.12, begin + TRANSFER - 0.12)


def frame(axes, title, last):
    """Draw the names of the lanes and the title."""
    axes.set_title(title, loc="left", fontsize=9.5, fontweight="bold", color=INK)
    for lane, y in LANES.items():
        axes.axhline(y, color="#bbbbbb", lw=0.6, zorder=0)
        name, rank = lane.split()
        axes.text(-0.2, y, f"rank {rank}, {name} thread", ha="right", va="center", fontsize=8)
    axes.set_xlim(-0.1, last)
    axes.set_ylim(-0.75, 3.55)
    axes.axis("off")


def adapt_then_combine(axes):
    """Draw the order in which buckets are updated and sent inside backward."""
    forward, backward, update, finish = 3.0, 1.35, 0.5, 0.5
    now, done = [0.0, LATE], []
    for rank in (0, 1):
        box(axes, f"main {rank}", now[rank], now[rank] + forward, "forward", "forward")
        now[rank] += forward
    for k in range(BUCKETS):
        for rank in (0, 1):
            lane, t = f"main {rank}", now[rank]
            box(axes, lane, t, t + backward, "backward", f"backward {k + 1}")
            box(axes, lane, t + backward, t + backward + update, "update", f"u{k + 1}")
            now[rank] = t + backward + update
            start_mark(axes, rank, now[rank])
        starts = tuple(now)
        done.append(max(starts) + TRANSFER)
        transfer(axes, starts, done[k], f"bucket {k + 1}")
        for rank in (0, 1):  # an earlier bucket that has arrived is finished inside backward
            if k > 0 and done[k - 1] <= now[rank]:
                box(axes, f"main {rank}", now[rank], now[rank] + finish, "finish", f"W{k}")
                now[rank] += finish
    for rank in (0, 1):
        lane, t = f"main {rank}", now[rank]
        box(axes, lane, t, done[-1], "wait", "", "////")
        box(axes, lane, done[-1], done[-1] + finish, "finish", f"W{BUCKETS}")
    last = done[-1] + finish
    frame(axes, "adapt_then_combine (ATC):  x <- W (x - lr d(g(x)))", last + 1.9)
    axes.text(last + 0.12, LANES["main 0"], "x of the next\niteration\nis complete", fontsize=7.5,
              va="center", bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})


def combine_while_adapt(axes):
    """Draw the order in which x is sent before forward, and summed and updated after backward."""
    forward, backward, finish, following = 3.0, 4.05, 0.8, 1.6
    starts, next_starts = (0.0, LATE), ([], [])
    end = max(starts) + 3.4
    for rank, t in enumerate(starts):
        lane = f"main {rank}"
        start_mark(axes, rank, t + 0.02)
        box(axes, f"progress {rank}", t, end, "message", "tiles 1, 2 and 3")
        for k in range(BUCKETS):
            message(axes, rank, t + 0.12 + k, t + k + TRANSFER - 0.12)
        box(axes, lane, t, t + forward, "forward", "forward")
        box(axes, lane, t + forward, t + forward + backward, "backward", "backward")
        t += forward + backward
        for k in range(BUCKETS):
            box(axes, lane, t, t + finish, "finish", f"W{k + 1}, u{k + 1}")
            t += finish
            start_mark(axes, rank, t)
            next_starts[rank].append(t)
        box(axes, lane, t, t + following, "forward", "forward")
    last = max(map(max, next_starts))
    for rank, times in enumerate(next_starts):  # the exchange of the next iteration
        box(axes, f"progress {rank}", times[0], last + TRANSFER, "message", "tiles 1, 2 and 3")
        for t in times:
            message(axes, rank, t + 0.12, t + TRANSFER - 0.12)
    frame(axes, "combine_while_adapt (AWC):  x <- W x - lr d(g(x))", last + following + 0.2)


def legend(figure):
    """Explain colours and arrows below the panels."""
    entries = [("forward", "forward pass"), ("backward", "backward pass"),
               ("update", "uk: local update of bucket or tile k"),
               ("message", "messages in flight, polled"),
               ("finish", "Wk: weighted sum of bucket or tile k (finish_mix)")]
    handles = [Rectangle((0, 0), 1, 1, facecolor=COLOURS[kind], edgecolor=INK, linewidth=0.6)
               for kind, _ in entries]
    handles.append(Rectangle((0, 0), 1, 1, facecolor="white", edgecolor=INK, linewidth=0.6,
                             hatch="////"))
    labels = [text for _, text in entries] + ["wait for messages (the exposed part)"]
    figure.legend(handles, labels, loc="lower center", ncol=3, fontsize=8, frameon=False,
                  bbox_to_anchor=(0.5, 0.025))
    figure.text(0.5, 0.012, "black arrow: start_mix starts messages, which the progress thread "
                "polls;  purple arrow: message to the other rank;  time runs to the right",
                ha="center", fontsize=8, color=INK)


def main(output):
    """Write the figure to `output`."""
    plt.rcParams.update({"svg.hashsalt": "step", "font.family": "DejaVu Sans",
                         "text.color": INK, "hatch.linewidth": 0.5})
    figure, (above, below) = plt.subplots(2, 1, figsize=(10, 6.4), facecolor="white")
    adapt_then_combine(above)
    combine_while_adapt(below)
    legend(figure)
    figure.subplots_adjust(left=0.155, right=0.995, top=0.955, bottom=0.13, hspace=0.16)
    figure.savefig(output, dpi=130, metadata={"Date": None} if output.suffix == ".svg" else None)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else OUTPUT)
