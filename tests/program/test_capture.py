"""Tests of `"capture"` on the CPU: nothing is captured, which is reported, and "on" is refused."""

import json

import h5py
from together import checked

RUN = {"model": {"type": "mlp", "hidden": [4]}, "replicas": 2,
       "data": {"type": "shapes", "train": 16, "test": 4, "batch_size": 4},
       "length": {"iterations": 1}, "implementation": None, "algorithm": "dsgd", "graph": "ring"}


def test_the_cpu_captures_nothing(dbench):
    told = checked(dbench, {word: dbench.text(RUN, capture=word) for word in ("on", "auto")})
    refused = told["on"]["error"]
    assert "/capture" in refused and "the CPU" in refused and "leave it out" in refused
    assert "error" not in told["auto"]
    for word, said in (("auto", "off (replicas train on the CPU"), ("off", "off")):
        with h5py.File(dbench.run(dbench.spec(RUN, capture=word), word + ".h5")) as file:
            chosen = json.loads(file["provenance"][()])["environment"]["capture"]
        assert chosen.startswith(said)
