"""The kinds of figures, as a table that does without Matplotlib.

`plot` takes its choices and options from this table, `report` its titles and explanations.
`figures.drawing` has the function that draws each kind.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ..quantities import ends
from ..reading.run import Run
from ..tables import early_correlations, rank_tables
from . import relevance


@dataclass(frozen=True)
class Kind:
    """One kind of figure.

    title, reading   the heading, and sentences that explain how to read the figure
    relevant         returns whether the figure shows anything for the given runs
    options          the options of `plot` that it accepts: measure, window, x
    left_out         returns how many runs the figure leaves out and why, from the runs and `each`
    text             returns what `plot` prints below the picture, from the runs and the options
    many_runs        it remains readable, and quick to draw, with hundreds of runs
    per_setting      one picture for each setting, instead of one picture of all runs
    single_runs      it can draw single runs instead of means over seeds
    from_rows        it needs only the rows of a table of `collect`, no result files
    curves           it draws curves over iterations, of which `start` drops the first
    bands            it draws bands or bars over seeds, which `band` chooses
    part             the part of a report that shows it, a key of PARTS; "" if the report has
                     interactive curves in its place
    """

    name: str
    title: str
    reading: str
    relevant: Callable[[list[Run]], bool] = relevance.always
    options: tuple[str, ...] = ()
    left_out: Callable[[list[Run], bool], str] | None = None
    text: Callable[..., str] | None = None
    many_runs: bool = False
    per_setting: bool = False
    single_runs: bool = True
    from_rows: bool = False
    curves: bool = False
    bands: bool = False
    part: str = ""


PARTS = {"spread": "Disagreement of the replicas", "communication": "Communication and scale",
         "time": "Time", "graphs": "Graphs"}
KINDS = {
    kind.name: kind
    for kind in (
        Kind("variance-accuracy", "Variance versus accuracy",
             "Each setting moves through training from its small points to its open marker. "
             "Further left means that the replicas agree more, higher means that they are more "
             "accurate. With several settings, the second panel shows the final accuracy against "
             "the variance in the first tenth of the iterations.",
             relevance.spread, options=("measure",), many_runs=True, from_rows=True, part="spread"),
        Kind("accuracy", "Accuracy and loss",
             "Lines are the median of the evaluated local models, bands run from the worst to the "
             "best of them, open markers are the model with the averaged parameters. A wide band, "
             "or markers far above the line, means that the replicas differ.",
             relevance.evaluated, curves=True, bands=True),
        Kind("training", "Training accuracy and loss",
             "Accuracy and loss on the replicas' minibatches, at the parameters at which the "
             "gradient is computed: median and range over the replicas.", curves=True),
        Kind("consensus", "Consensus distance and variance",
             "How far the replicas are from their mean just before averaging: the root mean square "
             "distance in parameter space, and its square divided by the number of parameters. "
             "Both are exactly zero if all replicas are identical.",
             relevance.spread, curves=True, bands=True),
        Kind("dispersion", "Dispersion of the parameter norms",
             "Four measures of how unequal the replicas' tensor norms are just before averaging: "
             "the median over the weight tensors, the band from quartile to quartile. Zero means "
             "equal norms.",
             relevance.norms, curves=True),
        Kind("tensors", "Dispersion tensor by tensor",
             "Rows are parameter tensors from input to output. The colour is the measure: bright "
             "rows are the layers in which the replicas differ most. Grey is zero.",
             relevance.tensors, per_setting=True, single_runs=False, part="spread"),
        Kind("communication", "Communication",
             "To how many neighbours a replica sends in each iteration, and which accuracy was "
             "reached for the bytes sent.",
             relevance.communications, curves=True, bands=True),
        Kind("adaptation", "Graphs that change",
             "What a controller of the graph sets (neighbours), what it may measure (dispersion of "
             "the norms, consensus distance) and the result, over the same epochs. Static graphs "
             "are flat lines in the first panel.",
             relevance.changing_graphs, curves=True, bands=True, part="communication"),
        Kind("convergence", "Convergence",
             "How fast the model with the averaged parameters learns. The band goes from the "
             "lowest seed to the highest.",
             relevance.several_runs, options=("x",), many_runs=True, curves=True, bands=True),
        Kind("early", "Early spread and final accuracy",
             "Each setting is a point: the spread of the replicas in the first part of the run, "
             "and the final accuracy. The rank correlations are printed above, with and without "
             "C_complete, whose replicas are always identical.",
             relevance.three_settings, options=("measure", "window"), text=early_correlations.text,
             many_runs=True, part="spread"),
        Kind("connections", "Accuracy against connections",
             "Final accuracy against the mean number of neighbours. Filled: median of the local "
             "models, bar from worst to best. Open: the mean model, bar: standard deviation over "
             "seeds.",
             relevance.communications, left_out=ends.without_end_or_degree, many_runs=True,
             from_rows=True, part="communication"),
        Kind("scale", "Accuracy against scale",
             "Final accuracy against the number of replicas. Solid lines and filled markers join "
             "runs with the same batch per replica, dashed lines and open markers join runs with "
             "the same batch over all replicas. Markers are means, bars go from the lowest run to "
             "the highest.",
             relevance.scales, left_out=ends.without_end, many_runs=True, from_rows=True,
             part="communication"),
        Kind("ranks", "Ranks of the implementations",
             "In every group of runs that differ only in algorithm and graph, the implementations "
             "are ranked by how unequal the replicas' norms are (1: least) and by final accuracy "
             "(1: best). Marks are mean ranks over the groups, bars are their standard deviation. "
             "If the marks follow the line, less dispersion goes together with more accuracy.",
             relevance.communications, options=("window",), text=rank_tables.text, many_runs=True,
             single_runs=False, part="spread"),
        Kind("timing", "Where the time goes",
             "Mean time of an iteration by part. Exchange is only the part that does not overlap "
             "with computation. Profiling is not part of the step.", part="time"),
        Kind("speed", "Speed over scale",
             "Step time, throughput and parallel efficiency over the number of replicas: the "
             "median over iterations, with bars from the 10th to the 90th percentile. Efficiency "
             "is the throughput per replica, relative to the least n of the same communication.",
             relevance.speeds, many_runs=True, part="time"),
        Kind("break-even", "Break-even bandwidth",
             "The bytes that a replica sends in an iteration, divided by the time that can hide "
             "them: the backward pass, or the whole gradient with combine_while_adapt. A network "
             "with more bandwidth than this hides the messages; with less, the step waits.",
             relevance.messages_in_time, many_runs=True, part="time"),
        Kind("cost", "Cost of an accuracy",
             "Hours of all GPUs (or CPU ranks) together in steps, until the mean model first "
             "reaches an accuracy. Lower is cheaper; a line ends at the accuracy that all seeds of "
             "the setting reach.",
             relevance.costs, many_runs=True, part="time"),
        Kind("graphs", "Communication graphs",
             "Replicas stand on a circle. A line is a link in both directions, an arrow a link in "
             "one direction; in a sequence of graphs, the colour shows the first round with this "
             "link. The larger the gap, the faster averaging makes the replicas equal.",
             relevance.graphs, many_runs=True, single_runs=False, part="graphs"),
    )
}
