"""Tests of users' own data sets: NumPy arrays and folders of images."""

import json
import math
import os
import re
import struct
import subprocess
import zlib

import h5py
import numpy as np
import pytest
from results import differences, read
from together import checked

CLASSES, SIDE = 3, 6
RANDOM = np.random.default_rng(7)


def drawn(count, channels=3):
    """Return random images (N, C, H, W) of bytes, and labels that include every class."""
    pixels = RANDOM.integers(0, 256, (count, channels, SIDE, SIDE), dtype=np.uint8)
    return pixels, np.arange(count, dtype=np.int64) % CLASSES


@pytest.fixture
def trained(dbench):
    """The result of two iterations on `data`, 1 replica, its whole set a batch, from zeros."""
    def run(data, output="out.h5", **more):
        spec = dbench.spec(replicas=1, model="softmax_regression", init="zeros",
                           data={"partition": "contiguous", "batch_size": "full", **data},
                           implementation="C_complete", length={"iterations": 2},
                           evaluate={"every": None, "replicas": 1}, **more)
        dbench("run", spec, "--output", output, "--overwrite", "--quiet")
        return str(dbench.folder / output)
    return run


def refused(dbench, data, *words):
    spec = dbench.spec(data=data, replicas=1, implementation="C_complete")
    message = dbench("check", spec, expect=2).stderr
    assert message.count("error") == 1
    for word in words:
        assert word in message, message


def gradient_norm(x, y):
    """Return the gradient norm of softmax regression at zero parameters, from its formula."""
    x = x.reshape(len(x), -1)
    residual = np.full((len(x), CLASSES), 1 / CLASSES)
    residual[np.arange(len(x)), y] -= 1
    residual /= len(x)
    return math.sqrt(np.sum((residual.T @ x) ** 2) + np.sum(residual.sum(0) ** 2))


def test_pixels_are_normalised_by_the_training_set(dbench, trained):
    (x, y), (x2, y2) = drawn(12), drawn(6)
    np.savez(dbench.folder / "mine.npz", x_train=x, y_train=y, x_test=x2, y_test=y2)
    unit = x / 255
    standard = (unit - unit.mean((0, 2, 3), keepdims=True)) / unit.std((0, 2, 3), keepdims=True)
    mean, deviation = [0.5, 0.25, 0.125], [0.2, 0.3, 0.4]
    given = (unit - np.reshape(mean, (3, 1, 1))) / np.reshape(deviation, (3, 1, 1))
    for normalize, expected in (
            ("standard", standard), ("unit", unit),
            ({"mean": mean, "deviation": deviation}, given),
            ({"mean": [0.5], "deviation": [0.5]}, 2 * unit - 1)):
        out = trained({"type": "npz", "train": "mine.npz", "normalize": normalize})
        found = read(out, "parameters/gradient_norm")[0, 0]
        assert found == pytest.approx(gradient_norm(expected, y), rel=1e-5)
    assert read(out, "evaluations/mean_accuracy")[0] == np.mean(y2 == 0)


def test_channels_first_or_last_packed_or_not_in_one_file_or_two(dbench, trained):
    (x, y), (x2, y2) = drawn(12), drawn(6)
    last = [a.transpose(0, 2, 3, 1) for a in (x, x2)]
    np.savez(dbench.folder / "first.npz", x_train=x, y_train=y, x_test=x2, y_test=y2)
    np.savez_compressed(dbench.folder / "train.npz", x=last[0], y=y.astype(np.uint8)[:, None])
    np.savez_compressed(dbench.folder / "test.npz", x=last[1], y=y2)
    one = trained({"type": "npz", "train": "first.npz"}, "one.h5")
    two = trained({"type": "npz", "train": "train.npz", "test": "test.npz"}, "two.h5")
    assert differences(one, two) == []
    with h5py.File(two) as file:
        assert re.search(r"train\.npz.{1,9}crc32:", str(file["provenance"][()]))


