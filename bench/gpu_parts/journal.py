"""The journal gpu.json, which holds a result for each step of each section. It is written after
every step, so that a call that ends early loses nothing."""

import json
import shutil
import statistics
from pathlib import Path

OK, DIFFERS, REFUSED, FAILED, MISSING = "ok", "differs", "refused", "failed", "missing"
IN_PART = "in part"  # everything that was checked is correct, but not everything was checked


class Stop(Exception):
    """A step cannot have a result. `status` is one of the words above; `reason` says why."""

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status, self.reason = status, reason

    def result(self):
        return {"status": self.status, "reason": self.reason}


def to_try_again(result):
    """Return whether a later call should repeat this result: a failed step once, a step with
    something missing always, since that is quick."""
    status = result.get("status")
    return status == MISSING or (status == FAILED and result.get("tries", 1) < 2)


def sides_of(result):
    """Return the results of the sides within a result, by name."""
    return {name: one for name, one in result.items() if isinstance(one, dict)}


class Journal:
    """The results of all calls with one folder."""

    def __init__(self, folder, about=None, copy=None):
        """Continue the journal of the folder, if there is one. `about` describes this call and its
        machine; None only reads. Raise ValueError if the folder's gpu.json is not a journal."""
        self.path, self.copy = Path(folder) / "gpu.json", copy
        self.data = {"calls": [], "sections": {}}
        if self.path.exists():
            held = json.loads(self.path.read_text())
            if not isinstance(held, dict) or not self.data.keys() <= held.keys():
                raise ValueError(f"{self.path} holds no results of this benchmark")
            self.data = held
        if about is not None:
            self.data["calls"].append(about)

    def save(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(self.data, indent=1) + "\n")
        part.replace(self.path)
        if self.copy:
            shutil.copyfile(self.path, self.copy)

    def steps(self, section):
        return self.data["sections"].get(section, {}).get("steps", {})

    def machine(self, result):
        """Return the GPUs, driver and program with which a result was measured."""
        return self.data["calls"][result["call"]].get("machine")

    def alike(self, section):
        """Return the steps that were measured with this call's GPUs, driver and program."""
        here = self.data["calls"][-1].get("machine")
        return {name: result for name, result in self.steps(section).items()
                if self.machine(result) == here}

    def complete(self, section):
        return self.data["sections"].get(section, {}).get("complete", False)

    def has(self, section, step):
        """Return whether a step has a complete result."""
        return not self.steps(section).get(step, {"partial": True}).get("partial")

    def finished(self, section, step):
        """Return whether a step need not run again."""
        result = self.steps(section).get(step, {})
        return self.has(section, step) and not any(
            map(to_try_again, [result, *sides_of(result).values()]))

    def expected(self, step):
        """Return the expected seconds of a step, from the times of the steps like it."""
        took = [self.steps(step.section)[name]["took"] for name in step.like
                if self.has(step.section, name)]
        return 1.3 * statistics.median(took) if took else step.seconds

    def put(self, section, step, result, took=0.0):
        """Store a result; it replaces an earlier partial or failed one."""
        held = self.data["sections"].setdefault(section, {"steps": {}})
        held["complete"] = False
        before = held["steps"].get(step, {})
        result = {**result, "call": len(self.data["calls"]) - 1,
                  "took": round(before.get("took", 0) * before.get("partial", False) + took, 1)}
        if result["status"] == FAILED:
            result["tries"] = before.get("tries", 0) + 1
        held["steps"][step] = result
        self.save()

    def end(self, section, when):
        held = self.data["sections"].setdefault(section, {"steps": {}})
        held.update(complete=True, when=when)
        self.save()

    def forget(self, section):
        self.data["sections"].pop(section, None)

    def forget_cardless(self, section):
        """Drop the results of calls without a GPU, so that a call with a GPU measures them
        again."""
        held = self.data["sections"].get(section)
        if held:
            held["steps"] = {name: result for name, result in held["steps"].items()
                             if (self.machine(result) or {}).get("cards") != []}
            held["complete"] = False

    def forget_others(self, section):
        """Keep only the results of this call's machine; save the old file under another name."""
        before = self.path.with_name(f"gpu-before-{len(self.data['calls'])}.json")
        if not before.exists():
            shutil.copyfile(self.path, before)
        self.data["sections"][section] = {"steps": self.alike(section), "complete": False}

    def state(self, section):
        """Return the state of a section as a whole, in one or two words."""
        steps = self.steps(section)
        if not steps:
            return "not run"
        found = {result["status"] for result in steps.values()}
        for worst in (DIFFERS, FAILED):
            if worst in found:
                return worst
        if not self.complete(section):
            return "not complete"
        return OK if found == {OK} else IN_PART
