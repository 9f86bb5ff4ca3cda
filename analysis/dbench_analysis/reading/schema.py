"""The content of a result file (schema `dbench-run`, version 1): axes and unit of each column.

Axes: I iteration, J profiled iteration, Q iteration with variance, E evaluation, n replica, m
evaluated replica, r rank, T tensor. A unit in the file's attributes takes precedence.
"""

from .metrics import METRICS

NAME, VERSION = "dbench-run", 1
# names of the labels along an axis, in every frame and array
AXES = {**dict.fromkeys("IJQE", "iteration"), "n": "replica", "m": "replica", "r": "rank",
        "T": "tensor"}

MEASURES = ("gini", "index_of_dispersion", "coefficient_of_variation", "quartile_coefficient")
TIME_PARTS = ("data", "gradient", "update", "exchange")

ITERATIONS = {
    "iteration": ("I", "iteration"),
    "epoch": ("I", "epochs"),
    "lr": ("I", "1"),
    "train_loss": ("In", "1"),
    "train_accuracy": ("In", "fraction"),
    "graph": ("I", "row of /graphs"),
    "rounds": ("I", "averagings"),
    "degree": ("I", "neighbours"),
    "messages": ("I", "messages"),
    "bytes_sent": ("I", "bytes"),
    "step_time": ("Ir", "s"),
    **{f"time_{part}": ("Ir", "s") for part in TIME_PARTS},
    "time_delay": ("Ir", "s"),
    "start_time": ("Ir", "s"),
    **{f"time_{part}": ("Ir", "s") for part in ("forward", "backward", "wait", "mix", "progress")},
    "time_wait_rank": ("Ir", "rank"),
    "time_control": ("Ir", "s"),
    "control_bytes": ("I", "bytes"),
    "time_profile": ("Ir", "s"),
    "profile_bytes": ("I", "bytes"),
}

PARAMETERS = {
    "iteration": ("J", "iteration"),
    "norm": ("JnT", "1"),
    **dict.fromkeys(MEASURES, ("JT", "1")),
    "update_norm": ("Jn", "1"),
    "gradient_norm": ("Jn", "1"),
    "variance_iteration": ("Q", "iteration"),
    "variance": ("QT", "1"),
    "consensus_distance": ("Q", "1"),
    "variance_after": ("QT", "1"),
    "consensus_distance_after": ("Q", "1"),
}

EVALUATIONS = {
    "iteration": ("E", "iterations completed"),
    "epoch": ("E", "epochs"),
    "elapsed": ("E", "s"),
    "replica": ("m", "replica"),
}
for _set in ("", "validation_"):
    EVALUATIONS |= {
        f"{_set}{of}_{metric.name}": (axes, metric.unit)
        for metric in METRICS.values() for of, axes in (("local", "Em"), ("mean", "E"))
    }

TABLES = {"iterations": ITERATIONS, "parameters": PARAMETERS, "evaluations": EVALUATIONS}
GROUPS = ("tensors", "ranks", "iterations", "parameters", "evaluations", "graphs")

# allowed types of members of the JSON texts, if a member exists
SPEC: dict[str, tuple] = {
    **dict.fromkeys(("model", "data", "optimizer", "algorithm", "schedule"), (str, dict)),
    **dict.fromkeys(("implementation", "precision", "reduction", "notes"), (str,)),
    **dict.fromkeys(("profile", "evaluate"), (dict,)),
    "graph": (str, dict, list), "seed": (int, dict), "delays": (list,),
}
PREDICTION: dict[str, tuple] = {
    **dict.fromkeys(("assumptions", "graphs", "within_noise"), (list,)), "fastest": (str,),
    **dict.fromkeys(("ranks", "hosts", "iterations"), (int,)),
}
CERTIFICATE: dict[str, tuple] = {"rho": (int, float), "degree": (int, float, dict)}
