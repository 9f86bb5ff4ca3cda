"""Step times that "From Promise to Practice" (ICLR 2025) publishes, read off its Figure 6: a
Transformer of 65 M parameters, 25,000 tokens per global batch, in milliseconds."""

from dataclasses import dataclass

# Methods, and how DBench names their graph and order. The paper's one-peer graph pairs i with
# i XOR 2^k.
METHODS = {"all-reduce": ("all-reduce", "centralized"),
           "one peer": ("one_peer_hypercube", "combine_while_adapt"),
           "AER": ("aer", "combine_while_adapt")}


@dataclass(frozen=True)
class Cluster:
    """A cluster with `node` GPUs per node. `nominal` is the bandwidth of a node in bytes per
    second, `inside` that between two GPUs of a node, `memory` that of a GPU. `work` starts the
    search for the GPU seconds of a global batch.

    `nominal_is_possible`: messages at the nominal bandwidth take no longer than the published
    steps."""
    name: str
    node: int
    nominal: float
    inside: float
    memory: float
    work: float
    gpus: tuple[int, ...]
    times: tuple[tuple[float, float, float], ...]
    nominal_is_possible: bool = True

    @property
    def steps(self):
        return {(gpus, method): value
                for gpus, row in zip(self.gpus, self.times, strict=True)
                for method, value in zip(METHODS, row, strict=True)}


CLUSTERS = [
    Cluster("8 T4, InfiniBand 100 Gb/s", 8, 12.5e9, 8e9, 320e9, 5.0, (16, 32, 64),
            ((372.5, 314.8, 312.3), (225.5, 178.8, 178.8), (167.3, 123.1, 122.2))),
    Cluster("4 A100, InfiniBand 100 Gb/s", 4, 12.5e9, 100e9, 1555e9, 0.5, (8, 16, 32),
            ((73.0, 63.4, 61.7), (54.8, 46.8, 45.8), (51.5, 44.7, 43.7))),
    # On 16 A40 every second round of the one-peer graph sends four rows of 260 MB from each node:
    # 333 ms at 25 Gb/s, so at least 166 ms per iteration.
    Cluster("4 A40, Ethernet 25 Gb/s", 4, 3.125e9, 12e9, 696e9, 0.9, (8, 16, 32),
            ((166.1, 122.8, 122.0), (195.5, 97.4, 78.9), (188.5, 110.8, 67.9)),
            nominal_is_possible=False),
]
