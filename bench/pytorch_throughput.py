"""Training throughput of PyTorch's eager mode: ResNet-20, batch 32, one thread, SGD. Prints images
per second (of processor time), the best and the median of rounds of a few seconds in all.

  pytorch_throughput.py [seconds] [--plain]      --plain: contiguous tensors, else channels_last
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
from torch_models import ResNet20

BATCH, STEPS_PER_ROUND = 32, 5

torch.set_num_threads(1)
plain = "--plain" in sys.argv
numbers = [argument for argument in sys.argv[1:] if argument != "--plain"]
seconds = float(numbers[0]) if numbers else 5.0

model = ResNet20([3, 32, 32], 10).train()
images = torch.randn(BATCH, 3, 32, 32)
labels = torch.randint(10, (BATCH,))
if not plain:
    model = model.to(memory_format=torch.channels_last)
    images = images.to(memory_format=torch.channels_last)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def step():
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(images), labels).backward()
    optimizer.step()


for _ in range(3):
    step()
rates = []
start = time.process_time()
while time.process_time() - start < seconds:
    began = time.process_time()
    for _ in range(STEPS_PER_ROUND):
        step()
    rates.append(STEPS_PER_ROUND * BATCH / (time.process_time() - began))
print(f"{max(rates):.1f} {statistics.median(rates):.1f}")
