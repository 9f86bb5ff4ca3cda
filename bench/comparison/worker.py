"""One rank of a case of PyTorch or Decent-DP. bench/peers starts it with the Python of those
programs.

Rank 0 prints a JSON object with the milliseconds of an iteration on the slowest rank. Each rank's
time is the mean over the iterations after the warm-up.
"""

import argparse
import ctypes
import json
import os
import sys
import time
from pathlib import Path

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # glibc's malloc.h


def keep_freed_memory():
    """Configure the allocator as dbench does: no separately mapped blocks, and no shrinking
    heap."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(M_MMAP_MAX, 0)
        libc.mallopt(M_TRIM_THRESHOLD, -1)


keep_freed_memory()
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "pytorch"))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch_models import MODELS  # noqa: E402

SHAPE, CLASSES = [3, 32, 32], 10


def model_and_format(name, hidden):
    if name == "mlp":
        return MODELS["mlp"](SHAPE, CLASSES, hidden), torch.contiguous_format
    return MODELS["resnet20"](SHAPE, CLASSES), torch.channels_last


def optimizer_of(parameters, given):
    return torch.optim.SGD(parameters, lr=given.lr, momentum=given.momentum, fused=True)


def trainer(model, given):
    """Return the model as the case wraps it, and the function to call after the backward pass."""
    name = given.case
    if name.startswith("decent-dp/"):
        from decent_dp.ddp import DecentralizedDataParallel
        topology = name.split("/")[1]
        nodes = {"_local_world_size": given.node if topology == "alternating-exp-ring" else 1}
        return DecentralizedDataParallel(
            model, lambda named: optimizer_of([tensor for _, tensor in named], given),
            topology=topology, bucket_size_in_mb=given.bucket, **nodes), lambda: None
    if name == "pytorch/ddp":
        model = torch.nn.parallel.DistributedDataParallel(
            model, bucket_cap_mb=given.bucket, broadcast_buffers=False,
            gradient_as_bucket_view=True)
    optimizer = optimizer_of(model.parameters(), given)

    def update():
        optimizer.step()
        optimizer.zero_grad()

    return model, update


def train(given):
    """Return the mean seconds of an iteration on this rank."""
    torch.manual_seed(1)
    bare, memory = model_and_format(given.model, given.hidden)
    model, update = trainer(bare.train().to(memory_format=memory), given)
    model.train()
    images = torch.randn(given.samples, *SHAPE)
    labels = torch.randint(CLASSES, (given.samples,))
    for iteration in range(given.warm_up + given.iterations):
        if iteration == given.warm_up:
            dist.barrier()
            start = time.perf_counter()
        rows = torch.randint(given.samples, (given.batch,))
        batch = images[rows].contiguous(memory_format=memory)
        torch.nn.functional.cross_entropy(model(batch), labels[rows]).backward()
        update()
    spent = time.perf_counter() - start
    if hasattr(model, "global_avg"):
        model.global_avg(will_revert=False)  # waits for the messages that Decent-DP still sends
    return spent / given.iterations


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("settings", help="JSON: case, model, hidden, batch, lr, momentum, bucket "
                        "(MB), node, warm_up, iterations, ranks, samples, store (a file)")
    parser.add_argument("rank", type=int)
    words = parser.parse_args()
    given = argparse.Namespace(**json.loads(words.settings))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{given.store}", rank=words.rank,
                            world_size=given.ranks)
    slowest = torch.tensor(train(given), dtype=torch.float64)
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    if words.rank == 0:
        print(json.dumps({"ms": slowest.item() * 1e3}), flush=True)
    dist.barrier()
    os._exit(0)  # gloo's threads may wait for other ranks that have already ended


if __name__ == "__main__":
    main()
