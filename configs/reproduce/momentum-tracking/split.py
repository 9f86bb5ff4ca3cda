"""Makes the splits of Momentum Tracking's experiments: which images of CIFAR-10 a replica has.

    python split.py FOLDER momentum-tracking

The source draws them with seed 0: PyTorch's randperm holds out a tenth of the training set for
validation; then Python's shuffle deals the images of each class to the replicas that have it. This
script draws the same numbers with NumPy, whose Mersenne Twister is PyTorch's.

Files: classes-4.npz and classes-2.npz, a list of training images for each of 8 replicas, for the
partition "file"; and values.json with the number of images of each list. The labels come from
$DBENCH_DATA. The exit status is 3 if they are not there.
"""

import json
import os
import random
import sys
from pathlib import Path

import numpy as np

IMAGES, HELD_OUT, RECORD = 50000, 5000, 1 + 3 * 32 * 32
# Which classes a replica has: config/ring_8/class4_0.json and class2_0.json of the source.
CLASSES = {
    4: [[6, 9, 0, 2], [8, 7, 6, 9], [4, 7, 5, 9], [3, 8, 2, 7],
        [1, 0, 3, 4], [1, 5, 0, 2], [1, 3, 4, 5], [6, 8, 0, 1]],
    2: [[6, 9], [0, 4], [8, 7], [6, 4], [1, 2], [3, 5], [0, 1], [2, 3]],
}


def permutation(count, seed):
    """Return torch.randperm(count) after torch.manual_seed(seed)."""
    words = np.random.RandomState(seed).randint(0, 2 ** 32, count - 1, dtype=np.uint32)
    order = list(range(count))
    for i, word in enumerate(words):
        k = i + int(word) % (count - i)
        order[i], order[k] = order[k], order[i]
    return order


def labels():
    """Return the labels of CIFAR-10's training images in file order."""
    root = Path(os.environ.get("DBENCH_DATA", "."))
    found = []
    for number in range(1, 6):
        name = f"data_batch_{number}.bin"
        paths = [root / "cifar-10-batches-bin" / name, root / name]
        path = next((each for each in paths if each.is_file()), None)
        if path is None:
            print(f"CIFAR-10's {name} is not in $DBENCH_DATA ({root}): run scripts/fetch-data",
                  file=sys.stderr)
            sys.exit(3)
        found.append(np.fromfile(path, np.uint8).reshape(-1, RECORD)[:, 0])
    return np.concatenate(found)


def split(classes, label, seed=0):
    """Return a list of training images for each replica, all of the same length."""
    kept = np.array(permutation(IMAGES, seed)[:IMAGES - HELD_OUT])
    draws, lists = random.Random(seed), [[] for _ in classes]
    for each in range(10):
        owners = [i for i, mine in enumerate(classes) if each in mine]
        images = kept[label[kept] == each].tolist()
        draws.shuffle(images)
        size = len(images) // len(owners)
        for k, owner in enumerate(owners):
            lists[owner] += images[k * size:(k + 1) * size]
    for mine in lists:
        draws.shuffle(mine)
    shortest = min(map(len, lists))
    return [mine[:shortest] for mine in lists]


if __name__ == "__main__":
    folder, label, sizes = Path(sys.argv[1]), labels(), {}
    for count, classes in CLASSES.items():
        lists = split(classes, label)
        np.savez(folder / f"classes-{count}.npz", *(np.array(mine, np.int32) for mine in lists))
        sizes[f"images-{count}"] = len(lists[0])
    (folder / "values.json").write_text(json.dumps(sizes))
