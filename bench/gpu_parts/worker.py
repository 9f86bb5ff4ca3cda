"""PyTorch's side of bench/gpu, in a long-lived process. It reads requests and writes answers, as
one JSON object per line.

  worker.py '{"model": "resnet20", "batch": 32, "store": "file"}'
  {"do": "eager", "seconds": 2}    ->  {"ms": 3.21} per iteration, or {"failed": "why"}
  {"do": "ceilings"}               ->  {"copy_gb_s": ..., "gemm_float32_tflop_s": ..., ...}

The requests are eager (channels_last), graph (the step and its batch in a torch.cuda.graph),
compile (torch.compile, mode="reduce-overhead"), ddp (DistributedDataParallel over NCCL with `ranks`
ranks), ensemble (`replicas` models by torch.func), profile and ceilings. All models train in
float32 without TF32 (unless "compute" asks for tf32 or bfloat16), with fused SGD and momentum 0.9.
The images are in GPU memory, and every iteration uses a random batch of them.
"""

import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "pytorch"))

import torch
from torch.nn import functional as F
from torch_models import MODELS

SHAPE, CLASSES, SAMPLES = [3, 32, 32], 10, 8192
LEARNING = {"lr": 0.01, "momentum": 0.9}


class Data:
    def __init__(self, device, memory_format):
        self.images = torch.randn(SAMPLES, *SHAPE, device=device).to(memory_format=memory_format)
        self.labels = torch.randint(CLASSES, (SAMPLES,), device=device)
        self.device, self.memory_format = device, memory_format

    def batch(self, size):
        rows = torch.randint(SAMPLES, (size,), device=self.device)
        return (self.images[rows].contiguous(memory_format=self.memory_format), self.labels[rows])


def memory_format(given):
    """Return the order of an image's numbers in memory: channels last where PyTorch allows it. vmap
    over several models has no such tensors."""
    apart = given.get("model") == "mlp" or "replicas" in given
    return torch.contiguous_format if apart else torch.channels_last


def new_model(given, device):
    torch.manual_seed(1)
    options = {"hidden": given["hidden"]} if "hidden" in given else {}
    model = MODELS[given["model"]](SHAPE, CLASSES, **options).train().to(device)
    return model.to(memory_format=memory_format(given))


def new_optimizer(parameters):
    return torch.optim.SGD(parameters, **LEARNING, fused=True)


def loss_of(given, model, images, labels):
    """Return the loss, computed in the precision that "compute" says; TF32 is a global setting."""
    half = given.get("compute") == "bfloat16"
    with torch.autocast(images.device.type, torch.bfloat16, enabled=half, cache_enabled=False):
        return F.cross_entropy(model(images), labels)


def eager(given, data, model=None):
    model = model or new_model(given, data.device)
    optimizer = new_optimizer(model.parameters())

    def step():
        images, labels = data.batch(given["batch"])
        loss_of(given, model, images, labels).backward()
        optimizer.step()
        optimizer.zero_grad()
    return step


def ddp(given, data):
    torch.distributed.init_process_group(
        "nccl", init_method=f"file://{given['store']}", rank=given.get("rank", 0),
        world_size=given.get("ranks", 1))
    model = torch.nn.parallel.DistributedDataParallel(
        new_model(given, data.device), broadcast_buffers=False, gradient_as_bucket_view=True)
    return eager(given, data, model)


def graph(given, data):
    model = new_model(given, data.device)
    optimizer = new_optimizer(model.parameters())

    def whole():
        images, labels = data.batch(given["batch"])
        loss_of(given, model, images, labels).backward()
        optimizer.step()

    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):
            optimizer.zero_grad()
            whole()
    torch.cuda.current_stream().wait_stream(aside)
    optimizer.zero_grad()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        whole()

    def step(kept=(model, optimizer)):  # the graph reads and writes their memory
        captured.replay()
    return step


def compiled(given, data):
    model = new_model(given, data.device)
    optimizer = new_optimizer(model.parameters())
    loss = torch.compile(lambda images, labels: loss_of(given, model, images, labels),
                         mode="reduce-overhead")

    def step():
        images, labels = data.batch(given["batch"])
        torch.compiler.cudagraph_mark_step_begin()
        loss(images, labels).backward()
        optimizer.step()
        optimizer.zero_grad()
    return step


def ensemble(given, data):
    replicas = given["replicas"]
    models = []
    for _ in range(replicas):
        models.append(torch.func.replace_all_batch_norm_modules_(new_model(given, data.device)))
    parameters, buffers = torch.func.stack_module_state(models)
    one = models[0]
    optimizer = new_optimizer(parameters.values())

    def loss(weights, state, images, labels):
        return F.cross_entropy(torch.func.functional_call(one, (weights, state), (images,)), labels)

    gradients = torch.vmap(torch.func.grad(loss))

    def step():
        images, labels = data.batch(replicas * given["batch"])
        found = gradients({name: tensor.detach() for name, tensor in parameters.items()}, buffers,
                          images.unflatten(0, (replicas, -1)), labels.unflatten(0, (replicas, -1)))
        for name, tensor in parameters.items():
            tensor.grad = found[name]
        optimizer.step()
    return step


