"""Names of a run's communication, graph, algorithm and data partition."""

import json

from ..reading.run import Run

ALL_REDUCE = "all-reduce equivalent"
USUAL_ORDER = "adapt_then_combine"
# Algorithms that do not average whole rows of all replicas at once, not even over a complete graph:
# asynchronous ones and those that compress messages.
NEVER_ALL_REDUCE = {"ad_psgd", "swift", "choco", "adagossip", "dcd", "ecd", "deepsqueeze", "beer",
                    "motef", "moniqua", "powergossip", "quantized_push_sum"}


def algorithm(run: Run) -> str:
    """Return the algorithm's type."""
    spec = run.spec.get("algorithm")
    if spec is None:
        return "centralized" if run.spec.get("implementation") == "C_complete" else "dsgd"
    return type_of(spec)


def graph(run: Run) -> str:
    """Return the graph's type; "none" for centralized training."""
    implementation = run.spec.get("implementation")
    if implementation:
        return {"C_complete": "none"}.get(implementation, implementation.removeprefix("D_"))
    return type_of(run.spec.get("graph")) if run.spec.get("graph") else "none"


def type_of(spec) -> str:
    """Return the type in a spec's entry, which is a string or an object; of a list of graphs all
    types."""
    if isinstance(spec, list):
        return ", ".join(type_of(entry) for entry in spec)
    if isinstance(spec, dict):
        return str(spec.get("type", "?"))
    return "none" if spec is None else str(spec)


def order(run: Run) -> str:
    """Return the order in which the algorithm computes and exchanges, as its spec names it."""
    spec = run.spec.get("algorithm")
    return spec.get("order", USUAL_ORDER) if isinstance(spec, dict) else USUAL_ORDER


def implementation(run: Run) -> str:
    """Return one of the five names if the spec is equivalent to it, else algorithm and graph."""
    named = run.spec.get("implementation")
    if named:
        return named
    kind = algorithm(run)
    if kind == "centralized":
        return "C_complete"
    if kind == "dsgd" and order(run) == USUAL_ORDER:
        if graph(run) in ("complete", "ring", "torus", "exponential"):
            return f"D_{graph(run)}"
        return graph(run)
    short = {"combine_while_adapt": " AWC", "combine_then_adapt": " CTA", "awc": " AWC",
             "parallel": " parallel"}
    return f"{kind}{short.get(order(run), '')} {graph(run)}"


def marked(implementation: str) -> str:
    """Return a name by `implementation`, with a note if averaging over its graph is an
    all-reduce."""
    complete = all(part.endswith(" complete") or part in ("D_complete", "complete")
                   for part in implementation.split(", "))  # of a list of graphs, each one
    averages = implementation.split(" ")[0] not in NEVER_ALL_REDUCE
    return f"{implementation} ({ALL_REDUCE})" if complete and averages else implementation


def communication(run: Run) -> str:
    return marked(implementation(run))


def with_parameters(spec) -> str:
    """Return a spec's entry in one line: its type and its parameters, without null and usual
    values."""
    if not isinstance(spec, dict):
        return type_of(spec)
    usual = {"weights": "auto", "lazy": 1}
    settings = [f"{key}={value if not isinstance(value, (dict, list)) else json.dumps(value)}"
            for key, value in spec.items()
            if key != "type" and value is not None and usual.get(key) != value]
    return " ".join([type_of(spec), *settings])


def graph_label(run: Run) -> str:
    """Return the graph's type with its parameters."""
    return (with_parameters(run.spec["graph"]) if isinstance(run.spec.get("graph"), dict)
            else graph(run))


def message(run: Run) -> str:
    """Return how messages are compressed, with parameters."""
    return with_parameters(run.spec.get("message") or "float32")


def partition(run: Run) -> str:
    """Return how samples are divided among replicas, with parameters."""
    data = run.spec.get("data")
    return (with_parameters(data.get("partition", "shuffled")) if isinstance(data, dict)
            else "shuffled")


def seed(run: Run):
    """Return the seed; if the seeds differ by purpose, return their list as text."""
    found = run.spec.get("seed", 1)
    if not isinstance(found, dict):
        return found
    values = list(found.values())
    return (values[0] if values and values.count(values[0]) == len(values)
            else " ".join(f"{k}={v}" for k, v in found.items()))
