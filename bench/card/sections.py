"""The sections of bench/gpu: each a sequence of steps, a call's unit, which are kept one by one."""

import json
import shutil
import subprocess
import threading
from pathlib import Path

import steps

from . import ratios
from .correctness import correctness_steps
from .journal import DIFFERS, FAILED, MISSING, OK, Stop
from .setting import NO_CARD, Step, call, last_line, reason

LIBRARIES = Path(__file__).with_name("libraries.py")


def library_steps(setting, journal):
    def check():
        done = call([setting.python, LIBRARIES, setting.build, "--json"], 60)
        if not done.stdout.startswith("["):
            raise Stop(FAILED, last_line(done.stderr))
        return {"status": MISSING if done.returncode else OK, "rows": json.loads(done.stdout)}

    def ceilings():
        worker = ratios.Worker(setting, {})
        try:
            sizes = {} if setting.device == "cuda" else {"sizes": {"megabytes": 64, "size": 512}}
            return {"status": OK, **worker.versions, **worker.ask(do="ceilings", **sizes)}
        finally:
            worker.close()

    yield Step("libraries", 10, check)
    yield Step("ceilings", 30, ceilings)


def kernel_steps(setting, journal):
    def time_them():
        host = [] if setting.device == "cuda" else ["--on", "host", "--rows", "4",
                                                    "--columns", "65536"]
        done = call([setting.bench("gpu_kernels"), "time", "--rounds", setting.rounds, *host],
                    setting.seconds(300), env=setting.environment)
        if done.returncode:
            raise Stop(MISSING if done.returncode == NO_CARD else FAILED, reason(done))
        rows = [line.split("\t") for line in done.stdout.splitlines()]
        return {"status": OK, "kernels": {name: {"us": float(us), "gb_s": float(gb), "share": float(
            share)} for name, us, gb, share in rows}}

    yield Step("kernels over a copy", 90, time_them)


class Busy:
    """Samples of nvidia-smi while a `with` lasts: the share of time in which a kernel ran."""

    def __enter__(self):
        self.samples = []
        try:
            self.process = subprocess.Popen(
                ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits",
                 "-i", "0", "-lms", "200"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                text=True)
        except OSError as error:
            raise Stop(MISSING, "no nvidia-smi") from error
        self.thread = threading.Thread(target=self.read)
        self.thread.start()
        return self

    def read(self):
        for line in self.process.stdout:
            if line.strip().isdigit():
                self.samples.append(int(line) / 100)

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.thread.join()

    def share(self):
        """The median of the samples in which anything ran: those before and after the run do not
        count."""
        busy = sorted(sample for sample in self.samples if sample > 0)
        if len(busy) < 5:
            raise Stop(FAILED, f"nvidia-smi gave {len(busy)} samples of a busy card")
        return busy[len(busy) // 2]


def profile_steps(setting, journal):
    given = ratios.spec(setting, "resnet20", 1, 32)

    def busy():
        with Busy() as seen:
            ms = ratios.milliseconds(setting, "busy", given, 1500)
        return {"status": OK, "share": seen.share(), "samples": len(seen.samples), "ms": ms}

    def of_torch():
        worker = ratios.Worker(setting, {"model": "resnet20", "batch": 32})
        try:
            return {"status": OK, **worker.ask(do="profile", of="eager")}
        finally:
            worker.close()

    def of_dbench():
        if not shutil.which("nsys"):
            raise Stop(MISSING, "no nsys in the search path")
        path = setting.folder / "runs" / "profile.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({**given, "length": {"iterations": 60}}))
        report = setting.folder / "runs" / "profile"
        run = call(["nsys", "profile", "-t", "cuda", "-f", "true", "-o", report, setting.program,
                    "run", path, "--output", report.with_suffix(".h5"), "--overwrite", "--quiet"],
                   setting.seconds(180), env=setting.environment)
        if run.returncode:
            raise Stop(FAILED, reason(run))
        table = call(["nsys", "stats", "-q", "-r", "cuda_gpu_kern_sum", "--format", "csv",
                      f"{report}.nsys-rep"], setting.seconds(120))
        if table.returncode:
            raise Stop(FAILED, last_line(table.stderr))
        return {"status": OK, "kernels": table.stdout.strip().splitlines()[:13]}

    yield Step("device busy, ResNet-20, batch 32", 40, busy)
    yield Step("PyTorch eager's kernels", 40, of_torch)
    yield Step("DBench's kernels", 60, of_dbench)


def rank_steps(setting, journal):
    """A rank for each of `--ranks` cards: DBench's exchanges over its own step without any."""
    def timed(name, **changes):
        def run():
            base = ratios.spec(setting, "resnet20", setting.ranks, 128)
            base.pop("implementation")
            graph = {"graph": steps.apart(setting.folder, setting.ranks), "algorithm": "dsgd"}
            given = {**base, "reduction": "library", **(changes or graph)}
            return {"status": OK, "ms": ratios.milliseconds(setting, f"ranks-{name}", given, 200,
                                                            setting.ranks)}
        return run

    dsgd = {"algorithm": {"type": "dsgd", "order": "combine_while_adapt"}}
    for number in range(1, setting.rounds + 1):
        for name, changes in (("none", {}), ("ring", {"graph": "ring", **dsgd}),
                              ("one_peer_exponential", {"graph": "one_peer_exponential", **dsgd}),
                              ("C_complete", {"implementation": "C_complete"})):
            yield Step(f"{name} / {number}", 20, timed(name, **changes))


SECTIONS = {"libraries": library_steps, "correctness": correctness_steps, "kernels": kernel_steps,
            "ratios": ratios.ratio_steps, "profile": profile_steps, "ranks": rank_steps}


def chosen(names, ranks):
    """Those named, in their order; all, but `ranks` only where there are several."""
    wanted = names or [name for name in SECTIONS if name != "ranks" or ranks > 1]
    return [name for name in SECTIONS if name in wanted]


def why_not_equal(journal):
    """Steps that found something wrong."""
    return [f"{section}: {name}" for section in SECTIONS
            for name, result in journal.steps(section).items() if result["status"] == DIFFERS]
