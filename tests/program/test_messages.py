"""Rows in 16 bits, as the program sends, counts and checks them."""

import json

import numpy as np
import pytest
from results import content, differences

RUN = {"profile": {"variance": {"kind": "exact"}}, "init": "independent"}
CODED = {"bfloat16": 2.0 ** -8, "float16": 2.0 ** -11}  # half a last place, relative
CASES = {
    "ring": {"algorithm": "dsgd", "graph": "ring"},
    "awc": {"algorithm": {"type": "dsgd", "order": "combine_while_adapt"}, "graph": "exponential"},
    "cta": {"algorithm": {"type": "dsgd", "order": "combine_then_adapt"},
            "graph": "alternating_ring"},
    "complete": {"algorithm": "dsgd", "graph": "complete"},
    "centralized": {"algorithm": "centralized"},
    "tracking": {"algorithm": "gradient_tracking", "graph": "ring"},
    "corrected": {"algorithm": "exact_diffusion", "graph": {"type": "ring", "lazy": 0.5}},
}


def run(dbench, name, changes, ranks=None):
    more = {"implementation": None, "output": f"{name}.h5"}
    path = dbench.spec({**RUN, **changes}, f"{name}.json", **more)
    dbench("run", path, "--quiet", "--overwrite", ranks=ranks)
    return dbench.folder / f"{name}.h5"


@pytest.mark.parametrize("message", CODED)
@pytest.mark.parametrize("case", CASES)
def test_bits_do_not_depend_on_ranks(dbench, case, message):
    changes = {**CASES[case], "message": message}
    alone = run(dbench, "alone", changes)
    for ranks in (2, 4):
        assert differences(alone, run(dbench, f"on-{ranks}", changes, ranks)) == []


@pytest.mark.parametrize("message", CODED)
@pytest.mark.parametrize("case", CASES)
def test_16_bits_are_counted_and_stay_near_float32(dbench, case, message):
    whole, coded = (content(run(dbench, m, {**CASES[case], "message": m}))
                    for m in ("float32", message))
    # Mixing gathers a group's mean whole, so that the mean over replicas stays.
    share = 0.75 if case == "complete" else 0.5
    sent = whole["iterations/bytes_sent"]
    assert (sent > 0).all() and np.array_equal(coded["iterations/bytes_sent"], share * sent)
    for name in ("iterations/train_loss", "parameters/norm"):
        a, b = whole[name], coded[name]
        assert not np.array_equal(a, b), name
        np.testing.assert_allclose(b, a, rtol=60 * CODED[message], atol=30 * CODED[message])


def test_float32_is_what_a_spec_without_the_key_has(dbench):
    said = run(dbench, "said", {**CASES["ring"], "message": "float32"})
    assert differences(said, run(dbench, "silent", CASES["ring"])) == []


def test_check_counts_what_travels(dbench):
    def estimate(message):
        path = dbench.spec({**CASES["ring"], "implementation": None, "message": message})
        return json.loads(dbench("check", path, "--json").stdout)["bytes_per_step"]
    assert estimate("bfloat16") == estimate("float16") == estimate("float32") / 2 > 0


def test_mpi_adds_no_16_bit_rows(dbench):
    path = dbench.spec({**CASES["ring"], "implementation": None, "message": "float16",
                        "reduction": "library"})
    error = dbench("check", path, expect=2).stderr
    assert "/message" in error and "reproducible" in error
