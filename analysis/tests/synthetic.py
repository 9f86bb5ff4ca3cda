"""Writes result files by the schema, with invented but consistent numbers, for the tests.

This module follows the definition of the format and shares no code with the package.
`python synthetic.py FILE` writes a default file; with `--die` the process kills itself while
the file is open in single-writer mode, with `--die-closing` while it is open to set `status`.
"""

import json
import os
import signal
import sys
from dataclasses import dataclass, field

import h5py
import numpy as np

TENSORS = [("conv.weight", 864, "weight"), ("bn.weight", 32, "norm"), ("bn.bias", 32, "norm"),
           ("fc.weight", 5120, "weight"), ("fc.bias", 10, "bias")]
DEGREE = {"complete": lambda n: n - 1, "ring": lambda n: min(2, n - 1),
          "torus": lambda n: min(4, n - 1),
          "exponential": lambda n: int(np.ceil(np.log2(n))) if n > 1 else 0, None: lambda n: n - 1}


@dataclass
class Plan:
    """A run to write. `graph` None means centralized training."""

    name: str = "ring"
    implementation: str | None = "D_ring"
    graph: str | None = "ring"
    replicas: int = 8
    ranks: int = 2
    per_epoch: int = 20
    epochs: int = 5
    evaluated: int = 4
    norms: bool = True
    variance: bool = True
    after: bool = False
    validation: bool = False
    accuracy: bool = True
    tokens: bool = False  # evaluations have a perplexity
    top5: bool = False
    bad_from: int | None = None  # losses are NaN from this iteration on
    status: str = "complete"
    device: str = "cpu"
    reduction: str = "auto"
    cpus: int = 4
    bound: bool = False  # the launcher binds each rank to its own cores
    precision: str = "f4"
    spec: dict = field(default_factory=dict)
    seed: int = 1
    final: float | None = None  # last accuracy of the mean model
    delay: float | None = None  # seconds that /delays add to each step of each rank
    spread: float | None = None  # distance of the replicas from each other; None: that of the graph


def measures(a: np.ndarray) -> dict[str, np.ndarray]:
    """Return the four measures [J, T] of the tensors' norms a[J, n, T], as the format defines them;
    0 if the denominator is 0."""
    n, mean = a.shape[1], a.mean(axis=1)
    q1, q3 = np.percentile(a, (25, 75), axis=1) if a.size else (mean, mean)
    gini = sum(abs(a - a[:, [i]]).sum(axis=1) for i in range(n))

    def over(x, y):
        return np.divide(x, y, out=np.zeros_like(mean), where=y != 0)

    return {
        "gini": over(gini, 2 * n * n * mean),
        "index_of_dispersion": over(a.var(axis=1), mean),
        "coefficient_of_variation": over(a.std(axis=1), mean),
        "quartile_coefficient": over(q3 - q1, q3 + q1),
    }


def text(value: str, size: int = 0):
    raw = value.encode()
    return np.array(raw, dtype=f"S{max(1, size, len(raw))}")


def mixing(plan: Plan) -> np.ndarray:
    """Return W of the plan's graph, with uniform weights."""
    n = plan.replicas
    links = np.eye(n)
    hops = {"complete": range(n), "ring": (1, -1), "torus": (1, -1, 2, -2),
            "exponential": [2**k for k in range(max(1, int(np.ceil(np.log2(max(2, n))))))]}[
                plan.graph]
    for i in range(n):
        for hop in hops:
            links[(i + hop) % n, i] = 1
    return links / links.sum(axis=1, keepdims=True)


