"""The published settings, or this project's assumptions, next to those of the given runs."""

from ..naming import names
from ..quantities import fields
from ..reading.run import Run

DBENCH = {
    "applications": "ResNet-20 / CIFAR-10, DenseNet-100 (k=12) / CIFAR-10, ResNet-50 / "
                    "ImageNet-1K, 2-layer LSTM / WikiText-2",
    "implementations": "C_complete, D_complete, D_ring, D_torus, D_exponential (parameter "
                       "averaging, adapt then combine)",
    "replicas": "12, 24, 48, 96, and 1008 for ResNet-50",
    "epochs": "not published",
    "optimizer": "not published",
    "Ada": "lattice, k(e) = max(k0 - floor(gamma_k e), 2), k0 = 10, gamma_k = 0.02; k0 = 112, "
           "gamma_k = 1 at 1008; the variance form is this project's own",
}
PROMISE = {
    "applications": "ResNet-50 / ImageNet-1K, Transformer-base / WMT14 En-De, Transformer-big / "
                    "WMT14 En-Fr, GPT-2 small / OpenWebText",
    "implementations": "all-reduce, DAdam and AccumAdam, each over AER and the complete graph "
                       "(combine while adapt)",
    "replicas": "32 (ResNet-50), 16 (the others), 8 to 64 (times)",
    "epochs": "90, 20, 5, and 600,000 steps",
    "optimizer": "Adam 1e-3, AccumAdam 1.5e-3 with window 8 (ResNet-50)",
}


def compared(published: dict[str, str], runs: list[Run]) -> list[tuple[str, str, str]]:
    """Return (choice, as published or assumed, in these runs)."""
    def distinct(value) -> str:
        found = list(dict.fromkeys(str(value(run)) for run in runs))
        return ", ".join(found[:12]) + (f", and {len(found) - 12} more" if len(found) > 12
                                        else "") or "no run"

    def adas(run: Run):
        return names.graph_label(run) if names.graph(run) in ("ada", "ada_variance") else "-"

    ours = {
        "applications": lambda run: f"{names.type_of(run.spec.get('model'))} / "
                                    f"{names.type_of(run.spec.get('data'))}",
        "implementations": names.implementation,
        "replicas": lambda run: run.replicas,
        "epochs": lambda run: f"{fields.COLUMNS['epochs'].value(run):.3g}",
        "optimizer": lambda run: names.with_parameters(run.spec.get("optimizer")),
        "Ada": adas,
    }
    return [(key, text, distinct(ours[key])) for key, text in published.items()]
