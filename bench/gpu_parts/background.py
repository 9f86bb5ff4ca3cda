"""Processes that run concurrently with untimed steps: the host's runs, PyTorch's compilations."""

import contextlib

from .journal import Stop


class Background:
    """Background processes by name. None of them runs while a step is timed."""

    def __init__(self):
        self.begun = {}

    def start(self, name, begin):
        """Return the process of that name; the first call starts it."""
        if name not in self.begun:
            self.begun[name] = begin()
        return self.begun[name]

    def begin(self, steps):
        """Start the background processes of these steps, unless the first step is timed."""
        if steps and not steps[0].timed:
            for step in steps:
                with contextlib.suppress(Stop):  # the step itself will report the reason
                    step.before()

    def settle(self, seconds):
        """Wait for all processes before a step is timed; end and forget those that take longer."""
        self.begun = {name: process for name, process in self.begun.items()
                      if process.finish(seconds).returncode is not None}

    def close(self):
        self.settle(0)