def test_a_file_named_twice_is_tested_on_its_test_arrays(dbench, trained):
    (x, y), (x2, y2) = drawn(12), drawn(6)
    np.savez(dbench.folder / "both.npz", x=x, y=y, x_test=x2, y_test=y2)
    np.savez(dbench.folder / "train.npz", x=x, y=y)
    np.savez(dbench.folder / "test.npz", x=x2, y=y2)
    both = trained({"type": "npz", "train": "both.npz", "test": "both.npz"}, "both.h5")
    apart = trained({"type": "npz", "train": "train.npz", "test": "test.npz"}, "apart.h5")
    assert differences(both, apart) == []


def test_numbers_are_taken_as_they_are(dbench, trained):
    x, y = RANDOM.normal(size=(12, 5)), np.arange(12) % CLASSES
    for kind in ("f8", "f4"):
        np.savez(dbench.folder / "mine.npz", x_train=x.astype(kind), y_train=y,
                 x_test=x[:3].astype(kind), y_test=y[:3])
        found = read(trained({"type": "npz", "train": "mine.npz"}), "parameters/gradient_norm")
        assert found[0, 0] == pytest.approx(gradient_norm(x, y), rel=1e-5)


def test_training_and_test_images_may_have_different_memory_orders(dbench, trained):
    x, y = RANDOM.normal(size=(12, 3, SIDE, SIDE)), np.arange(12) % CLASSES
    found = []
    for k, (train, test) in enumerate([(x, x), (x.transpose(0, 2, 3, 1), x)]):
        np.savez(dbench.folder / f"{k}.npz", x_train=np.ascontiguousarray(train), y_train=y,
                 x_test=test, y_test=y)
        found.append(read(trained({"type": "npz", "train": f"{k}.npz"}, f"{k}.h5"),
                          "evaluations/mean_loss"))
    assert np.array_equal(*found)


def test_several_inputs_are_one_list_of_numbers(dbench, trained):
    ids, mask = RANDOM.integers(0, 9, (12, 4)), RANDOM.integers(0, 2, (12, 2, 2)).astype(bool)
    rest, y = RANDOM.normal(size=12).astype("f4"), np.arange(12) % CLASSES
    whole = np.concatenate([ids, mask.reshape(12, 4), rest[:, None]], 1)
    np.savez(dbench.folder / "own.npz", ids=ids, mask=mask, rest=rest, y=y)
    np.savez(dbench.folder / "x.npz", x=whole, y=y)
    files = {name: {"type": "npz", "train": f"{name}.npz", "test": f"{name}.npz"}
             for name in ("own", "x")}
    own = trained({**files["own"], "inputs": ["ids", "mask", "rest"]}, "own.h5")
    assert differences(own, trained(files["x"], "x.h5")) == []
    for inputs, words in ((["ids", "lost"], "no array lost"), ([], "/data/inputs: must be null or"),
                          ("ids", "/data/inputs: must be null or"), (["ids", 3], "/data/inputs")):
        refused(dbench, {**files["own"], "inputs": inputs}, words)
    refused(dbench, {**files["own"], "inputs": ["ids", "mask"], "layout": "channels_last"},
            "/data/layout")
    np.savez(dbench.folder / "own.npz", ids=ids + (1 << 24), mask=mask[:7], rest=rest, y=y)
    refused(dbench, {**files["own"], "inputs": ["ids", "rest"]}, "at most 2^24")
    refused(dbench, {**files["own"], "inputs": ["rest", "mask"]}, "for 7 samples in mask")


def test_real_targets(dbench):
    x = RANDOM.normal(size=(40, 4))
    y = x @ np.array([1.0, -2, 3, 0.5])
    np.savez(dbench.folder / "mine.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    spec = dbench.spec(replicas=2, model="least_squares", init="zeros",
                       data={"type": "npz", "train": "mine.npz", "batch_size": 5},
                       optimizer={"type": "sgd", "lr": 0.1}, length={"epochs": 40})
    loss = read(dbench.run(spec), "evaluations/mean_loss")
    assert loss[0] == pytest.approx(np.mean(y**2) / 2, rel=1e-4) and loss[-1] < 1e-4 * loss[0]


