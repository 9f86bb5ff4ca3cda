"""Tests of metrics other than loss and accuracy, for local models and the mean model."""

import numpy as np
import pytest
from results import differences, read
from test_bad_input import refused

TOP5 = {"evaluate": {"every": {"iterations": 2}, "metrics": ["top5"]}}


def test_top5_of_local_models_and_the_mean_model(dbench):
    rng = np.random.default_rng(1)
    y, y2 = rng.integers(0, 8, 64), rng.integers(0, 8, 40)
    x, x2 = (rng.integers(0, 256, (len(each), 1, 8, 8), np.uint8) for each in (y, y2))
    np.savez(dbench.folder / "mine.npz", x_train=x, y_train=y, x_test=x2, y_test=y2)
    spec = dbench.spec({**TOP5, "init": "zeros", "data": {
        "type": "npz", "train": "mine.npz", "batch_size": 8, "validation": 10}})
    one = dbench.run(spec, "1.h5")
    # All logits are equal, so the first five classes are the top five.
    assert read(one, "evaluations/mean_top5")[0] == np.mean(y2 < 5)
    assert np.all(read(one, "evaluations/local_top5")[0] == np.mean(y2 < 5))
    assert read(one, "evaluations/validation_mean_top5")[0] == np.mean(y[-10:] < 5)
    for of in ("local", "mean"):
        top5, top1 = (read(one, f"evaluations/{of}_{name}") for name in ("top5", "accuracy"))
        assert top5.shape == top1.shape and np.all(top5 >= top1) and np.any(top5 > top1)
    assert differences(one, dbench.run(spec, "2.h5", ranks=2)) == []


def test_a_text_has_the_requested_metrics(dbench):
    (dbench.folder / "text.txt").write_text("so much for the words of a text. " * 40)
    spec = dbench.spec({**TOP5, "model": {"type": "lstm", "hidden": 8}, "replicas": 2, "data": {
        "type": "text", "path": "text.txt", "sequence": 8, "batch_size": 4}})
    out = dbench.run(spec)
    with pytest.raises(KeyError):
        read(out, "evaluations/mean_perplexity")
    assert read(out, "evaluations/mean_top5").shape == (4,)
    out = dbench.run(spec, "all.h5", "--set", '/evaluate/metrics=["perplexity", "top5"]')
    np.testing.assert_allclose(read(out, "evaluations/mean_perplexity"),
                               np.exp(read(out, "evaluations/mean_loss")), rtol=1e-5)
    assert np.all(read(out, "evaluations/mean_top5")[1:] > 0)


@pytest.mark.parametrize("metrics, words", [
    (["perplexity"], "/evaluate/metrics perplexity tokens"),
    (["top5", "top5"], "/evaluate/metrics top5 twice"),
    (["top_5"], "/evaluate/metrics top_5 top5, perplexity"),
    ([5], "/evaluate/metrics 5 top5, perplexity"),
    ("top5", "/evaluate/metrics auto list"),
])
def test_metrics_that_do_not_fit_the_data_are_refused(dbench, metrics, words):
    message = refused(dbench, dbench.spec(evaluate={"metrics": metrics}))
    for word in words.split(" ", 2):
        assert word in message, message


def test_top5_of_five_classes_is_refused(dbench):
    data = {"type": "npz", "train": "mine.npz", "batch_size": 1}
    x, y = np.zeros((20, 1, 4, 4), np.uint8), np.arange(20) % 5
    np.savez(dbench.folder / "mine.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    message = refused(dbench, dbench.spec(TOP5, data=data))
    assert "/evaluate/metrics" in message and "top5" in message and "more than five" in message
