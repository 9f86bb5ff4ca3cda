"""The metrics of evaluations, a row each: how a value is shown, and which is the better one. A run
has accuracy and loss, and of the others those that its file has."""

from collections.abc import Callable
from dataclasses import dataclass

from .textual import number, percent


@dataclass(frozen=True)
class Metric:
    """Columns local_NAME and mean_NAME of /evaluations. What is worse when higher is drawn on a
    logarithmic axis; `title` is its name for people."""

    name: str
    title: str
    unit: str
    better: str

    @property
    def low(self) -> bool:
        return self.better == "low"

    @property
    def show(self) -> Callable[..., str]:
        return percent if self.unit == "fraction" else number


METRICS = {metric.name: metric for metric in (
    Metric("accuracy", "accuracy", "fraction", "high"),
    Metric("loss", "loss", "1", "low"),
    Metric("perplexity", "perplexity", "1", "low"),
    Metric("bleu", "BLEU", "1", "high"),
    Metric("top5", "top-5 accuracy", "fraction", "high"),
)}
EVERYWHERE = ("accuracy", "loss")
FURTHER = tuple(name for name in METRICS if name not in EVERYWHERE)
