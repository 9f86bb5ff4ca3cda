"""The share of time in which a kernel runs, as nvidia-smi sees it."""

import contextlib
import subprocess
import threading
import time

from .setting import Process, of_cards


class Busy:
    """Samples of CUDA's first card while a `with` lasts, five a second. Stop where there is no
    nvidia-smi."""

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
        """Shares, seen between two times."""
        return [share for when, share in self.samples if begin <= when <= end]
