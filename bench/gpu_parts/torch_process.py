"""PyTorch's processes: one long-lived worker.py for each model and batch size."""

import contextlib
import json
import select
import subprocess
import tempfile
from pathlib import Path

from .journal import FAILED, MISSING, Stop
from .setting import OutOfTime, Process, last_line

WORKER = Path(__file__).with_name("worker.py")
FIRST = 0.2  # seconds of a first, uncounted timing, in which PyTorch compiles or captures


def started(setting, settings, **pipes):
    environment = {**setting.environment, "OMP_NUM_THREADS": "1", "NCCL_SOCKET_IFNAME": "lo",
                   "TORCHINDUCTOR_CACHE_DIR": str(setting.folder / "compiled")}
    given = json.dumps({**settings, "device": setting.device})
    return Process([setting.python, WORKER, given], env=environment, **pipes)


def compilation(setting, settings):
    """Start a process that makes PyTorch compile a model, so that a worker finds it compiled."""
    asks = setting.output("compile", ".asks")
    asks.write_text(json.dumps({"do": "compile", "seconds": FIRST}) + "\n")
    with open(asks) as given:
        return started(setting, settings, stdin=given)


class Worker:
    """A process of worker.py. Its methods raise Stop if it cannot start or has ended."""

    def __init__(self, setting, settings):
        self.setting, self.timed = setting, set()
        self.folder = tempfile.TemporaryDirectory()
        self.errors = Path(self.folder.name) / "errors"
        with open(self.errors, "w") as errors:
            self.process = started(setting, {**settings, "store": f"{self.folder.name}/store"},
                                   stdin=subprocess.PIPE, stderr=errors)
        try:
            self.versions = self.answer()
        except BaseException:
            self.close()
            raise

    def ended(self):
        return self.process.popen.poll() is not None

    def answer(self, most=300):
        pipe, limit = self.process.popen.stdout, min(most, self.setting.left())
        if not select.select([pipe], [], [], limit)[0]:
            self.process.end()
            if limit < most:
                raise OutOfTime
            raise Stop(FAILED, f"PyTorch's process did not answer within {most} s")
        line = pipe.readline()
        if not line:
            status = self.process.finish(10).returncode
            said = last_line(self.errors.read_text())
            raise Stop(MISSING if "No module named" in said else FAILED,
                       f"PyTorch's process ended ({said}, status {status})")
        return json.loads(line)

    def ask(self, **words):
        with contextlib.suppress(BrokenPipeError):  # answer() reads its last message
            self.process.popen.stdin.write(json.dumps(words) + "\n")
            self.process.popen.stdin.flush()
        found = self.answer()
        if "failed" in found:
            raise Stop(FAILED, found["failed"])
        return found

    def milliseconds(self, what, seconds):
        if what not in self.timed:
            self.ask(do=what, seconds=FIRST)
            self.timed.add(what)
        return self.ask(do=what, seconds=seconds)

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.popen.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.popen.wait(3)
        if not self.ended():
            self.process.end()
        self.process.popen.stdout.close()
        self.folder.cleanup()


class Workers:
    """All workers of a call. They end with the call; an idle worker only costs memory."""

    def __init__(self, setting):
        self.setting, self.held = setting, {}

    def of(self, settings):
        key = json.dumps(settings)
        if key in self.held and self.held[key].ended():
            self.held.pop(key).close()
        if key not in self.held:
            self.held[key] = Worker(self.setting, settings)
        return self.held[key]

    def close(self):
        while self.held:
            self.held.popitem()[1].close()