STEPS = {"eager": eager, "graph": graph, "compile": compiled, "ddp": ddp, "ensemble": ensemble}


def wait(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


def milliseconds(step, seconds, device):
    """Return the mean milliseconds of an iteration over `seconds`, after a warm-up of a fifth."""
    for _ in range(3):
        step()
    wait(device)
    start = time.perf_counter()
    done = 0
    while done < 3 or time.perf_counter() - start < seconds / 5:
        step()
        wait(device)
        done += 1
    count = max(5, int(seconds * done / (time.perf_counter() - start)))
    start = time.perf_counter()
    for _ in range(count):
        step()
    wait(device)
    return (time.perf_counter() - start) / count * 1e3


def rate(work, amount, device, rounds=20):
    """Return `amount` per second of `work`, as the median over rounds."""
    work()
    seen = []
    for _ in range(rounds):
        wait(device)
        start = time.perf_counter()
        work()
        wait(device)
        seen.append(time.perf_counter() - start)
    return amount / sorted(seen)[rounds // 2]


def ceilings(device, megabytes=1024, size=8192):
    """Return the peak speeds: bytes read and written by a copy, and operations of matrix products,
    per second."""
    source = torch.randn(megabytes * 2**18, device=device)
    target = torch.empty_like(source)
    bytes_moved = 2 * source.numel() * source.element_size()
    found = {"copy_gb_s": rate(lambda: target.copy_(source), bytes_moved, device) / 1e9}
    for name in ("float32", "bfloat16"):
        a = torch.randn(size, size, device=device).to(getattr(torch, name))
        b = torch.randn(size, size, device=device).to(getattr(torch, name))
        found[f"gemm_{name}_tflop_s"] = rate(lambda a=a, b=b: a @ b, 2 * size**3, device) / 1e12
    return found


def profile(step, device, iterations=20):
    """Return the milliseconds of an iteration and of its kernels, and the slowest kernels."""
    for _ in range(5):
        step()
    wait(device)
    kinds = [torch.profiler.ProfilerActivity.CUDA if device.type == "cuda"
             else torch.profiler.ProfilerActivity.CPU]
    start = time.perf_counter()
    with torch.profiler.profile(activities=kinds) as seen:
        for _ in range(iterations):
            step()
        wait(device)
    spent = time.perf_counter() - start
    on = "device" if device.type == "cuda" else "cpu"
    rows = [(event.key, getattr(event, f"self_{on}_time_total") * 1e-3 / iterations,
             event.count // iterations) for event in seen.key_averages()
            if on == "cpu" or event.device_type == torch.autograd.DeviceType.CUDA]
    rows.sort(key=lambda row: -row[1])
    return {"kernel_ms": sum(row[1] for row in rows), "ms": spent / iterations * 1e3,
            "kernels": [{"name": name[:80], "ms": ms, "launches": count}
                        for name, ms, count in rows[:12]],
            "all": [{"name": name, "ms": ms} for name, ms, _ in rows]}


def versions(device):
    return {"torch": torch.__version__, "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version(),
            "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu"}


def main():
    given = json.loads(sys.argv[1])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of libraries goes to stderr, since stdout carries the answers
    device = torch.device(given.get("device", "cuda"), given.get("rank", 0))
    if device.type == "cuda":
        torch.cuda.set_device(device)
    torch.backends.cuda.matmul.allow_tf32 = given.get("compute") == "tf32"
    torch.backends.cudnn.allow_tf32 = given.get("compute") == "tf32"
    torch.backends.cudnn.benchmark = True
    data, made = None, {}
    print(json.dumps(versions(device)), file=answers, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            if asked["do"] == "ceilings":
                answer = ceilings(device, **asked.get("sizes", {}))
            else:
                data = data or Data(device, memory_format(given))
                name = asked.get("of", asked["do"])
                if name not in made:
                    made[name] = STEPS[name](given, data)
                if asked["do"] == "profile":
                    answer = profile(made[name], device)
                else:
                    answer = {"ms": milliseconds(made[name], asked["seconds"], device)}
        except Exception as error:  # any failure of PyTorch is reported as an answer
            answer = {"failed": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
        print(json.dumps(answer), file=answers, flush=True)
    os._exit(0)  # NCCL's threads may wait for other ranks that have already ended


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        sys.exit(0 if len(sys.argv) == 2 else 2)
    main()
