"""The cases of bench/peers, of DBench and of other programs, and which of them exchange the same.

The functions in SENDS return what a rank sends per iteration on average, in models, with n ranks of
which `node` form a node. It is the least that a sum over a group, or a message to a neighbour,
requires.
"""

from dataclasses import dataclass, field
from fnmatch import fnmatch


def to_everybody(n, node):
    return 2 * (n - 1) / n


def to_one(n, node):
    return min(1, n - 1)


def to_two(n, node):
    return min(2, n - 1)


def node_or_pair_of_nodes(n, node):
    return (to_everybody(node, node) + to_everybody(2 * node, node)) / 2


SENDS = {"none": lambda n, node: 0, "gradients": to_everybody, "complete": to_everybody,
         "ring": to_two, "alternating ring": to_one, "one peer": to_one,
         "nodes": node_or_pair_of_nodes}


@dataclass(frozen=True)
class Case:
    """A case. `name` is program/variant. `exchange` is a key of SENDS; cases with the same key can
    replace each other. `spec` holds the keys of DBench's spec; if it names no graph, the graph has
    no edges. For a case in 16 bits, `whole` names the same case in float32."""
    name: str
    exchange: str
    spec: dict = field(default_factory=dict, hash=False)
    whole: str | None = None

    @property
    def ours(self):
        return self.name.startswith("dbench/")

    @property
    def sums_all(self):
        return self.exchange.removesuffix(IN_16_BITS) in ("gradients", "complete")

    def sends(self, ranks, node):
        if self.whole:
            return SENDS[self.exchange.removesuffix(IN_16_BITS)](ranks, node) / 2
        return SENDS[self.exchange](ranks, node)


IN_16_BITS = " in 16 bits"


def in_16_bits(case):
    """Return the case with rows or gradients in bfloat16, which MPI's own sums do not support."""
    name = case.name.removeprefix("dbench/").removesuffix("/awc")
    return Case(f"dbench/bfloat16/{name}", case.exchange + IN_16_BITS,
                {**case.spec, "message": "bfloat16", "reduction": "reproducible"}, case.name)


def orders(graph, exchange):
    """Yield the orders ATC and AWC on one graph; the case is named after the graph's type."""
    name = graph if isinstance(graph, str) else graph["type"]
    for short, order in (("atc", "adapt_then_combine"), ("awc", "combine_while_adapt")):
        yield Case(f"dbench/{name}/{short}", exchange,
                   {"graph": graph, "algorithm": {"type": "dsgd", "order": order}})


def every_case(node):
    """Return all cases in the order in which they are measured. BlueFog has no cases."""
    whole = [
        Case("pytorch/none", "none"),
        Case("pytorch/ddp", "gradients"),
        Case("decent-dp/complete", "complete"),
        Case("decent-dp/ring", "alternating ring"),
        Case("decent-dp/one-peer-exp", "one peer"),
        Case("decent-dp/alternating-exp-ring", "nodes"),
        Case("dbench/none", "none", {"algorithm": "dsgd"}),
        Case("dbench/C_complete", "gradients", {"implementation": "C_complete"}),
        Case("dbench/tree/C_complete", "gradients",
             {"implementation": "C_complete", "reduction": "reproducible"}),
        *orders("complete", "complete"),
        *orders("ring", "ring"),
        *orders("alternating_ring", "alternating ring"),
        *orders("one_peer_hypercube", "one peer"),
        *orders("one_peer_exponential", "one peer"),
        *orders({"type": "aer", "gpus_per_node": node}, "nodes"),
    ]
    halved = ["dbench/C_complete", "dbench/ring/awc", "dbench/alternating_ring/awc",
              "dbench/one_peer_exponential/awc"]
    return whole + [in_16_bits(case) for case in whole if case.name in halved]


def chosen(patterns, node):
    """Return the cases that match a pattern (* stands for any text), and whether BlueFog matches
    one. Raise ValueError for a pattern that nothing matches."""
    cases = every_case(node)
    for pattern in patterns:
        if not any(fnmatch(name, pattern) for name in ["bluefog", *(case.name for case in cases)]):
            raise ValueError(f"--cases {pattern}: no such case; there are "
                             + ", ".join([*(case.name for case in cases), "bluefog"]))
    taken = [case for case in cases if any(fnmatch(case.name, pattern) for pattern in patterns)]
    return taken, any(fnmatch("bluefog", pattern) for pattern in patterns)
