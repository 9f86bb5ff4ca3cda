"""Measure photographs per second of one core with Pillow or torchvision, for bench/decode. The
photographs are prepared as in training on ImageNet.

  decode_others.py pillow|pillow-draft|torchvision FOLDER SIZE SECONDS
"""

import math
import random
import statistics
import sys
import time
from pathlib import Path

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def box(width, height):
    """Return the box of torchvision's RandomResizedCrop: left, top, right, bottom."""
    for _ in range(10):
        area = width * height * random.uniform(0.08, 1)
        ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            left, top = random.randint(0, width - w), random.randint(0, height - h)
            return left, top, left + w, top + h
    return 0, 0, width, height


def pillow(size, draft):
    import numpy as np
    from PIL import Image
    scale = (1 / (255 * np.array(DEVIATION))).astype(np.float32)
    shift = (-np.array(MEAN) / DEVIATION).astype(np.float32)

    def take(path):
        image = Image.open(path)
        left, top, right, bottom = box(*image.size)
        if draft:
            width = image.size[0]
            least = size / min(right - left, bottom - top)
            image.draft("RGB", [max(1, math.ceil(side * least)) for side in image.size])
            factor = image.size[0] / width
            left, top, right, bottom = (edge * factor for edge in (left, top, right, bottom))
        image = image.convert("RGB").resize((size, size), Image.Resampling.BILINEAR,
                                            box=(left, top, right, bottom))
        if random.random() < 0.5:
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        pixels = np.asarray(image, dtype=np.float32) * scale + shift
        return np.ascontiguousarray(pixels.transpose(2, 0, 1))
    return take


def torchvision(size):
    import torch
    from torchvision import io
    from torchvision.transforms import v2
    torch.set_num_threads(1)
    chain = v2.Compose([v2.RandomResizedCrop(size, antialias=True), v2.RandomHorizontalFlip(),
                        v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, DEVIATION)])
    return lambda path: chain(io.decode_image(str(path), mode="RGB"))


def main():
    name, folder, size, seconds = sys.argv[1:]
    size = int(size)
    try:
        take = torchvision(size) if name == "torchvision" else pillow(size, name != "pillow")
    except ImportError as error:
        print(f"{sys.executable} cannot import {name} ({error})", file=sys.stderr)
        sys.exit(2)
    paths = sorted(path for path in Path(folder).iterdir() if not path.name.startswith("."))
    rates = []
    start = time.process_time()
    while time.process_time() - start < float(seconds) or len(rates) < 3:
        began = time.process_time()
        for path in paths:
            take(path)
        rates.append(len(paths) / (time.process_time() - began))
    print(statistics.median(rates))


if __name__ == "__main__":
    main()
