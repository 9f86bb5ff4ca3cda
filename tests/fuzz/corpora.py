"""Write the corpora of the fuzz targets: valid inputs, and inputs that once caused failures."""

import gzip
import io
import json
import struct
import zlib

import exported_archive
import numpy as np

GOOD_SPEC = {
    "name": "a", "replicas": 4, "model": {"type": "mlp"}, "seed": {"init": 1, "data": 2},
    "data": {"type": "shapes", "train": 64, "test": 16, "batch_size": 8,
             "partition": {"type": "dirichlet", "alpha": 0.5},
             "limit": {"train": 32, "test": None}},
    "graph": {"type": "ring_lattice", "k": 2}, "algorithm": {"type": "dsgd"},
    "optimizer": {"type": "adam", "betas": [0.9, 0.99]},
    "schedule": {"type": "multistep", "milestones": [1, 2], "warmup": {"epochs": 1}},
    "length": {"iterations": 9}, "evaluate": {"every": {"epochs": 1}},
    "profile": {"every": [{"until": {"iterations": 4}, "every": {"iterations": 1}},
                          {"every": {"epochs": 1}}]},
    "checkpoint": {"every": {"iterations": 3}, "keep": 2}}
SMALL_SPEC = ('{"replicas": 4, "model": "mlp", "data": {"type": "shapes", "batch_size": 8}, '
              '"implementation": "D_ring"}')


def spec():
    small = SMALL_SPEC.encode()
    found = {"good": json.dumps(GOOD_SPEC).encode(), "small": small,
             "comments": b"// one\n" + small, "empty": b"", "list": b"[]", "null": b"null",
             "base_device": b'{"base": "/dev/zero"}', "base_itself": b'{"base": "spec.json"}',
             "base_number": b'{"base": 5}', "bytes": bytes(range(256))}
    for levels in (63, 64, 65, 1000, 100000):
        found[f"lists_{levels}"] = b"[" * levels + b"]" * levels
        found[f"objects_{levels}"] = b'{"a":' * levels + b"1" + b"}" * levels
    settings = ["/evaluate/batch_size=18446744073709551615",
                "/checkpoint/keep=18446744073709551615",
                "/data/limit=9223372036854775808", "/profile/graphs=18446744073709551615",
                "/replicas=2147483647", "/replicas=9223372036854775807", "/length/iterations=1e18",
                "/length={\"epochs\": 1e400}", "/optimizer/lr=1e400", "/optimizer/lr=nan",
                "/schedule/milestones/300000000=1", "/a" * 30000 + "=1", "/graph=\xe4\xff",
                "/name=\xff", "/\xff=1", "/=1", "=1", "", "//=1", "/~2=1", "/graph/type=",
                "/graph={\"type\": []}", "/data=[1]", "/seed={}", "/model=null"]
    for k, setting in enumerate(settings):
        found[f"set_{k}"] = small + b"\0" + setting.encode("latin-1")
    return found


def npy(descr, shape, data=b"", order=False):
    head = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data


def graph():
    third = np.full((4, 4), 0.25)
    return {"edges": b"0 1\n1 2\n2 3\n3 0\n", "weights": b"0 1 0.5\n1 0 0.5\n2 3 .5\n3 2 .5\n",
            "matrix": b"\n".join(b"0.25 0.25 0.25 0.25" for _ in range(4)),
            "csv": b"0,1\n1,2;\n# text\n2,3\r\n3,0", "empty": b"", "blank": b" \n\t\r\n",
            "npy": npy("<f8", "(4, 4)", third.tobytes()),
            "npy_columns": npy("<f8", "(4, 4)", third.tobytes(), True),
            "npy_int": npy("<i4", "(2, 2)", np.arange(4, dtype="<i4").tobytes()),
            "npy_nothing": npy("<f8", "(268435456, 0)"),
            "npy_none": npy("<f8", "(0, 268435456)"), "npy_huge": npy("<f8", "(99999999999999, 1)"),
            "npy_product": npy("<f8", "(4294967296, 4294967296)"),
            "npy_scalar": npy("<f8", "()"), "npy_open": npy("<f8", "(4"),
            "npy_objects": npy("|O", "(4, 4)"), "npy_short": b"\x93NUMPY\x02\x00\xff\xff\xff\xff",
            "nan": b"nan nan\n", "infinite": b"0 1 inf\n", "huge": b"0 1e308\n", "minus": b"-1 0\n",
            "deep": b"1 " * 100000, "lines": b"0 1\n" * 20000, "nul": b"0\x001\n"}


def idx(images=4, labels=4, side=28, byte=0):
    pixels = struct.pack(">IIII", 0x803, images, side, side) + bytes(images * side * side)
    return pixels, struct.pack(">II", 0x801, labels) + bytes([byte]) * labels


