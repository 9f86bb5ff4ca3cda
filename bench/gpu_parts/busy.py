"""The share of time in which the GPU runs a kernel, as nvidia-smi reports it."""

import contextlib
import subprocess
import threading
import time

from .setting import Process, of_cards


class Busy:
    """Context manager that samples CUDA's first GPU five times per second. Raises Stop if there is
    no nvidia-smi."""

    def __init__(self, setting):
        self.which = (setting.seen or [])[:1]

    def __enter__(self):
        self.samples = []
        self.process = Process(["nvidia-smi", "--query-gpu=utilization.gpu",
                                "--format=csv,noheader,nounits", *of_cards(self.which),
                                "-lms", "200"],
                               stderr=subprocess.DEVNULL)
        self.thread = threading.Thread(target=self.read)
        self.thread.start()
        return self

    def read(self):
        for line in self.process.popen.stdout:
            with contextlib.suppress(ValueError):
                self.samples.append((time.time(), int(line) / 100))

    def __exit__(self, *_):
        self.process.popen.terminate()
        self.process.popen.wait()
        self.thread.join()
        self.process.popen.stdout.close()

    def between(self, begin, end):
        """Return the shares that were sampled between two times."""
        return [share for when, share in self.samples if begin <= when <= end]
