"""What to call a run: by its communication, and by what tells it from the runs beside it."""

import json

from .run import Run

ALL_REDUCE = "all-reduce equivalent"


def algorithm(run: Run) -> str:
    spec = run.spec.get("algorithm")
    if spec is None:
        return "centralized" if run.spec.get("implementation") == "C_complete" else "dsgd"
    return type_of(spec)


def graph(run: Run) -> str:
    """The graph's type; "none" for centralized training."""
    implementation = run.spec.get("implementation")
    if implementation:
        return {"C_complete": "none"}.get(implementation, implementation.removeprefix("D_"))
    return type_of(run.spec.get("graph")) if run.spec.get("graph") else "none"


def type_of(spec) -> str:
    """The type of a family's entry, which may stand as a mere string; the types of a list of
    graphs."""
    if isinstance(spec, list):
        return ", ".join(type_of(entry) for entry in spec)
    if isinstance(spec, dict):
        return str(spec.get("type", "?"))
    return "none" if spec is None else str(spec)


def implementation(run: Run) -> str:
    """One of the five names where the spec amounts to it, else algorithm and graph."""
    named = run.spec.get("implementation")
    if named:
        return named
    kind, order = algorithm(run), "adapt_then_combine"
    if kind == "centralized":
        return "C_complete"
    spec = run.spec.get("algorithm")
    if isinstance(spec, dict):
        order = spec.get("order", order)
    if kind == "dsgd" and order == "adapt_then_combine":
        if graph(run) in ("complete", "ring", "torus", "exponential"):
            return f"D_{graph(run)}"
        return graph(run)
    short = {"combine_while_adapt": " AWC", "combine_then_adapt": " CTA", "awc": " AWC",
             "parallel": " parallel"}
    return f"{kind}{short.get(order, '')} {graph(run)}"


def marked(implementation: str) -> str:
    """A name by `implementation`, and a word where averaging over it is an all-reduce."""
    complete = implementation == "D_complete" or implementation.endswith(" complete")
    return f"{implementation} ({ALL_REDUCE})" if complete else implementation


def communication(run: Run) -> str:
    return marked(implementation(run))


def with_parameters(spec) -> str:
    """A family's entry in one line: its type and what is set beside it (null and usual settings
    left out)."""
    if not isinstance(spec, dict):
        return type_of(spec)
    usual = {"weights": "auto", "lazy": 1}
    told = [f"{key}={value if not isinstance(value, (dict, list)) else json.dumps(value)}"
            for key, value in spec.items()
            if key != "type" and value is not None and usual.get(key) != value]
    return " ".join([type_of(spec), *told])


def graph_label(run: Run) -> str:
    return (with_parameters(run.spec["graph"]) if isinstance(run.spec.get("graph"), dict)
            else graph(run))


def message(run: Run) -> str:
    """How what is sent was compressed, with parameters."""
    return with_parameters(run.spec.get("message") or "float32")


def partition(run: Run) -> str:
    data = run.spec.get("data")
    return (with_parameters(data.get("partition", "shuffled")) if isinstance(data, dict)
            else "shuffled")