def data():
    def both(images, labels):   # data_fuzz.cpp: the first byte is the share of the images file
        share = round(255 * len(images) / (len(images) + len(labels)))
        while (len(images) + len(labels)) * share // 255 < len(images):
            images, labels = images, labels + b"\0"
            share = round(255 * len(images) / (len(images) + len(labels)))
        return bytes([share]) + images + labels
    plain, labels = idx()
    bomb = gzip.compress(plain + bytes(1 << 22))
    packed = both(gzip.compress(plain), gzip.compress(labels))
    return {"good": both(plain, labels), "packed": packed,
            "bomb": both(bomb, labels), "half": both(gzip.compress(plain)[:-9], labels),
            "many": both(*idx(images=4, labels=9)), "label": both(*idx(byte=10)),
            "side": both(*idx(side=0)), "swapped": both(labels, plain), "empty": b"\0", "none": b"",
            **pictures(), **archives()}


def png(width=3, height=2, colour=2, depth=8, rows=None, palette=b""):
    """Return a PNG by the definition of the format; every row has a different filter."""
    def part(kind, content):
        return (struct.pack(">I", len(content)) + kind + content
                + struct.pack(">I", zlib.crc32(kind + content)))
    line = bytes(range(min(width * (3 if colour == 2 else 1), 256)))
    plain = b"".join(bytes([y % 5]) + line for y in range(height)) if rows is None else rows
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    colours = part(b"PLTE", palette) if palette else b""
    return (b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + colours
            + part(b"IDAT", zlib.compress(plain))
            + part(b"IEND", b""))


def pictures():
    good = png()
    return {"png": good, "png_grey": png(colour=0, height=6),
            "png_wide": png(width=2 ** 31 - 1, rows=b"\0"),
            "png_palette": png(colour=3, palette=bytes(range(9))),
            "png_no_palette": png(colour=3), "png_deep": png(depth=16), "png_none": png(height=0),
            "png_bomb": png(width=1 << 14, height=1 << 14, rows=bytes(1 << 22)),
            "png_short": png(rows=b"\0"), "png_filter": png(rows=bytes([9] + [0] * 9) * 2),
            "png_cut": good[:-5], "png_head": good[:8],
            "png_length": good[:8] + b"\xff" * 4 + good[12:],
            "ppm": b"P6\n# a comment\n3 2\n255\n" + bytes(18), "pgm": b"P5 3 2 255\n" + bytes(6),
            "pgm_comment": b"P5 #", "pgm_deep": b"P5 3 2 65535\n" + bytes(12),
            "pgm_huge": b"P5 99999999999999999999 99999999999 255\n", "pgm_none": b"P5"}


