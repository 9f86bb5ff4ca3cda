"""Speed: step time, throughput and parallel efficiency over n, the bandwidth at which messages are
just hidden, and the cost of an accuracy. Runs whose times are not measurements are not drawn."""

from collections.abc import Callable

import numpy as np

from ..naming import differences
from ..quantities import series, speed
from ..quantities.comparability import caveats, statement
from ..reading.run import Run
from . import style
from .across import doublings

BARS = "median over iterations (bar: 10th to 90th percentile)"


def refused(axes, runs: list[Run]) -> bool:
    """Return whether the times of some run are not measurements; the panels then say why."""
    if not any(caveats(run) for run in runs):
        return False
    for axis in axes:
        style.empty_panel(axis, statement(runs))
    return True


def scaling(runs: list[Run], each: bool = False):
    """Draw step time, throughput and parallel efficiency over the number of replicas. The bars are
    the spread over the iterations of all runs of a setting."""
    figure, (axes,) = style.panels(1, 3, 12.0, 4.2)
    settings = style.settings(runs, each)
    for axis, title, label in zip(
            axes, ("step time", "throughput", "parallel efficiency"),
            ("slowest rank's step (ms)", "samples per second",
             "relative to the least n")):
        axis.set(title=title, xlabel="replicas n", ylabel=label)
    empty = refused(axes, runs)
    if not empty:
        for members in differences.over_replicas([setting.runs[0] for setting in settings]):
            line(axes, sorted((settings[i] for i in members),
                              key=lambda one: one.runs[0].replicas))
        for axis in axes:
            doublings(axis, [run.replicas for run in runs])
            axis.set_ylim(bottom=0)
        style.percent_axis(axes[2])
    for setting in settings:
        axes[0].plot([], [], color=setting.look.colour, marker=setting.look.marker, markersize=5,
                     linewidth=0, label=setting.look.label)
    if not empty:
        axes[0].errorbar([], [], yerr=[], color="#555555", fmt="o", markersize=5, capsize=2,
                         label=BARS)
    style.legend(figure, [axes[0]], len(runs))
    return figure


def relative(n: int, base: float) -> Callable[[float], float]:
    """Return the function from a throughput to the efficiency."""
    return lambda rate: rate / n / base


def line(axes, members: list[style.Setting]):
    """Draw settings that differ in n, which are joined."""
    steps = [speed.step_spread(setting.runs) for setting in members]
    rates = [speed.throughput(setting.runs) for setting in members]
    sizes = [setting.runs[0].replicas for setting in members]
    base = next((rate.median / n for rate, n in zip(rates, sizes) if rate), None)
    shares = [rate.of(relative(n, base)) if rate and base else None
              for rate, n in zip(rates, sizes)]
    look = members[0].look
    for axis, found, unit in zip(axes, (steps, rates, shares), (1e3, 1.0, 1.0)):
        there = [(n, one, member.look) for n, one, member in zip(sizes, found, members) if one]
        axis.plot([n for n, *_ in there], [unit * one.median for _, one, _ in there],
                  color=look.colour, linestyle=look.dash, linewidth=1.2)
        for n, one, own in there:
            axis.errorbar([n], [unit * one.median], color=own.colour, fmt=own.marker, markersize=5,
                          capsize=2, elinewidth=1,
                          yerr=style.bars([unit * one.median], [unit * one.low], [unit * one.high]))


def break_even(runs: list[Run], each: bool = False):
    """Draw the break-even bandwidth of each setting, with its spread over iterations."""
    settings = style.settings(runs, each, full=True)
    labels = [style.wrapped(setting.look.label, 22) for setting in settings]
    figure, ((axis,),) = style.panels(1, 1, 8.0, 1.9 + 0.42 * len(settings),
                                      least=1.1 + style.rows_height(labels))
    axis.set(title="break-even bandwidth", xlabel="bytes a replica sends / time that hides them "
             "(MB/s)")
    if not refused([axis], runs):
        found = [speed.spread(np.concatenate([speed.break_even(run) for run in setting.runs]))
                 for setting in settings]
        for row, (setting, one) in enumerate(zip(settings, found)):
            if one:
                axis.errorbar([one.median / 1e6], [row], fmt=setting.look.marker, markersize=6,
                              color=setting.look.colour, capsize=3, xerr=style.bars(
                                  [one.median / 1e6], [one.low / 1e6], [one.high / 1e6]))
        if any(found):
            style.loss_axis(axis, "x")
        else:
            style.empty_panel(axis, "no messages, or no times recorded")
        axis.errorbar([], [], xerr=[], color="#555555", fmt="o", markersize=6, capsize=3,
                      label=BARS)
        axis.set_yticks(range(len(settings)), labels)
        axis.set_ylim(len(settings) - 0.5, -0.5)
    else:
        for setting in style.settings(runs, each):
            axis.plot([], [], color=setting.look.colour, marker=setting.look.marker, linewidth=0,
                      label=setting.look.label)
    style.legend(figure, [axis], len(runs))
    return figure


def cost(runs: list[Run], each: bool = False):
    """Draw the hours of all ranks together until the mean model first reaches each accuracy: the
    mean over seeds, with a band from the cheapest seed to the dearest."""
    figure, ((axis,),) = style.panels(1, 1, 7.2, 4.6)
    settings, unit = style.settings(runs, each), speed.hours_unit(runs)
    axis.set(title="cost of an accuracy", xlabel="test accuracy of the mean model",
             ylabel=f"{unit} until first reached")
    drawn = False
    if not refused([axis], runs):
        for setting in settings:
            drawn |= paid(axis, setting)
        if drawn:
            axis.set_yscale("log")
            axis.xaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
        else:
            style.empty_panel(axis, "no accuracy or no times recorded")
    for setting in settings:
        axis.plot([], [], color=setting.look.colour, linestyle=setting.look.dash,
                  label=setting.look.label)
    if drawn and any(len(setting.runs) > 1 for setting in settings):
        axis.fill_between([], [], color="#555555", alpha=0.2, linewidth=0,
                          label="band: cheapest to dearest seed")
    style.legend(figure, [axis], len(runs))
    return figure


def paid(axis, setting: style.Setting) -> bool:
    """Draw the cost of one setting, as far as all its seeds reach the accuracy."""
    tables = [series.evaluations(run, "accuracy") for run in setting.runs]
    reached = [float(series.nan_safe(np.nanmax, table["mean"].to_numpy(dtype=float)))
               if len(table) > 1 else float("nan") for table in tables]
    if not np.isfinite(reached).all():
        return False
    first = max(float(table["mean"].iloc[0]) for table in tables)
    targets = np.linspace(first, min(reached), 60)
    hours = np.array([speed.hours_to_reach(run, "accuracy", targets) for run in setting.runs])
    if not (hours > 0).any():
        return False
    hours = np.where(hours > 0, hours, np.nan)
    use = np.isfinite(hours).all(axis=0)
    axis.plot(targets[use], hours[:, use].mean(axis=0), color=setting.look.colour,
              linestyle=setting.look.dash)
    if len(hours) > 1:
        axis.fill_between(targets[use], hours[:, use].min(axis=0), hours[:, use].max(axis=0),
                          color=setting.look.colour, alpha=0.15, linewidth=0)
    return bool(use.any())