def test_pixels_with_real_targets_are_normalised(dbench):
    pixels, _ = drawn(12)
    y = RANDOM.normal(size=12)
    np.savez(dbench.folder / "pixels.npz", x_train=pixels, y_train=y, x_test=pixels, y_test=y)
    np.savez(dbench.folder / "unit.npz", x_train=pixels / 255, y_train=y, x_test=pixels / 255,
             y_test=y)
    shared = {"model": "least_squares", "replicas": 1, "implementation": "C_complete",
              "init": "zeros", "length": {"iterations": 2},
              "optimizer": {"type": "sgd", "lr": 0.01}}
    for name, more in (("pixels", {"normalize": "unit"}), ("unit", {})):
        spec = dbench.spec(shared, data={"type": "npz", "train": f"{name}.npz",
                                         "batch_size": "full", **more})
        dbench("run", spec, "--output", f"{name}.h5", "--quiet")
    loss = [read(str(dbench.folder / f"{name}.h5"), "evaluations/mean_loss")
            for name in ("pixels", "unit")]
    assert loss[0] == pytest.approx(loss[1], rel=1e-5)
    spec = dbench.spec(shared, data={"type": "npz", "train": "pixels.npz", "augment": True,
                                     "batch_size": "full"})
    dbench("check", spec)


# A list of sample numbers for each replica: overlapping, of different lengths.
LISTS = [[0, 3, 6, 9], [1, 4, 7], [2, 5, 8, 11, 0]]


@pytest.mark.parametrize("names", ["arr_{}", "{}"])
def test_a_partition_from_a_file(dbench, names):
    """Each replica trains on the samples of its list: its gradient is that of their mean loss."""
    (x, y), (x2, y2) = drawn(12), drawn(6)
    np.savez(dbench.folder / "mine.npz", x_train=x, y_train=y, x_test=x2, y_test=y2)
    np.savez(dbench.folder / "split.npz",
             **{names.format(k): np.array(mine, np.int32) for k, mine in enumerate(LISTS)})
    spec = dbench.spec(replicas=3, model="softmax_regression", init="zeros", graph="ring",
                       implementation=None,
                       data={"type": "npz", "train": "mine.npz", "normalize": "unit",
                             "partition": {"type": "file", "path": "split.npz"},
                             "batch_size": "full"},
                       algorithm="dsgd", length={"iterations": 1},
                       evaluate={"every": None, "replicas": 1})
    dbench("run", spec, "--output", "out.h5", "--overwrite", "--quiet")
    found = read(str(dbench.folder / "out.h5"), "parameters/gradient_norm")[0]
    expected = [gradient_norm(x[mine] / 255, y[mine]) for mine in LISTS]
    assert found == pytest.approx(expected, rel=1e-5)
    with h5py.File(dbench.folder / "out.h5") as file:
        assert re.search(r"split\.npz.{1,9}crc32:", str(file["provenance"][()]))


REFUSED_SPLITS = [
    (LISTS[:2], ["no array arr_2", "there are 3 replicas", "savez"]),
    ([*LISTS, [1]], ["more lists than the 3 replicas", "/replicas"]),
    ([[0, 12], [1], [2]], ["entry 1 of arr_0 is 12", "0 to 11"]),
    ([[0], [-1], [2]], ["entry 0 of arr_1 is -1"]),
    ([[0.5], [1], [2]], ["arr_0 is of type f8", "whole numbers"]),
    ([[[0, 1]], [1], [2]], ["arr_0 has 2 dimensions"]),
    ([[0], [], [2]], ["arr_1: the array is empty: save"]),
]


