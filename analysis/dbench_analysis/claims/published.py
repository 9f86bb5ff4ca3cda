"""The published numbers of From Promise to Practice (ICLR 2025): its tables 2 and 3, and times read
from its figure 6."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One cell of a table.

    method      all_reduce, dadam or accum_adam
    graph       the graph of the averaging; "" for all-reduce
    tolerance   two standard deviations as published if `spread` is true, else this project's choice
    """

    method: str
    graph: str
    value: float
    tolerance: float
    spread: bool = False


@dataclass(frozen=True)
class Table:
    """One published table."""
    key: str
    title: str
    model: str
    data: str
    replicas: int
    metric: str  # accuracy (fractions), or one that dbench computes in another way
    rows: tuple[Row, ...]


HALF_POINT = 0.005
TABLES = (
    Table("table3", "ResNet-50 on ImageNet-1K, 32 workers, top-1", "resnet50", "imagenet", 32,
          "accuracy", (
        Row("all_reduce", "", 0.7601, HALF_POINT), Row("dadam", "aer", 0.7531, HALF_POINT),
        Row("dadam", "complete", 0.7527, HALF_POINT),
        Row("accum_adam", "aer", 0.7654, HALF_POINT),
        Row("accum_adam", "complete", 0.7634, HALF_POINT))),
    Table("table2-de", "Transformer-base on WMT14 En-De, 16 workers", "transformer_base",
          "wmt14_en_de", 16, "BLEU", (
        Row("all_reduce", "", 27.79, 0.16, True), Row("dadam", "aer", 27.58, 0.06, True),
        Row("dadam", "complete", 27.60, 0.18, True),
        Row("accum_adam", "aer", 27.71, 0.09, True),
        Row("accum_adam", "complete", 27.80, 0.34, True))),
    Table("table2-fr", "Transformer-big on WMT14 En-Fr, 16 workers", "transformer_big",
          "wmt14_en_fr", 16, "BLEU", (
        Row("all_reduce", "", 45.70, 0.30, True), Row("dadam", "aer", 45.60, 0.12, True),
        Row("dadam", "complete", 45.65, 0.22, True),
        Row("accum_adam", "aer", 46.05, 0.03, True),
        Row("accum_adam", "complete", 46.18, 0.20, True))),
)

# figure 6, strong scaling of the transformer at 25K tokens: cluster, GPUs, ms per iteration of
# all-reduce and of AER
TIMES = (
    ("8 x T4 a node, 100 Gb/s InfiniBand", 16, 372.5, 312.3),
    ("8 x T4 a node, 100 Gb/s InfiniBand", 32, 225.5, 178.8),
    ("8 x T4 a node, 100 Gb/s InfiniBand", 64, 167.3, 122.2),
    ("4 x A100 a node, 100 Gb/s InfiniBand", 8, 73.0, 61.7),
    ("4 x A100 a node, 100 Gb/s InfiniBand", 16, 54.8, 45.8),
    ("4 x A100 a node, 100 Gb/s InfiniBand", 32, 51.5, 43.7),
    ("4 x A40 a node, 25 Gb/s Ethernet", 8, 166.1, 122.0),
    ("4 x A40 a node, 25 Gb/s Ethernet", 16, 195.5, 78.9),
    ("4 x A40 a node, 25 Gb/s Ethernet", 32, 188.5, 67.9),
)
