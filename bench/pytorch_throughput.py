"""Measure the training throughput of PyTorch's eager mode: one model, one thread, SGD. Prints the
best and the median samples per second of processor time over several rounds; `seconds` is the
length of all rounds together.

  pytorch_throughput.py [seconds] [model] [--plain]      --plain: contiguous tensors instead of
                                                         channels_last
"""

import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "pytorch"))

try:
    import torch
except ImportError:
    print(f"{sys.argv[0]}: {sys.executable} cannot import torch: use one that can (pip install "
          "torch)", file=sys.stderr)
    sys.exit(2)
from torch_models import MODELS

# name: options, shape of an input, classes, batch size, steps per round. kCases in throughput.cpp
# must describe the same cases.
CASES = {
    "resnet20": ({}, [3, 32, 32], 10, 32, 5),
    "resnet50": ({}, [3, 64, 64], 1000, 16, 1),
    "densenet": ({}, [3, 32, 32], 10, 16, 1),
    "lstm": ({"hidden": 200, "dropout": 0.2}, [35], 10000, 8, 1),
    "transformer": ({"width": 128, "heads": 4, "layers": 2, "hidden": 512, "dropout": 0}, [2, 16],
                    4000, 64, 1),
}

torch.set_num_threads(1)
plain = "--plain" in sys.argv
words = [word for word in sys.argv[1:] if word != "--plain"]
seconds = float(words[0]) if words else 5.0
name = words[1] if len(words) > 1 else "resnet20"
options, shape, classes, batch, steps = CASES[name]

model = MODELS[name](shape, classes, **options).train()
if len(shape) < 3:      # texts or pairs of sentences; tokens 0 to 2 are special marks
    inputs = torch.randint(3, classes, (batch, *shape))
    labels = torch.randint(classes, (batch * shape[-1],))
else:
    inputs, labels = torch.randn(batch, *shape), torch.randint(classes, (batch,))
    if not plain:
        model = model.to(memory_format=torch.channels_last)
        inputs = inputs.to(memory_format=torch.channels_last)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def step():
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(inputs), labels).backward()
    optimizer.step()


for _ in range(2):
    step()
rates = []
start = time.process_time()
while time.process_time() - start < seconds:
    began = time.process_time()
    for _ in range(steps):
        step()
    rates.append(steps * batch / (time.process_time() - began))
print(f"{max(rates):.1f} {statistics.median(rates):.1f}")