def test_invalid_partition_files_are_refused(dbench):
    x, y = drawn(12)
    np.savez(dbench.folder / "mine.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    specs = {}
    for k, (lists, _) in enumerate([*REFUSED_SPLITS, (None, None)]):
        if lists:
            np.savez(dbench.folder / f"split-{k}.npz", *map(np.array, lists))
        specs[k] = dbench.text(replicas=3, implementation="C_complete", data={
            "type": "npz", "train": "mine.npz", "batch_size": 1,
            "partition": {"type": "file", "path": f"split-{k}.npz"}})
    told = checked(dbench, specs)
    for k, (_, words) in enumerate(REFUSED_SPLITS):
        for word in ("/data/partition/path: ", f"split-{k}.npz", *words):
            assert word in told[k]["error"], told[k]
    assert "/data/partition/path: " in told[len(REFUSED_SPLITS)]["error"]


REFUSED = [
    (lambda x, y: {"x": x, "y": y}, ["/data/train", "no array x_train", "it holds x, y", "savez"]),
    (lambda x, y: {"x_train": x, "y_train": y[:-1], "x_test": x, "y_test": y}, ["y_train", "11"]),
    (lambda x, y: {"x_train": x, "y_train": y - 1, "x_test": x, "y_test": y}, ["label 0 is -1"]),
    (lambda x, y: {"x_train": x, "y_train": y, "x_test": x, "y_test": y + 1},
     ["label 3", "no training sample"]),
    (lambda x, y: {"x_train": x, "y_train": 2 * y, "x_test": x, "y_test": y},
     ["label 1", "no training sample"]),
    (lambda x, y: {"x_train": x, "y_train": np.eye(3)[y], "x_test": x, "y_test": y}, ["argmax"]),
    (lambda x, y: {"x_train": x * np.nan, "y_train": y, "x_test": x, "y_test": y}, ["not finite"]),
    (lambda x, y: {"x_train": x, "y_train": y, "x_test": x[:, :4], "y_test": y}, ["differs"]),
    (lambda x, y: {"x_train": x.astype(complex), "y_train": y, "x_test": x, "y_test": y},
     ["astype('<f8')"]),
    (lambda x, y: {"x_train": x, "y_train": y.astype(">i8"), "x_test": x, "y_test": y},
     ["newbyteorder('<')"]),
    (lambda x, y: {"x_train": np.asfortranarray(x), "y_train": y, "x_test": x, "y_test": y},
     ["ascontiguousarray"]),
    (lambda x, y: {"x_train": np.zeros((12, 3, 5, 3)), "y_train": y, "x_test": x, "y_test": y},
     ["/data/layout"]),
]


def test_invalid_arrays_are_refused(dbench):
    x, y = RANDOM.normal(size=(12, 5)), np.arange(12) % CLASSES
    specs = {}
    for k, (arrays, _) in enumerate(REFUSED):
        np.savez(dbench.folder / f"mine-{k}.npz", **arrays(x, y))
        specs[k] = dbench.text(data={"type": "npz", "train": f"mine-{k}.npz"}, replicas=1,
                               implementation="C_complete")
    told = checked(dbench, specs)
    for k, (_, words) in enumerate(REFUSED):
        for word in (f"mine-{k}.npz", *words):
            assert word in told[k]["error"], told[k]


def test_files_are_found_below_the_folder_of_data(dbench):
    (dbench.folder / "data").mkdir()
    x, y = RANDOM.normal(size=(12, 5)), np.arange(12) % CLASSES
    np.savez(dbench.folder / "data" / "mine.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    spec = dbench.spec(data={"type": "npz", "train": "mine.npz", "batch_size": 4}, replicas=1,
                       implementation="C_complete")
    dbench("check", spec, env={"DBENCH_DATA": str(dbench.folder / "data")})
    assert "/data/train: there is no file mine.npz" in dbench("check", spec, expect=2).stderr
    pixels, y = drawn(6)
    write_folders(dbench.folder / "data" / "pictures", pixels, y, ppm, "ppm")
    spec = dbench.spec(data={"type": "images", "train": "pictures", "test": "pictures",
                             "batch_size": 2}, replicas=1, implementation="C_complete")
    dbench("check", spec, env={"DBENCH_DATA": str(dbench.folder / "data")})
    assert "/data/train: pictures: cannot be read" in dbench("check", spec, expect=2).stderr


def test_damaged_files_are_refused(dbench):
    x, y = drawn(12)
    mine = dbench.folder / "mine.npz"
    data = {"type": "npz", "train": "mine.npz"}
    refused(dbench, data, "mine.npz", "there is no file")
    np.savez_compressed(mine, x_train=x, y_train=y, x_test=x, y_test=y)
    whole = mine.read_bytes()
    for bytes_ in (b"", b"x" * 100, whole[:-30], whole[:50]):
        mine.write_bytes(bytes_)
        refused(dbench, data, "mine.npz")
    at = len(whole) // 3                    # inside the packed pixels
    mine.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
    refused(dbench, data, "damaged")
    refused(dbench, {"type": "npz"}, "/data/train", "missing")
    np.savez(mine, x_train=x[:, 0, 0] * 1.0, y_train=y, x_test=x[:, 0, 0] * 1.0, y_test=y)
    refused(dbench, {**data, "augment": True}, "/data/augment")
    refused(dbench, {**data, "normalize": "unit"}, "/data/normalize")
    # A spec that was checked before it with the same samples does not hide this.
    specs = [dbench.spec({"data": {**data, "batch_size": 4, "augment": augment}, "replicas": 1,
                          "implementation": "C_complete"}, f"augment-{augment}.json")
             for augment in (False, True)]
    assert "/data/augment" in dbench("check", *specs, expect=2).stderr


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(pixels, palette=None, depth=8, interlaced=0):
    """Encode (C, H, W) as a PNG file whose rows use the five filters in turn."""
    channels, height, width = pixels.shape
    rows = pixels.transpose(1, 2, 0).reshape(height, -1).astype(int)
    packed = b""
    for y, row in enumerate(rows):
        up = rows[y - 1] if y else np.zeros_like(row)
        left, corner = (np.concatenate([np.zeros(channels, int), r[:-channels]]) for r in (row, up))
        p = left + up - corner
        nearest = np.abs(np.stack([p - left, p - up, p - corner])).argmin(0)
        paeth = np.choose(nearest, [left, up, corner])
        predicted = [0 * row, left, up, (left + up) // 2, paeth][y % 5]
        packed += bytes([y % 5]) + ((row - predicted) % 256).astype(np.uint8).tobytes()
    colour = 3 if palette is not None else {1: 0, 3: 2, 4: 6}[channels]
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)
    data = zlib.compress(packed)
    parts = [chunk(b"IHDR", header), chunk(b"tEXt", b"a\0b")]
    parts += [chunk(b"PLTE", palette.tobytes())] if palette is not None else []
    parts += [chunk(b"IDAT", data[:20]), chunk(b"IDAT", data[20:]), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def ppm(pixels):
    kind = b"P6" if len(pixels) == 3 else b"P5"
    return kind + b"\n# a comment\n%d %d\n255\n" % pixels.shape[:0:-1] + pixels.transpose(
        1, 2, 0).tobytes()


def write_folders(root, x, y, form, suffix):
    for k, (pixels, label) in enumerate(zip(x, y)):
        folder = root / f"class{label}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{k:03d}.{suffix}").write_bytes(form(pixels))


@pytest.mark.parametrize("form, suffix", [(png, "png"), (ppm, "ppm")])
@pytest.mark.parametrize("channels", [1, 3])
def test_a_folder_of_images_equals_an_array(dbench, trained, form, suffix, channels):
    (x, y), (x2, y2) = drawn(12, channels), drawn(6, channels)
    y, y2 = np.sort(y), np.sort(y2)         # in the order of the folders
    np.savez(dbench.folder / "mine.npz", x_train=x, y_train=y, x_test=x2, y_test=y2)
    write_folders(dbench.folder / "train", x, y, form, suffix)
    write_folders(dbench.folder / "test", x2, y2, form, suffix)
    (dbench.folder / "train" / "class0" / ".hidden").write_text("not a picture")
    arrays = trained({"type": "npz", "train": "mine.npz"}, "arrays.h5")
    folders = trained({"type": "images", "train": "train", "test": "test"}, "folders.h5")
    assert differences(arrays, folders) == []


def test_a_palette(dbench, trained):
    palette = RANDOM.integers(0, 256, (256, 3), dtype=np.uint8)
    numbers, y = drawn(12, 1)
    y = np.sort(y)
    write_folders(dbench.folder / "numbers", numbers, y, lambda p: png(p, palette), "png")
    colours = palette[numbers[:, 0]].transpose(0, 3, 1, 2)
    np.savez(dbench.folder / "mine.npz", x_train=colours, y_train=y, x_test=colours, y_test=y)
    assert differences(trained({"type": "npz", "train": "mine.npz"}, "a.h5"),
                       trained({"type": "images", "train": "numbers", "test": "numbers"},
                               "b.h5")) == []


def test_invalid_images_are_refused(dbench):
    x, y = drawn(6)
    for name in ("train", "test"):
        write_folders(dbench.folder / name, x, y, png, "png")
    data = {"type": "images", "train": "train", "test": "test"}
    victim = dbench.folder / "train" / "class1" / "001.png"
    good = victim.read_bytes()
    at = good.index(b"IDAT") + 8
    for content, words in [
        (good[:at] + bytes([good[at] ^ 4]) + good[at + 1:], ["damaged", "checksum"]),
        (good[:-20], ["damaged", "too early"]),
        (b"\xff\xd8\xff\xe0" + b"0" * 50, ["JPEG", "mogrify"]),
        (b"GIF89a", ["not a PNG, PPM"]),
        (png(x[0], depth=16), ["damaged", "unpacked"]),
        (png(x[0], depth=4), ["damaged", "no known kind"]),
        (png(x[0][:, :4]), ["6 by 4", "6 by 6"]),
        (ppm(x[0])[:40], ["damaged"]),
        (b"P6 6 6 65535 ", ["65535"]),
        (b"P5 0 6 255 ", ["0 by 6"]),
    ]:
        victim.write_bytes(content)
        refused(dbench, data, "/data/train" if "6 by 4" in words else "001.png", "001.png", *words)
    victim.write_bytes(good)
    (dbench.folder / "test" / "other").mkdir()
    refused(dbench, data, "/data/test", "class other")
    refused(dbench, {**data, "train": "nowhere"}, "/data/train", "nowhere")
    refused(dbench, {**data, "train": "train/class0"}, "/data/train", "0 folders")


def test_a_folder_of_pictures_of_every_kind(dbench, trained):
    """Pictures with alpha, 16 bits or few colours are read as Pillow converts them."""
    image = pytest.importorskip("PIL.Image")
    (x, y), folders = drawn(12), ("kinds", "plain")
    for k, (pixels, label) in enumerate(zip(x, np.sort(y))):
        picture = image.fromarray(pixels.transpose(1, 2, 0)).convert("RGB")
        picture = picture.convert(["RGBA", "P", "RGB", "P"][k % 4])
        if k % 4 == 0:
            picture.putalpha(image.fromarray(pixels[0]))
        for folder in folders:
            path = dbench.folder / folder / f"class{label}" / f"{k:03d}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            picture.convert("RGB" if folder == "plain" else picture.mode).save(path)
    kinds, plain = (trained({"type": "images", "train": each, "test": each}, f"{each}.h5")
                    for each in folders)
    assert differences(kinds, plain) == []


def warned(dbench, spec):
    """Return the warnings of `check`, which `run` prints as well."""
    found = json.loads(dbench("check", spec, "--json").stdout)["warnings"]
    ran = dbench("run", spec, "--output", "warned.h5", "--overwrite").stderr
    found = [one for one in found if one.startswith(("/data:", "/data/validation"))]
    for one in found:
        assert one in ran, ran
    return found


def test_a_part_without_a_class_is_named(dbench):
    """Folders are sorted by class, so the samples held out are all of the last class."""
    x, y = drawn(12)
    for name in ("train", "test"):
        write_folders(dbench.folder / name, x, np.sort(y), png, "png")
    data = {"type": "images", "train": "train", "test": "test", "batch_size": 2}

    def said(**more):
        return warned(dbench, dbench.spec(data={**data, **more}, replicas=2))

    assert said() == []
    train, held_out = said(validation=4)
    assert "training set has no sample of the class class2 (1 of 3)" in train
    assert "validation set has no sample of the classes class0, class1 (2 of 3)" in held_out
    all_parts, test = said(limit={"train": 8, "test": 4})
    assert "no sample has the class class2 (1 of 3)" in all_parts
    assert "test set has no sample of the class class1 (1 of 3)" in test
    np.savez(dbench.folder / "mine.npz", x_train=x, y_train=y + 1, x_test=x, y_test=y + 1)
    data = {"type": "npz", "train": "mine.npz", "batch_size": 2}
    from_one, = said()
    assert "no sample has the class 0" in from_one and "subtract 1" in from_one


def test_a_test_class_without_training_pictures_is_refused(dbench):
    x, y = drawn(6)
    for name in ("train", "test"):
        write_folders(dbench.folder / name, x, y, png, "png")
    for path in (dbench.folder / "train" / "class1").iterdir():
        path.unlink()
    refused(dbench, {"type": "images", "train": "train", "test": "test"}, "/data/test", "class1",
            "no training picture")


def test_loops_of_links_and_pipes_are_errors(dbench):
    """Errors of the system are reported in words, and nothing waits for a pipe."""
    x, y = drawn(6)
    for name in ("train", "test"):
        write_folders(dbench.folder / name, x, y, png, "png")
    loop, pipe = dbench.folder / "loop", dbench.folder / "pipe"
    loop.symlink_to("loop")
    os.mkfifo(pipe)
    images = {"type": "images", "train": "train", "test": "test"}
    inside = dbench.folder / "train" / "loop"
    inside.symlink_to("loop")
    pairs = {"type": "pairs", "source": "loop", "target": "pipe"}
    data = {
        "images": images, "imagenet": {**images, "type": "imagenet"},
        "cifar10": {"type": "cifar10", "root": "loop"}, "mnist": {"type": "mnist", "root": "loop"},
        "text": {"type": "text", "path": "loop"}, "pairs": pairs,
        "npz": {"type": "npz", "train": "loop"}, "wikitext2": {"type": "wikitext2", "root": "loop"},
        "multi30k": {"type": "multi30k", "root": "loop"}}
    specs = {name: dbench.text(data=each, replicas=1, model="mlp", implementation="C_complete")
             for name, each in data.items()}
    for name, told in checked(dbench, specs, timeout=60).items():
        assert "loop" in told["error"] and "symbolic links" in told["error"], (name, told)
    inside.unlink()
    waits = {"images": images, "imagenet": {**images, "type": "imagenet"},
             "text": {"type": "text", "path": "pipe"}, "npz": {"type": "npz", "train": "pipe"},
             "pack": {**images, "type": "imagenet", "train": "pipe"}}
    (dbench.folder / "train" / "class0" / "000.png").unlink()
    os.mkfifo(dbench.folder / "train" / "class0" / "000.png")
    specs = {name: dbench.text(data=each, replicas=1, model="mlp", implementation="C_complete")
             for name, each in waits.items()}
    for name, told in checked(dbench, specs, timeout=60).items():
        assert "a pipe or a device" in told["error"], (name, told)
    for command in (("data", "verify", "pipe"), ("data", "pack", "train", "new.pack"),
                    ("data", "pieces", "pipe", "--output", "new"), ("doctor", "pipe"),
                    ("doctor", "loop"), ("check", "pipe"), ("check", "loop")):
        said = dbench(*command, expect=2, timeout=30).stderr
        assert "filesystem error" not in said and ("loop" in said or "pipe" in said), said


def test_a_folder_without_permission_is_named(dbench):
    # Root enters every folder unless it gives up two capabilities.
    caps = "-dac_override,-dac_read_search"
    drop = ["setpriv", f"--bounding-set={caps}", f"--inh-caps={caps}"]
    as_user = drop if os.geteuid() == 0 else []
    closed = dbench.folder / "closed"
    (closed / "mnist").mkdir(parents=True)
    closed.chmod(0)
    try:
        for data in ({"type": "mnist", "root": "closed"}, {"type": "text", "path": "closed/a"}):
            spec = dbench.spec(data=data, replicas=1, implementation="C_complete")
            done = subprocess.run([*as_user, *dbench.command("check", spec)], cwd=dbench.folder,
                                  env=dbench.environment, capture_output=True, text=True)
            assert done.returncode == 2, done.stderr
            for word in ("closed", "Permission denied"):
                assert word in done.stderr
    finally:
        closed.chmod(0o700)
