"""Tests of photographs of any size: decoding and resizing, packed files, damaged files, threads."""

import gzip
import json
import re
import shutil
import signal
import struct

import h5py
import numpy as np
import pytest
from results import differences, read
from test_failures import wait_for_rows

Image = pytest.importorskip("PIL.Image")

MEAN, DEVIATION = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
RANDOM = np.random.default_rng(3)
SIZE = 32
LR = 64.0


def drawn(width, height, channels=3, detail=5):
    """Return a smooth image made of a few waves, which are the same for every size."""
    x, y = np.meshgrid(np.linspace(0, 1, width), np.linspace(0, 1, height))
    waves = RANDOM.uniform(-detail, detail, (channels, 2)), RANDOM.uniform(0, 6, channels)
    planes = [127 + 110 * np.sin(a * x + b * y + c) for (a, b), c in zip(*waves)]
    return np.stack(planes, -1).round().astype(np.uint8).squeeze()


def write(path, pixels, mode=None, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    options = {"quality": 95, "format": "JPEG", **options}
    Image.fromarray(pixels, mode).save(path, **options)


@pytest.fixture
def folder(dbench):
    """Write six photographs in three classes for training, and three for testing."""
    for k in range(6):
        write(dbench.folder / "photos" / "train" / f"class{k % 3}" / f"{k}.JPEG",
              drawn(60 + 9 * k, 90 - 7 * k))
    for k in range(3):
        write(dbench.folder / "photos" / "val" / f"class{k}" / f"{k}.JPEG", drawn(50, 40))
    return dbench.folder / "photos"


def data_of(folder, **more):
    return {"type": "imagenet", "root": str(folder), "size": 8, "batch_size": 1, **more}


def weights(dbench, data, classes):
    """Return W of softmax regression after one step from zero on the whole training set with one
    photograph per class, read from the checkpoint: row k is LR / n (x_k - mean x)."""
    spec = dbench.spec(replicas=1, model="softmax_regression", init="zeros",
                       data={**data, "batch_size": "full", "partition": "contiguous"},
                       implementation="C_complete", optimizer={"type": "sgd", "lr": LR},
                       length={"iterations": 2}, evaluate={"every": None, "replicas": 1},
                       checkpoint={"every": {"iterations": 1}})
    dbench("run", spec, "--output", "w.h5", "--overwrite", "--quiet")
    part = next((dbench.folder / "w.h5.checkpoints").glob("*/part-0.bin"))
    bytes_ = part.read_bytes()
    length, _ = struct.unpack_from("<QI", bytes_, 8)
    head = json.loads(bytes_[20:20 + length])
    assert head["entries"][0]["name"] == "parameters" and head["count"] == 1
    row = np.frombuffer(bytes_, np.float32, classes * 3 * SIZE**2, 20 + length)
    return row.reshape(classes, -1)


def expected(images):
    """Return the same W from Pillow's pixels: the shorter side is resized to 256/224 of the size,
    and the centre is cropped."""
    inputs = []
    for image in images:
        image = image.convert("RGB")
        shorter, resized = min(image.size), round(SIZE * 256 / 224)
        image = image.resize([resized * side // shorter for side in image.size],
                             Image.Resampling.BILINEAR)
        left, top = (round((side - SIZE) / 2) for side in image.size)
        pixels = np.asarray(image.crop((left, top, left + SIZE, top + SIZE))) / 255
        inputs.append(((pixels - MEAN) / DEVIATION).transpose(2, 0, 1).ravel())
    x = np.array(inputs)
    return LR / len(x) * (x - x.mean(0))


def test_pixels_are_those_of_pillow(dbench):
    """Pixels equal Pillow's for grey, all chroma samplings, progressive, CMYK, and a PNG with a
    JPEG name."""
    root = dbench.folder / "train"
    write(root / "a_0.JPEG", drawn(52, 40))
    write(root / "b_0.JPEG", drawn(40, 47), subsampling=0)
    write(root / "c_0.JPEG", drawn(44, 38), subsampling=1, progressive=True)
    write(root / "d_0.JPEG", drawn(60, 37, 1))
    write(root / "e_0.JPEG", drawn(50, 41, 4), "CMYK")
    write(root / "f_0.JPEG", drawn(39, 39), format="PNG")
    write(root / "g_0.JPEG", drawn(20, 30))          # is enlarged
    paths = sorted(root.iterdir())
    assert Image.open(paths[4]).mode == "CMYK"
    data = {"type": "imagenet", "train": str(root), "test": str(root), "class_by": "name",
            "size": SIZE}
    level = LR / len(paths) / 255 / DEVIATION.min()
    found, right = weights(dbench, data, 7), expected(map(Image.open, paths))
    # Pillow rounds to bytes after each of its two passes.
    assert np.abs(found - right).max() < 2.2 * level
    assert np.abs(found - right).mean() < 0.6 * level
    # Large images are decoded at 1/8 to 7/8 of their size and lose some of the smallest details.
    for k, path in enumerate(paths):
        write(path, drawn(90 + 60 * k, 420 - 40 * k))
    found, right = weights(dbench, data, 7), expected(map(Image.open, paths))
    assert np.abs(found - right).mean() < level
    assert np.abs(right).mean() > 30 * level


def test_packs_ranks_and_threads_change_no_bits(dbench, folder):
    changes = {"augment": True}
    plain = dbench.run(dbench.spec(data=data_of(folder, **changes)), "plain.h5")
    for split in ("train", "val"):
        done = dbench("data", "pack", folder / split, dbench.folder / f"{split}.pack", "--quiet")
        assert "in 3 classes" in done.stdout
        assert dbench("data", "verify", f"{split}.pack").stdout == done.stdout
    packed = {"train": "train.pack", "test": "val.pack", **changes}
    assert differences(plain, dbench.run(dbench.spec(data=data_of(folder, **packed)),
                                         "packed.h5")) == []
    threads = dbench.spec(data=data_of(folder, threads=3, **changes))
    assert differences(plain, dbench.run(threads, "threads.h5", ranks=2)) == []
    whole = dbench.run(dbench.spec(data=data_of(folder)), "whole.h5")
    losses = [read(path, "iterations/train_loss") for path in (plain, whole)]
    assert np.all(losses[0] != losses[1])


def test_a_resumed_run_is_bit_identical(dbench, folder):
    """A resumed run gives the same bits with more threads, within an epoch of augmented images."""
    def spec(**more):
        return dbench.spec(data=data_of(folder, augment=True, **more), replicas=2,
                           length={"iterations": 7}, checkpoint={"every": {"iterations": 5}})
    whole, other = dbench.run(spec(), "whole.h5"), str(dbench.folder / "other.h5")
    shutil.copy(whole, other)
    shutil.copytree(f"{whole}.checkpoints", f"{other}.checkpoints")
    with h5py.File(other, "r+") as file:      # marked as failed at the end
        file.attrs.modify("status", np.bytes_(b"failed"))
    said = dbench("run", spec(threads=2), "--output", other, "--resume").stderr
    assert "continuing from iteration 5" in said
    assert differences(whole, other) == []


def refused(dbench, data, *words):
    message = dbench("check", dbench.spec(data=data), expect=2).stderr
    assert message.count("error") == 1
    for word in words:
        assert word in message, message


def test_invalid_photographs_are_refused(dbench, folder):
    victim = folder / "train" / "class1" / "1.JPEG"
    good = victim.read_bytes()
    for content, words in [(good[:-30], ["ends too early"]), (b"", ["not a JPEG", "0 bytes"]),
                           (b"GIF89a", ["not a JPEG"])]:
        victim.write_bytes(content)
        refused(dbench, data_of(folder), "class1/1.JPEG", *words)
    victim.write_bytes(good)
    (folder / "train" / "class7").mkdir()
    refused(dbench, data_of(folder), "class7", "no photographs")
    (folder / "train" / "class7").rmdir()
    (folder / "val" / "class1").rename(folder / "val" / "class9")
    refused(dbench, data_of(folder), "/data/test", "class9")
    refused(dbench, data_of(folder, train="nowhere"), "/data/train", "nowhere", "data pack")
    refused(dbench, data_of(folder, train="train/class0"), "class0", "class_by")
    refused(dbench, data_of(folder, size=0), "/data/size")


@pytest.mark.parametrize("ranks", [None, 2])
def test_a_damaged_photograph_ends_all_ranks(dbench, folder, ranks):
    """A photograph with intact ends is found to be damaged when it is decoded, here by the last
    rank."""
    victim = folder / "train" / "class2" / "5.JPEG"
    good = victim.read_bytes()
    victim.write_bytes(good[:len(good) // 2] + b"\xff\xd9")
    spec = dbench.spec(data=data_of(folder, batch_size=3, partition="contiguous"), replicas=2)
    failed = dbench("run", spec, "--output", "out.h5", ranks=ranks, expect=2)
    assert "class2/5.JPEG" in failed.stderr and "damaged or truncated" in failed.stderr
    with h5py.File(dbench.folder / "out.h5") as file:
        assert file.attrs["status"] == b"failed"


def test_a_damaged_photograph_ends_a_calibration_on_all_ranks(dbench, folder):
    victim = folder / "train" / "class2" / "5.JPEG"
    good = victim.read_bytes()
    victim.write_bytes(good[:len(good) // 2] + b"\xff\xd9")
    spec = dbench.spec(data=data_of(folder, batch_size=3, partition="contiguous"), replicas=2)
    failed = dbench("calibrate", spec, "--output", "costs.json", "--seconds", "0.1", ranks=2,
                    expect=2, timeout=60, env={"DBENCH_TIMEOUT": "20"})
    assert "class2/5.JPEG" in failed.stderr and "damaged or truncated" in failed.stderr
    assert not (dbench.folder / "costs.json").exists()


def test_invalid_packs_are_refused(dbench, folder):
    dbench("data", "pack", folder / "train", "train.pack", "--quiet")
    pack = dbench.folder / "train.pack"
    good = pack.read_bytes()
    again = dbench("data", "pack", folder / "val", "train.pack", expect=2).stderr
    assert "exists already" in again and "--force" in again and pack.read_bytes() == good
    data = data_of(folder, train=str(pack))
    dbench("check", dbench.spec(data=data))
    middle, index = 200, len(good) - 100
    for content, words in [
        (good[:-1], ["truncated"]), (good[:20], ["truncated"]), (b"", ["not a pack"]),
        (good[:index] + bytes([good[index] ^ 1]) + good[index + 1:], ["checksum"]),
    ]:
        pack.write_bytes(content)
        refused(dbench, data, "train.pack", *words)
    pack.write_bytes(good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1:])
    for command in (("data", "verify", "train.pack"), ("run", dbench.spec(data=data))):
        message = dbench(*command, expect=2).stderr
        assert "train.pack, class0/0.JPEG" in message and "wrong checksum" in message
    dbench("data", "pack", folder / "train", "train.pack", "--quiet", "--force")
    assert pack.read_bytes() == good
    assert not (dbench.folder / "train.pack.partial").exists()
    victim = folder / "train" / "class0" / "0.JPEG"
    victim.write_bytes(victim.read_bytes()[:-9])
    assert "0.JPEG" in dbench("data", "pack", folder / "train", "new.pack", expect=2).stderr
    assert not (dbench.folder / "new.pack").exists()
    for words in (["data"], ["data", "pack"], ["data", "verify", "nowhere.pack"]):
        dbench(*words, expect=2)
    assert "Examples:" in dbench("data", "--help").stdout


def test_photographs_with_more_after_their_end_are_read(dbench, folder):
    """A motion photo continues with a film, and some downloads are padded with zeros."""
    victim = folder / "train" / "class1" / "1.JPEG"
    plain = dbench.run(dbench.spec(data=data_of(folder)), "plain.h5")
    good = victim.read_bytes()
    victim.write_bytes(good + b"\0" * 5000)
    longer = dbench.run(dbench.spec(data=data_of(folder)), "longer.h5")
    assert differences(plain, longer) == []
    dbench("data", "pack", folder / "train", "train.pack", "--quiet")
    victim.write_bytes(good[:-2] + b"\0" * 5000)
    refused(dbench, data_of(folder), "class1/1.JPEG", "ends too early")


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "1", "I;16"])
def test_a_png_of_any_kind_among_photographs(dbench, folder, mode):
    """`run` reads the PNGs that `check` and `data pack` accept."""
    victim = folder / "train" / "class1" / "1.JPEG"
    grey = drawn(60, 90, 1)
    if mode == "I;16":
        picture = Image.fromarray(grey.astype(np.uint16) * 257)
    else:
        picture = Image.fromarray(grey).convert(mode)
    picture.save(victim, format="PNG")
    spec = dbench.spec(data=data_of(folder), length={"epochs": 1}, replicas=2)
    dbench("check", spec)
    dbench("data", "pack", folder / "train", "train.pack", "--quiet")
    dbench.run(spec)


def test_files_are_compressed_without_loss(dbench):
    labels = dbench.folder / "set" / "labels"
    labels.parent.mkdir()
    labels.write_bytes(bytes(range(10)) * 500)
    said = dbench("data", "pack", "set", "small", "--compress").stdout
    assert re.search(r"labels.gz  \d+ B, 4.9 KiB unpacked, crc32:[0-9a-f]{8}", said)
    packed = dbench.folder / "small" / "labels.gz"
    assert gzip.decompress(packed.read_bytes()) == labels.read_bytes()
    again = dbench("data", "pack", "set", "small", "--compress", expect=2).stderr
    assert "exists already" in again and "--force" in again
    dbench("data", "pack", "set", "small", "--compress", "--force", "--quiet")
    both = dbench("data", "pack", "set", "small", "--compress", "--class-by-name", expect=2).stderr
    assert "--class-by-name" in both
    assert "already: name" in dbench("data", "pack", "small", "x", "--compress", expect=2).stderr


def test_a_png_that_cannot_be_read_is_found_by_check(dbench, folder):
    victim = folder / "train" / "class1" / "1.JPEG"
    write(victim, drawn(60, 90), format="PNG")
    good = victim.read_bytes()
    for content, words in ((good[:24] + b"\x07" + good[25:], ["damaged", "no known kind"]),
                           (good[:-12], ["ends too early", "PNG"])):
        victim.write_bytes(content)
        refused(dbench, data_of(folder), "class1/1.JPEG", *words)
        said = dbench("data", "pack", folder / "train", "train.pack", expect=2).stderr
        assert "class1/1.JPEG" in said


def test_a_signal_does_not_wait_for_a_batch_of_slow_photographs(dbench):
    """A progressive file takes a pass over all pixels for each scan. Without the check, the run
    would complete the iteration for which it waits."""
    root = dbench.folder / "slow"
    write(root / "train" / "a" / "0.JPEG", drawn(2400, 2400, detail=40), progressive=True)
    for k in range(1, 64):
        link = root / "train" / "ab"[k % 2] / f"{k}.JPEG"
        link.parent.mkdir(exist_ok=True)
        link.hardlink_to(root / "train" / "a" / "0.JPEG")
    for kind in "ab":
        write(root / "val" / kind / "0.JPEG", drawn(40, 40))
    data = data_of(root, batch_size=64)
    run = dbench.start("run", dbench.spec(
        replicas=1, model="softmax_regression", data=data, implementation="C_complete",
        length={"iterations": 50}, evaluate={"every": None}), "--output", "out.h5")
    wait_for_rows(dbench.folder / "out.h5", table="evaluations")
    run.send_signal(signal.SIGTERM)
    _, errors = run.communicate(timeout=120)
    assert run.returncode == 75, errors
    assert len(read(dbench.folder / "out.h5", "iterations/train_loss")) == 0
    assert (dbench.folder / "out.h5.checkpoints" / "0" / "manifest.json").is_file()
