"""Measure the training throughput of a module in PyTorch's eager mode: one thread, SGD, random
samples. Prints the best and the median samples per second of processor time. The module comes from
any source of dbench-export.

  eager_throughput.py SECONDS SOURCE INPUT CLASSES BATCH contiguous|channels_last

SOURCE, INPUT and CLASSES are those of dbench-export; it must be importable (PYTHONPATH=export)."""

import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "export"))

import torch
from dbench_export.sources import make_module

torch.set_num_threads(1)
seconds, source, sample, classes, batch, order = sys.argv[1:]
classes, batch = int(classes), int(batch)
kind, sizes = sample.rstrip("]").split("[")
shape = [batch, *map(int, sizes.split(","))]
model = make_module(source, classes, kind == "int64", 0, {}).train()
if kind == "int64":
    inputs, labels = torch.randint(3, classes, shape), torch.randint(classes, shape)
else:
    inputs, labels = torch.randn(shape), torch.randint(classes, (batch,))
    if order == "channels_last":
        model = model.to(memory_format=torch.channels_last)
        inputs = inputs.to(memory_format=torch.channels_last)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def step():
    optimizer.zero_grad()
    outputs = model(inputs)
    logits = outputs if isinstance(outputs, torch.Tensor) else outputs.logits
    torch.nn.functional.cross_entropy(logits.flatten(0, -2), labels.flatten()).backward()
    optimizer.step()


for _ in range(2):
    step()
rates = []
start = time.process_time()
while time.process_time() - start < float(seconds):
    began = time.process_time()
    step()
    rates.append(batch / (time.process_time() - began))
print(f"{max(rates):.3f} {statistics.median(rates):.3f}")
