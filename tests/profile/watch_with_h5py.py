"""Follow a growing file with h5py for some seconds, check its rows, and print how many were seen.

Usage: watch_with_h5py.py FILE SECONDS
"""

import sys
import time

import h5py
import numpy as np

path, seconds = sys.argv[1], float(sys.argv[2])
start, rows = time.monotonic(), 0
with h5py.File(path, "r", swmr=True) as file:
    loss, iteration, norm = file["iterations/train_loss"], file["iterations/iteration"], file[
        "parameters/norm"]
    while time.monotonic() - start < seconds:
        for data in (loss, iteration, norm):
            data.refresh()
        seen = min(len(loss), len(iteration))
        assert seen >= rows
        rows = seen
        t, i = np.arange(rows)[:, None], np.arange(loss.shape[1])
        assert np.array_equal(iteration[:rows], t[:, 0])
        assert np.allclose(loss[:rows], 2 + np.sin(0.1 * t + i), rtol=1e-6)
        assert np.isfinite(norm[:]).all()
        time.sleep(0.2)
print(rows)
