"""Tests of rows in 16 bits: sending, counting and checking them."""

import json

import numpy as np
import pytest
from results import content, differences
from together import Together

RUN = {"profile": {"variance": {"kind": "exact"}}, "init": "independent"}
CODED = {"bfloat16": 2.0 ** -8, "float16": 2.0 ** -11}  # relative rounding error
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


@pytest.fixture(scope="module")
def runs(shared):
    return Together(shared, "all", {
        (case, message): {**RUN, "implementation": None, **changes, "message": message}
        for case, changes in CASES.items() for message in ("float32", *CODED)})


@pytest.mark.parametrize("message", CODED)
@pytest.mark.parametrize("case", CASES)
def test_bits_do_not_depend_on_ranks(runs, case, message):
    alone = runs.result((case, message))
    for ranks in (2, 4):
        assert differences(alone, runs.result((case, message), ranks=ranks)) == []


@pytest.mark.parametrize("message", CODED)
@pytest.mark.parametrize("case", CASES)
def test_16_bits_are_counted_and_stay_near_float32(runs, case, message):
    whole, coded = (content(runs.result((case, m))) for m in ("float32", message))
    # A group's mean is gathered in full precision, so that the mean over replicas does not change.
    share = 0.75 if case == "complete" else 0.5
    sent = whole["iterations/bytes_sent"]
    assert (sent > 0).all() and np.array_equal(coded["iterations/bytes_sent"], share * sent)
    for name in ("iterations/train_loss", "parameters/norm"):
        a, b = whole[name], coded[name]
        assert not np.array_equal(a, b), name
        np.testing.assert_allclose(b, a, rtol=60 * CODED[message], atol=30 * CODED[message])


def test_float32_is_what_a_spec_without_the_key_has(dbench, runs):
    silent = dbench.run(dbench.spec({**RUN, **CASES["ring"]}, implementation=None))
    assert differences(runs.result(("ring", "float32")), silent) == []


def test_check_counts_encoded_bytes(dbench):
    def estimate(message):
        path = dbench.spec({**CASES["ring"], "implementation": None, "message": message})
        return json.loads(dbench("check", path, "--json").stdout)["bytes_per_step"]
    assert estimate("bfloat16") == estimate("float16") == estimate("float32") / 2 > 0


def test_the_library_cannot_sum_16_bit_rows(dbench):
    path = dbench.spec({**CASES["ring"], "implementation": None, "message": "float16",
                        "reduction": "library"})
    error = dbench("check", path, expect=2).stderr
    assert "/message" in error and "reproducible" in error