def archives():
    def archive(save=np.savez, **arrays):
        file = io.BytesIO()
        save(file, **arrays)
        return file.getvalue()
    images = np.zeros((6, 1, 3, 4), dtype=np.uint8)
    labels = np.arange(6) % 2
    def both(x, y, **how):
        return archive(x_train=x, y_train=y, x_test=x[:2], y_test=y[:2], **how)
    good = both(images, labels)
    return {"npz": good, "npz_packed": both(images, labels, save=np.savez_compressed),
            "npz_floats": both(np.ones((6, 4)), np.linspace(0, 1, 6)),
            "npz_nan": both(np.full((6, 4), np.nan), labels), "npz_minus": both(images, labels - 1),
            "npz_empty": both(images[:0], labels[:0]), "npz_flat": both(images, labels[:, None]),
            "npz_nothing": archive(), "npz_one": archive(x_train=np.float64(1)),
            "npz_columns": both(np.ones((6, 4), order="F"), labels),
            "npz_objects": both(np.array([None] * 6), labels),
            "npz_five": both(np.zeros((6, 1, 1, 1, 1)), labels),
            "npz_text": both(labels.astype("U1"), labels),
            "npz_cut": good[:-30], "npz_start": good[:40], "npz_end": b"PK" + good[-22:],
            "npz_bomb": both(np.zeros((6, 1 << 20)), labels, save=np.savez_compressed),
            "npz_64": good.replace(b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f")}


def checkpoint():
    rows = bytes(64)
    def head(**changes):
        entry = {"name": "parameters", "shared": False, "bytes": 16,
                 "checksums": [zlib.crc32(bytes(16))] * 4}
        whole = {"first": 0, "count": 4, "entries": [{**entry, **changes.pop("entry", {})}],
                 **changes}
        return json.dumps(whole).encode()
    good = head()
    framed = b"DBCKPT01" + struct.pack("<QI", len(good), zlib.crc32(good)) + good + rows
    found = {"framed": framed, "cut": framed[:-1], "magic": b"DBCKPT01", "empty": b"",
             "long": b"DBCKPT01" + struct.pack("<QI", 1 << 30, 0), "good": good + b"\0" + rows,
             "deep": b"[" * 100000, "list": b"[]", "null": b"null\0"}
    for name, changes in {"count": {"count": 2 ** 62}, "minus": {"count": -1},
                          "first": {"first": -2 ** 63}, "no_entries": {"entries": None},
                          "size": {"entry": {"bytes": -1}}, "large": {"entry": {"bytes": 2 ** 62}},
                          "sums": {"entry": {"checksums": [2 ** 64 - 1]}},
                          "texts": {"entry": {"checksums": ["a"] * 4}},
                          "name": {"entry": {"name": 5}}, "shared": {"entry": {"shared": 1}}
                          }.items():
        found[name] = head(**changes) + b"\0" + rows
    return found


def exported():
    """Return small files of models, with damages that checksums do not show, and documents of
    graphs."""
    config = "data/weights/train_weights_config.json"
    def changed(entry, before, after):
        return exported_archive.linear(classes=2, shape=(1, 2, 2), changes={
            entry: lambda data: data.replace(before, after)})
    good = exported_archive.linear(classes=2, shape=(1, 2, 2))
    graph = exported_archive.Graph({"fc.weight": "parameter"})
    graph.add("linear.default", "out", input="x", weight="w_fc_weight", bias=None)
    return {"good": good, "network": exported_archive.network(width=2, size=4),
            "loss": exported_archive.linear(
                classes=2, shape=(1, 2, 2), loss=lambda graph: graph.add(
                    "cross_entropy_loss.default", "loss", self="y", target="t", reduction=0)),
            "auxiliary": exported_archive.linear(
                classes=2, shape=(1, 2, 2), auxiliary=[0.5],
                edit=lambda graph: graph.outputs.append("out")),
            "numbers": exported_archive.linear(classes=2, shape=(1, 2, 2), edit=lambda graph: [
                graph.add("sym_size.int", "size", self="x", dim=0),
                graph.add("_operator.lshift", "more", a={"as_sym_int": {"as_name": "size"}}, b=1),
                graph.add("mul.Tensor", "turned", self="out",
                          other={"as_complex": {"real": 1.0, "imag": 2.0}}),
                graph.add("add_.Tensor", "total", self="w_fc_bias", other="turned")]),
            "cut": good[:-30], "half": good[:len(good) // 2], "start": good[:40],
            "end": b"PK" + good[-22:], "graph": json.dumps(graph.document()).encode(),
            "deep": b"[" * 1000, "null": b"null", "empty": b"",
            "pickled": changed(config, b'"use_pickle": false', b'"use_pickle": true'),
            "huge": changed(config, b'"as_int": 4', b'"as_int": 9223372036854775807'),
            "minus": changed(config, b'"as_int": 4', b'"as_int": -4'),
            "offset": changed(config, b'"storage_offset": {"as_int": 0}',
                              b'"storage_offset": {"as_int": 9223372036854775807}'),
            "leaves": changed(config, b'weight_0"', b'../../../etc/passwd"'),
            "absolute": changed(config, b'weight_0"', b'/etc/passwd"'),
            "outside": exported_archive.linear(classes=2, shape=(1, 2, 2),
                                               changes={"/etc/passwd": lambda _: b""})}


def result(run):
    """Return variants of a result file: unchanged, running, truncated, and with flipped bits."""
    plain = open(run, "rb").read()
    found = {"complete": plain, "empty": b"", "head": plain[:48], "half": plain[:len(plain) // 2],
             "marked": plain[:11] + b"\x05" + plain[12:], "other": b"\x89HDF\r\n\x1a\n" + bytes(90)}
    for k in range(40):
        at = k * len(plain) // 40
        found[f"bit_{k}"] = plain[:at] + bytes([plain[at] ^ 1 << k % 8]) + plain[at + 1:]
        found[f"zeros_{k}"] = plain[:at] + bytes(64) + plain[at + 64:]
    return found


def sweep(output):
    good = {"base": {"replicas": 4}, "axes": {"graph": ["ring", {"type": "torus"}],
                                              "zip": [{"seed": [1, 2], "/optimizer/lr": [1, 0.1]}]},
            "exclude": [{"graph": "ring", "seed": [1]}], "only": [], "name": "{graph}-s{seed}-{lr}",
            "output": output, "ranks": {"replicas_per_rank": 2, "most": 8}, "time": "1-02:00:00"}
    def changed(**changes):
        return json.dumps({**good, **changes}).encode()
    return {"good": changed(), "empty": b"", "null": b"null", "list": b"[]",
            "deep": b"[" * 100000, "deep_axes": changed(axes=0)[:-1] + b', "x": ' + b"[" * 5000,
            "shell": changed(output=output + "/x\ntouch PWNED; echo x"),
            "percent": changed(output=output + "/%j"), "device": changed(base="/dev/zero"),
            "combinations": changed(axes={f"/a/{k}": list(range(100)) for k in range(6)}),
            "infinite": changed(ranks=1)[:-1] + b', "time": 1e400}',
            "half": changed(name="{graph}")[:-1] + b', "only": ["\\ud800"]}',
            "types": changed(axes=[1], exclude={}, only=5, name=[], ranks="x", time=[]),
            "zip": changed(axes={"zip": [{"seed": [1], "graph": []}]}), "bytes": bytes(range(256))}
