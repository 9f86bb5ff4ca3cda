"""What has been measured so far, in gpu.json: a result for each step of each section. It is written
after every step, so that a call that ends early loses nothing."""

import json
from pathlib import Path

OK, DIFFERS, REFUSED, FAILED, MISSING = "ok", "differs", "refused", "failed", "missing"


class Stop(Exception):
    """A step that has no result of its own: why, as one of the words above, and the reason."""

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status, self.reason = status, reason

    def result(self):
        return {"status": self.status, "reason": self.reason}


class Journal:
    def __init__(self, folder, about):
        """Goes on with what the folder holds. ValueError where that is no journal."""
        self.path = Path(folder) / "gpu.json"
        self.begun = False  # a step, in this call
        self.data = {"about": about, "sections": {}}
        if self.path.exists():
            held = json.loads(self.path.read_text())
            if not isinstance(held, dict) or not isinstance(held.get("sections"), dict):
                raise ValueError(f"{self.path} holds no results of this benchmark")
            self.data["sections"] = held["sections"]
            self.data["earlier"] = [*held.get("earlier", []), held.get("about")]

    def save(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(self.data, indent=1) + "\n")
        part.replace(self.path)

    def steps(self, section):
        return self.data["sections"].get(section, {}).get("steps", {})

    def complete(self, section):
        return self.data["sections"].get(section, {}).get("complete", False)

    def has(self, section, step):
        return step in self.steps(section)

    def put(self, section, step, result):
        held = self.data["sections"].setdefault(section, {"steps": {}, "complete": False})
        held["steps"][step] = result
        self.save()

    def end(self, section, when):
        held = self.data["sections"].setdefault(section, {"steps": {}})
        held.update(complete=True, when=when)
        self.save()

    def forget(self, section):
        self.data["sections"].pop(section, None)

    def state(self, section):
        """One word or two on a section as a whole."""
        steps = self.steps(section)
        if not steps:
            return "not run"
        found = {result["status"] for result in steps.values()}
        for worst in (DIFFERS, FAILED):
            if worst in found:
                return worst
        if not self.complete(section):
            return "not complete"
        return OK if found == {OK} else "in part"
