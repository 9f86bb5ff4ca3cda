"""Tests that mutated sweep files are either read or refused with a message. The test runs for
DBENCH_FUZZ_SECONDS with the seed DBENCH_FUZZ_SEED."""

import os
import random
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts" / "slurm"), str(ROOT / "tests" / "fuzz")]

import corpora  # noqa: E402
from sweeps.problem import Problem  # noqa: E402
from sweeps.sweepfile import Sweep  # noqa: E402

SECONDS = float(os.environ.get("DBENCH_FUZZ_SECONDS", "5"))
SEED = int(os.environ.get("DBENCH_FUZZ_SEED", "1"))
WORDS = [b"{", b"}", b"[", b"]", b",", b"null", b"-1", b"1e400", b"18446744073709551616", b'"zip":',
         b'"axes":', b'"base":', b'"{graph}"', b"\\ud800", b"\\u0000", b"\xff", b"// x\n", b"%",
         b"\n"]


def changed(generator, corpus):
    text = bytearray(generator.choice(corpus))
    for _ in range(generator.randrange(1, 6)):
        at, length = generator.randrange(len(text) + 1), generator.randrange(1, 40)
        deed = generator.randrange(5)
        if deed == 0 and at < len(text):
            text[at] = generator.randrange(256)
        elif deed == 1:
            del text[at:at + length]
        elif deed == 2:
            text[at:at] = text[at:at + length] * generator.choice([1, 1, 1, 50])
        elif deed == 3:
            other = generator.choice(corpus)
            start = generator.randrange(len(other) + 1)
            text[at:at] = other[start:start + length]
        else:
            text[at:at + generator.randrange(8)] = generator.choice(WORDS)
    return bytes(text)


def read_or_refuse(path, data):
    path.write_bytes(data)
    start = time.monotonic()
    try:
        sweep = Sweep(str(path))
        for name, _ in sweep.points:
            assert "/" not in name and "\n" not in name
        assert sweep.output.isprintable() and "%" not in sweep.output
    except Problem as problem:
        assert len(str(problem)) > 10
    assert time.monotonic() - start < 10, "too long"


def test_mutated_sweep_files(tmp_path):
    corpus = list(corpora.sweep(str(tmp_path / "out")).values())
    path, generator = tmp_path / "sweep.json", random.Random(SEED)
    for data in corpus:
        read_or_refuse(path, data)
    end = time.monotonic() + SECONDS
    tried = 0
    while time.monotonic() < end:
        read_or_refuse(path, changed(generator, corpus))
        tried += 1
    print(f"{len(corpus)} inputs of the corpus, {tried} changed ones, none failed")
