"""What runs beside steps that are not timed: the host's runs, and PyTorch's compilations."""

import contextlib

from .journal import Stop


class Beside:
    def __init__(self):
        self.begun = {}

    def start(self, name, begin):
        """The process of that name, begun at the first call."""
        if name not in self.begun:
            self.begun[name] = begin()
        return self.begun[name]

    def begin(self, steps):
        """Begins what these steps wait for, unless the first of them is timed."""
        if steps and not steps[0].timed:
            for step in steps:
                with contextlib.suppress(Stop):  # the step itself says why it cannot be
                    step.before()

    def settle(self, seconds):
        """Waits for all, before something is timed; ends, and forgets, what takes longer."""
        self.begun = {name: process for name, process in self.begun.items()
                      if process.finish(seconds).returncode is not None}

    def close(self):
        self.settle(0)
