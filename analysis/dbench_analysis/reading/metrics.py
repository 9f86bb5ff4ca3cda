"""The metrics of evaluations: how a value is shown, and which value is better. Every run has
accuracy and loss; a run has another metric if its file has the columns."""

from collections.abc import Callable
from dataclasses import dataclass

from ..basics.formatting import number, percent


@dataclass(frozen=True)
class Metric:
    """The columns local_NAME and mean_NAME of /evaluations. `title` is the name for readers,
    `better` is "high" or "low". A metric for which low is better has a logarithmic axis."""

    name: str
    title: str
    unit: str
    better: str

    @property
    def fraction(self) -> bool:
        """Return whether values are fractions from 0 to 1."""
        return self.unit == "fraction"

    @property
    def low(self) -> bool:
        """Return whether low values are better."""
        return self.better == "low"

    @property
    def show(self) -> Callable[..., str]:
        """Return the function that prints a value."""
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
