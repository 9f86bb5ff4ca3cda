"""Read the file of a synthetic run (synthetic_run.hpp) with h5py and check its contents.

Usage: check_with_h5py.py FILE n I T m
"""

import sys

import h5py
import numpy as np

path, n, I, T, m = sys.argv[1], *map(int, sys.argv[2:])  # noqa: E741 (the format's axes)
ANY = None  # a size that another test checks
text = "S"
COLUMNS = {
    "tensors/name": ((T,), text), "tensors/numel": ((T,), "i8"), "tensors/kind": ((T,), text),
    "ranks/host": ((1,), text), "ranks/local_rank": ((1,), "i4"), "ranks/device": ((1,), text),
    "ranks/cpus": ((1,), "i4"), "ranks/first_replica": ((1,), "i4"),
    "ranks/slot": ((1,), "i4"),
    "iterations/iteration": ((I,), "i8"), "iterations/epoch": ((I,), "f8"),
    "iterations/lr": ((I,), "f8"),
    "iterations/train_loss": ((I, n), "f4"), "iterations/train_accuracy": ((I, n), "f8"),
    "iterations/graph": ((I,), "i4"), "iterations/rounds": ((I,), "i4"),
    "iterations/degree": ((I,), "f8"),
    "iterations/messages": ((I,), "i8"), "iterations/bytes_sent": ((I,), "i8"),
    "iterations/step_time": ((I, 1), "f8"), "iterations/time_data": ((I, 1), "f8"),
    "iterations/time_gradient": ((I, 1), "f8"), "iterations/time_update": ((I, 1), "f8"),
    "iterations/time_exchange": ((I, 1), "f8"), "iterations/time_control": ((I, 1), "f8"),
    "iterations/time_delay": ((I, 1), "f8"), "iterations/start_time": ((I, 1), "f8"),
    "iterations/time_forward": ((I, 1), "f8"), "iterations/time_backward": ((I, 1), "f8"),
    "iterations/time_wait": ((I, 1), "f8"), "iterations/time_mix": ((I, 1), "f8"),
    "iterations/time_progress": ((I, 1), "f8"), "iterations/time_wait_rank": ((I, 1), "i4"),
    "iterations/control_bytes": ((I,), "i8"), "iterations/time_profile": ((I, 1), "f8"),
    "iterations/profile_bytes": ((I,), "i8"),
    "parameters/iteration": ((ANY,), "i8"), "parameters/norm": ((ANY, n, T), "f4"),
    "parameters/gini": ((ANY, T), "f8"), "parameters/index_of_dispersion": ((ANY, T), "f8"),
    "parameters/coefficient_of_variation": ((ANY, T), "f8"),
    "parameters/quartile_coefficient": ((ANY, T), "f8"),
    "parameters/update_norm": ((ANY, n), "f4"), "parameters/gradient_norm": ((ANY, n), "f4"),
    "parameters/variance_iteration": ((ANY,), "i8"), "parameters/variance": ((ANY, T), "f8"),
    "parameters/consensus_distance": ((ANY,), "f8"), "parameters/variance_after": ((ANY, T), "f8"),
    "parameters/consensus_distance_after": ((ANY,), "f8"),
    "evaluations/iteration": ((2,), "i8"), "evaluations/epoch": ((2,), "f8"),
    "evaluations/elapsed": ((2,), "f8"),
    "evaluations/replica": ((m,), "i4"),
    **{f"evaluations/{p}local_accuracy": ((2, m), "f8") for p in ("", "validation_")},
    **{f"evaluations/{p}local_loss": ((2, m), "f4") for p in ("", "validation_")},
    **{f"evaluations/{p}mean_accuracy": ((2,), "f8") for p in ("", "validation_")},
    **{f"evaluations/{p}mean_loss": ((2,), "f4") for p in ("", "validation_")},
    "graphs/offset": ((ANY,), "i8"), "graphs/edge": ((ANY, 2), "i4"),
    "graphs/weight": ((ANY,), "f8"),
    "graphs/degree": ((ANY,), "f8"), "graphs/rho": ((ANY,), "f8"),
    "segments/started": ((1,), text), "segments/host": ((1,), text), "segments/ranks": ((1,), "i4"),
    "segments/job": ((1,), text), "segments/first_iteration": ((1,), "i8"),
    "segments/last_iteration": ((1,), "i8"),
    "segments/reason": ((1,), text),
    "events/time": ((ANY,), "f8"), "events/iteration": ((ANY,), "i8"),
    "events/kind": ((ANY,), text),
    "events/text": ((ANY,), text),
    "spec": ((), text), "provenance": ((), text),
}

with h5py.File(path, "r") as file:
    found = {}
    file.visititems(lambda name,
                    item: found.update({name: item}) if isinstance(item, h5py.Dataset) else None)
    assert set(found) == set(COLUMNS), set(found) ^ set(COLUMNS)
    for name, (shape, kind) in COLUMNS.items():
        data = found[name]
        assert len(data.shape) == len(shape), name
        assert all(want in (ANY, have) for want, have in zip(shape, data.shape)), (name, data.shape)
        assert (data.dtype.kind == "S" if kind == text
                else data.dtype == np.dtype(kind)), (name, data.dtype)
        assert data.attrs["description"], name
        if shape:
            assert "unit" in data.attrs and len(
                data.attrs["dimensions"].decode().split(",")) == len(shape), name
        if name.startswith(("iterations/", "parameters/")):
            assert (data.maxshape[0] is None and data.chunks and data.compression == "gzip"
                    and data.shuffle), name
    assert found["iterations/step_time"].maxshape == (None, n)  # a resumed run may have more ranks
    attributes = {"schema", "schema_version", "status", "name", "replicas", "ranks", "started",
                  "finished", "error"}
    assert set(file.attrs) == attributes, set(file.attrs)
    assert file.attrs["schema"] == b"dbench-run" and file.attrs["status"] == b"complete"
    t, i, k = np.arange(I), np.arange(n), np.arange(T)
    assert np.array_equal(file["iterations/iteration"], t)
    assert np.allclose(file["iterations/train_loss"], 2 + np.sin(0.1 * t[:, None] + i), rtol=1e-6)
    j = file["parameters/iteration"][:]
    norm = 1 + k + 0.3 * np.cos(j[:, None, None] + i[None, :, None] * k)
    assert np.allclose(file["parameters/norm"], norm, rtol=1e-6)
    norm = file["parameters/norm"][:].astype("f8")  # measures are computed from the recorded values
    variation = norm.std(axis=1) / norm.mean(axis=1)
    assert np.allclose(file["parameters/coefficient_of_variation"], variation, rtol=1e-9)
    q1, q3 = np.quantile(norm, [0.25, 0.75], axis=1)
    assert np.allclose(file["parameters/quartile_coefficient"], (q3 - q1) / (q3 + q1), rtol=1e-9)
    gini = np.abs(norm[:, :, None]
                  - norm[:, None]).sum(axis=(1, 2)) / (2 * n * n * norm.mean(axis=1))
    assert np.allclose(file["parameters/gini"], gini, rtol=1e-9)