def content(plan: Plan) -> dict[str, np.ndarray]:
    """Return all data sets by path."""
    rng = np.random.default_rng(plan.seed)
    n, r, T = plan.replicas, plan.ranks, len(TENSORS)
    I = plan.per_epoch * plan.epochs  # noqa: E741 (axes are named as the format names them)
    t = np.arange(I)
    numel = np.array([size for _, size, _ in TENSORS])
    mixes = {None: 0.0, "complete": 0.15, "exponential": 0.3, "torus": 0.5, "ring": 1.0}[plan.graph]
    mixes = mixes if plan.spread is None else plan.spread
    # the spread decreases over time
    scale = mixes * np.exp(-3 * t / max(1, I)) * (1 - np.exp(-(t + 1) / 5)) * (n > 1)
    f = plan.precision

    norm = np.sqrt(numel)[None, None, :] * (1 + 0.3 * t / max(1, I))[:, None, None]
    norm = norm * (1 + 0.05 * scale[:, None, None] * rng.standard_normal((I, n, T)))
    norm[:1, :, 2] = 0.0  # a bias that starts at zero, so that a denominator is 0
    norm = norm.astype(f)
    variance = (0.02 * scale[:, None] * (1 + 0.5 * rng.random((I, T)))) ** 2
    loss = 2.3 * np.exp(-2 * t / max(1, I))[:, None] + 0.1 * rng.random((I, n))
    accuracy = np.clip(1 - loss / 2.5, 0, 1) if plan.accuracy else np.full((I, n), np.nan)
    if plan.bad_from is not None:
        loss[plan.bad_from :] = np.nan
        norm[plan.bad_from :] = np.nan
        variance[plan.bad_from :] = np.inf
    parts = {"data": 0.002, "gradient": 0.1, "update": 0.003,
             "exchange": 0.01 + 0.001 * DEGREE[plan.graph](n)}
    times = {f"iterations/time_{k}": v * (1 + 0.1 * rng.random((I, r))) for k, v in parts.items()}
    bytes_sent = np.full(I, n * DEGREE[plan.graph](n) * numel.sum() * np.dtype(f).itemsize)

    out = {
        "tensors/name": np.array([name.encode() for name, _, _ in TENSORS]),
        "tensors/numel": numel.astype("i8"),
        "tensors/kind": np.array([kind.encode() for _, _, kind in TENSORS]),
        "ranks/host": np.array([b"node01"] * r),
        "ranks/local_rank": np.arange(r, dtype="i4"),
        "ranks/device": np.array([plan.device.encode()] * r),
        "ranks/cpus": np.full(r, plan.cpus, "i4"),
        "ranks/first_replica": np.array([i * n // r for i in range(r)], "i4"),
        "ranks/slot": np.arange(r, dtype="i4"),
        "iterations/iteration": t.astype("i8"),
        "iterations/epoch": (t + 1) / plan.per_epoch,
        "iterations/lr": np.full(I, 0.1),
        "iterations/train_loss": loss.astype(f),
        "iterations/train_accuracy": accuracy,
        "iterations/graph": np.full(I, -1 if plan.graph is None or n == 1 else 0, "i4"),
        "iterations/rounds": np.full(I, int(plan.graph is not None and n > 1), "i4"),
        "iterations/degree": np.full(I, float(DEGREE[plan.graph](n))),
        "iterations/messages": np.full(I, n * DEGREE[plan.graph](n), "i8"),
        "iterations/bytes_sent": bytes_sent.astype("i8"),
        "iterations/step_time": sum(times.values()) + 0.001 + (plan.delay or 0),
        **times,
        "iterations/time_delay": np.full((I, r), plan.delay or 0.0),
        "iterations/time_profile": np.full((I, r), 0.004),
        "iterations/profile_bytes": np.full(I, 1000, "i8"),
    }
    J = I if plan.norms else 0
    Q = I if plan.variance else 0
    out |= {
        "parameters/iteration": t.astype("i8"),
        "parameters/norm": norm[:J],
        **{f"parameters/{m}": found for m, found in measures(norm[:J].astype("f8")).items()},
        "parameters/update_norm": rng.random((I, n)).astype(f),
        "parameters/gradient_norm": rng.random((I, n)).astype(f),
        "parameters/variance_iteration": t[:Q].astype("i8"),
        "parameters/variance": variance[:Q],
        "parameters/consensus_distance": np.sqrt(variance[:Q] @ numel),
    }
    if plan.after:
        out["parameters/variance_after"] = variance[:Q] / 4
        out["parameters/consensus_distance_after"] = np.sqrt(variance[:Q] @ numel) / 2

    E, m = plan.epochs + 1, min(plan.evaluated, n)
    epoch = np.arange(E, dtype="f8")
    best = 0.75 - 0.25 * mixes
    for prefix in ["", "validation_"] if plan.validation else [""]:
        rise = 0.1 + (best - 0.1) * (1 - np.exp(-epoch / 2))
        local = rise[:, None] + 0.03 * (rng.random((E, m)) - 0.5)
        mean = rise + 0.02
        mean[-1] = mean[-1] if plan.final is None else plan.final
        if not plan.accuracy:
            local[:], mean[:] = np.nan, np.nan
        out |= {
            f"evaluations/{prefix}local_accuracy": local,
            f"evaluations/{prefix}local_loss": (2.3 * np.exp(-epoch / 2)[:, None] + 0.1
                                                * rng.random((E, m))).astype(f),
            f"evaluations/{prefix}mean_accuracy": mean,
            f"evaluations/{prefix}mean_loss": (2.3 * np.exp(-epoch / 2)).astype(f),
        }
        if plan.tokens:
            out |= {f"evaluations/{prefix}{of}_perplexity":
                    np.exp(out[f"evaluations/{prefix}{of}_loss"].astype("f8"))
                    for of in ("local", "mean")}
        if plan.top5:
            out |= {f"evaluations/{prefix}{of}_top5":
                    np.sqrt(out[f"evaluations/{prefix}{of}_accuracy"]) for of in ("local", "mean")}
    out |= {
        "evaluations/iteration": (np.arange(E) * plan.per_epoch).astype("i8"),
        "evaluations/epoch": epoch,
        "evaluations/elapsed": epoch * 3.0,
        "evaluations/replica": np.array([j * n // m for j in range(m)], "i4"),
        "segments/started": np.array([b"2025-01-01T10:00:00Z"]),
        "segments/host": np.array([b"node01"]),
        "segments/ranks": np.array([r], "i4"),
        "events/time": np.array([1.0]),
        "events/iteration": np.array([0], "i8"),
        "events/kind": np.array([b"warning"]),
        "events/text": np.array([b"6 % of the samples are left out of each epoch <&>"]),
    }
    if plan.graph is None or n == 1:
        out |= {"graphs/offset": np.zeros(1, "i8"), "graphs/edge": np.zeros((0, 2), "i4"),
                "graphs/weight": np.zeros(0),
                "graphs/degree": np.zeros(0), "graphs/rho": np.zeros(0)}
    else:
        W = mixing(plan)
        edges = np.argwhere(W > 0)
        out |= {"graphs/offset": np.array([0, len(edges)], "i8"), "graphs/edge": edges.astype("i4"),
                "graphs/weight": W[W > 0], "graphs/degree": np.array(
                    [float(DEGREE[plan.graph](n))]), "graphs/rho": np.array([rho(W)])}
    return out


def rho(W: np.ndarray) -> float:
    return float(np.sort(np.abs(np.linalg.eigvals(W)))[-2])


def spec(plan: Plan) -> dict:
    found = {
        "name": plan.name, "notes": "", "replicas": plan.replicas,
        "seed": {"init": 1, "data": 1, "graph": 1, "augment": 1},
        "precision": {"f4": "float32", "f8": "float64"}[plan.precision], "device": plan.device,
        "model": {"type": "cnn"},
        "data": {"type": "shapes", "batch_size": 32, "partition": {"type": "shuffled"},
                 "validation": 500 * plan.validation},
        "optimizer": {"type": "sgd", "lr": 0.1, "momentum": 0, "nesterov": False, "weight_decay": 0,
                      "decay": "all"},
        "profile": {"norms": plan.norms, "variance": {"kind": "exact" if plan.variance else "off"},
                    "after": plan.after},
        "reduction": plan.reduction, "output": f"results/{plan.name}.h5",
    }
    if plan.delay is not None:
        found["delays"] = [{"replicas": "all", "seconds": plan.delay}]
    if plan.implementation:
        found["implementation"] = plan.implementation
    else:
        found |= {"graph": {"type": plan.graph},
                  "algorithm": {"type": "dsgd", "order": "combine_while_adapt"}}
    return found | plan.spec


def certificate(plan: Plan) -> dict:
    if plan.graph is None or plan.replicas == 1:
        return {}
    W, d = mixing(plan), DEGREE[plan.graph](plan.replicas)
    return {"type": plan.graph, "n": plan.replicas, "connected": True, "row_stochastic": True,
            "column_stochastic": True,
            "symmetric": bool(np.allclose(W, W.T)), "degree": {"min": d, "mean": d, "max": d},
            "rho": rho(W),
            "gap": 1 - rho(W), "period": 1, "rho_period": rho(W),
            "finite_time": 1 if plan.graph == "complete" else None}


def write(path, plan: Plan, ending: str = "close"):
    """Writes the file. `ending`: close; swmr (left open in that mode); closing (open for
    status)."""
    arrays = content(plan)
    file = h5py.File(path, "w", libver="latest")
    for key, value in (("schema", text("dbench-run")), ("schema_version", 1),
                       ("status", text("running", 16)),
                       ("name", text(plan.name)), ("replicas", plan.replicas),
                       ("ranks", plan.ranks),
                       ("started", text("2025-01-01T10:00:00Z")), ("finished", text("", 32)),
                       ("error", text("", 256))):
        file.attrs[key] = value
    file["spec"] = text(json.dumps(spec(plan)))
    variables = {"OMP_NUM_THREADS": "1"} | ({"OMPI_MCA_orte_bound_at_launch": "1"} if plan.bound
                                            else {})
    file["provenance"] = text(json.dumps({"versions": {"dbench": "0.1"}, "command": [
        "dbench", "run"], "environment": {"variables": variables}}))
    made = {}
    for name, value in arrays.items():
        made[name] = file.create_dataset(
            name, shape=(0, *value.shape[1:]), maxshape=(None, *value.shape[1:]),
            chunks=(min(16, max(1, len(value))), *[max(1, s) for s in value.shape[1:]]),
            dtype=value.dtype)
    file["graphs"].attrs["certificate"] = text(json.dumps(certificate(plan)), 2048)
    file.swmr_mode = True
    for name, value in arrays.items():
        made[name].resize(len(value), axis=0)
        made[name][:] = value
        made[name].flush()
    file.flush()
    if ending == "swmr":
        return file
    file.close()
    file = h5py.File(path, "r+", libver="latest")
    if ending == "closing":
        return file
    file.attrs.modify("status", text(plan.status, 16))
    file.attrs.modify("finished", text("2025-01-01T10:05:00Z", 32))
    if plan.status == "failed":
        file.attrs.modify("error", text("rank 1: no space left", 256))
    file.close()
    return None


if __name__ == "__main__":
    how = {"--die": "swmr", "--die-closing": "closing"}
    kept = write(sys.argv[1], Plan(), next((how[a] for a in sys.argv[2:] if a in how), "close"))
    if kept is not None:
        os.kill(os.getpid(), signal.SIGKILL)
