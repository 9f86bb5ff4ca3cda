"""All steps of bench/gpu, in an order that uses GPU time well."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import steps

from . import correctness, profiles, ratios, study
from .background import Background
from .journal import FAILED, MISSING, OK, Journal, Stop
from .setting import NO_CARD, Setting, Step, last_line, reason
from .torch_process import Workers

SECTIONS = ("libraries", "correctness", "kernels", "ratios", "profile", "ranks", study.SECTION)
LIBRARIES = Path(__file__).with_name("libraries.py")


@dataclass
class Bench:
    """The objects that the steps of one call of bench/gpu share."""
    setting: Setting
    journal: Journal
    workers: Workers
    beside: Background = field(default_factory=Background)
    made: set = field(default_factory=set)  # result files that this call has written

    def close(self):
        self.beside.close()
        self.workers.close()


def check_of_libraries(setting):
    done = setting.call([setting.python, LIBRARIES, setting.build, "--json"], 60)
    if not done.stdout.startswith("["):
        raise Stop(FAILED, last_line(done.stderr))
    return {"status": MISSING if done.returncode else OK, "rows": json.loads(done.stdout)}


def ceilings(bench):
    worker = bench.workers.of({})
    small = {} if bench.setting.device == "cuda" else {"sizes": {"megabytes": 64, "size": 512}}
    return {"status": OK, **worker.versions, **worker.ask(do="ceilings", **small)}


def bandwidths(setting):
    host = [] if setting.device == "cuda" else ["--on", "host", "--rows", "4", "--columns", "65536"]
    done = setting.call([setting.bench("gpu_kernels"), "time", "--rounds", setting.rounds, *host],
                        300)
    if done.returncode:
        raise Stop(MISSING if done.returncode == NO_CARD else FAILED, reason(done))
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return {"status": OK, "kernels": {name: {"us": float(us), "gb_s": float(gb), "share": float(
        share)} for name, us, gb, share in rows}}


def ranks(bench):
    """Return the steps with one rank on each of `--ranks` GPUs: runs with several exchanges, and
    one without."""
    setting = bench.setting
    dsgd = {"algorithm": {"type": "dsgd", "order": "combine_while_adapt"}}
    kinds = {"none": {"algorithm": "dsgd"}, "ring": {"graph": "ring", **dsgd},
             "one_peer_exponential": {"graph": "one_peer_exponential", **dsgd},
             "C_complete": {"implementation": "C_complete"}}

    def timed(name):
        given = {**ratios.spec(setting, "resnet20", setting.ranks, 128), "reduction": "library",
                 **kinds[name]}
        if name == "none":
            given.update(steps.apart(setting.folder, setting.ranks))
        if name != "C_complete":
            given.pop("implementation")
        return {"status": OK, **ratios.milliseconds(setting, f"ranks-{name}", given, 200,
                                                    setting.ranks)}

    return [Step("ranks", f"{name} / {number}", 20, lambda name=name: timed(name), timed=True)
            for number in range(1, setting.rounds + 1) for name in kinds]


def plan(bench):
    """Return all steps in order: first short steps on which all others rest, the case with most
    ratios and the bandwidths of kernels; then the other cases in turn, so that each soon has a
    result; then less important steps, ranks, and the study."""
    setting = bench.setting
    return [
        Step("libraries", "libraries", 10, lambda: check_of_libraries(setting),
             without_card=True),
        *correctness.first_steps(bench),
        *ratios.rounds(bench, ratios.OF_32),
        *profiles.beside_the_first_case(bench),
        Step("kernels", "kernels over a copy", 35, lambda: bandwidths(setting), timed=True),
        *ratios.in_turn(bench, ratios.OF_512, ratios.OF_128, ratios.SCALE, ratios.IN_TF32,
                        ratios.IN_BFLOAT16),
        Step("libraries", "ceilings", 15, lambda: ceilings(bench), timed=True),
        *correctness.in_float32(bench),
        profiles.of_dbench(bench),
        correctness.under_the_sanitizer(bench),
        *ranks(bench),
        *study.plan(bench)]


def chosen(names, several):
    """Return the named sections in the order of the table; by default all sections except the
    study, and `ranks` only if there are several ranks."""
    wanted = names or [name for name in SECTIONS
                       if name != study.SECTION and (name != "ranks" or several)]
    return [name for name in SECTIONS if name in wanted]
