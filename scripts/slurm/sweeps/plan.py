"""The runs of a sweep: each run once, checked, with the state of its result file."""

import os

from . import jsonfile
from .comparisons import comparisons
from .problem import Problem
from .program import Checker, experiment, ignored_entries
from .results import Results
from .text import Progress, bytes_text, duration_text, table


class Run:
    """One run. `spec` is the resolved spec, `error` the reason why the run cannot start.

    answer   what `dbench check` prints about it, or None
    """

    def __init__(self, sweep, name, point, answer, error):
        self.name, self.point, self.error = name, point, error
        self.spec = answer["spec"] if answer else None
        self.replicas = answer["spec"]["replicas"] if answer else 0
        self.ranks = sweep.ranks_for(self.replicas) if answer else 0
        self.gpus = self.ranks if sweep.on_gpus else 0
        self.minutes = sweep.minutes
        self.output = os.path.join(sweep.output, name + ".h5")
        self.spec_file = os.path.join(sweep.folder, "specs", name + ".json")
        self.log = os.path.join(sweep.folder, "logs", name + ".log")
        self.iterations = answer["iterations"] if answer else 0
        self.ignored = ignored_entries(answer["free_to_change"], point) if answer else ()
        self.experiment = experiment(self.spec, self.ignored) if answer else None
        self.memory = (answer["memory_bytes_per_rank"]
                       + (answer["activation_bytes_per_rank"] or 0)) if answer else 0
        self.evaluation_share = answer["evaluation_share"] if answer else 0
        self.measured = None  # a Measurement of `plan --measure`
        self.sent = answer["bytes_per_step"] * self.iterations if answer else 0
        self.file_bytes = file_bytes(answer, self.ranks) if answer else 0
        self.complete = None  # the path of its complete result file
        if answer and self.ranks > self.replicas:
            self.error = ("{} ranks for {} replicas: a rank needs a replica (lower \"{}\" in the "
                          "sweep file)").format(self.ranks, self.replicas,
                                                "gpus" if sweep.on_gpus else "ranks")

    def needed(self):
        """Return whether the run can and must still be done."""
        return not self.complete and not self.error

    def write_spec(self):
        """Write the resolved spec: a later change of the base does not affect a waiting run."""
        jsonfile.write(self.spec_file, self.spec)
        jsonfile.make_folder(os.path.dirname(self.log))

    def as_json(self):
        keys = ("name", "point", "replicas", "ranks", "gpus", "minutes", "iterations", "memory",
                "sent", "file_bytes", "output", "complete", "error", "spec")
        found = {key: getattr(self, key) for key in keys}
        if self.measured:
            found["measured"] = self.measured.as_json()
        return found


def file_bytes(answer, ranks):
    """Return the approximate size of the result file before compression: the rows as `dbench check`
    estimates them, the share of each rank that it was not asked about, and 80 kB that do not
    grow."""
    more = ranks - answer["ranks"]
    return answer["result_bytes"] + answer["result_bytes_per_rank"] * more + 80000


class Plan:
    """All runs of a sweep, and the duplicates that were left out."""
    def __init__(self, sweep, progress=None, site=None, results=None, checker=None):
        self.sweep, self.runs, self.duplicates, self.site = sweep, [], [], site
        first: dict[str, Run] = {}
        names: dict[str, Run] = {}
        checker = checker or Checker(sweep)
        checker.require_cuda()
        for name, point, answer, error in checker.check_all(progress or Progress()):
            run = Run(sweep, name, point, answer, error)
            if run.experiment and run.experiment in first:
                self.duplicates.append((name, first[run.experiment].name))
                continue
            if name in names:
                raise Problem(f"{sweep.path}: /name", f"two runs would be called '{name}': "
                              f"{dict(names[name].point)} and {dict(point)}",
                              "name more axes in the template")
            names[name] = run
            if run.experiment:
                first[run.experiment] = run
            self.runs.append(run)
        self.results = results or Results(sweep.output, sweep.metrics)
        self.refresh()
        if not self.refused():
            checker.keep()

    def refresh(self, afresh=()):
        """Read the result files that changed, and those of the paths `afresh`."""
        self.results.read(afresh)
        for run in self.runs:
            run.complete = (self.results.complete(run.experiment, run.ignored)
                            if run.experiment else None)
            found = self.results.at(run.output)
            if not found or run.complete or run.error:
                continue
            if found["status"] == "no file":
                run.error = f"{run.output} is {found['error']} (move it, or change \"output\")"
            elif found["status"] == "complete" and self.results.experiment(
                    run.output, run.ignored) != run.experiment:
                run.error = (f"{run.output} is another experiment's complete result (move it, or "
                             "change \"output\")")

    def needed(self):
        return [run for run in self.runs if run.needed()]

    def refused(self):
        return [run for run in self.runs if run.error]

    def require_sound(self):
        bad = self.refused()
        if bad:
            shown = "\n".join(f"  {run.name}: {run.error}" for run in bad[:10])
            raise Problem(self.sweep.path, f"{len(bad)} of {len(self.runs)} runs would fail, "
                          f"nothing was started\n{shown}", "`sweep plan` shows all")

    def gpus_given(self, run):
        """Return the GPUs that the run's job gets, if the site is known; else those that it
        uses."""
        if not run.gpus or not self.site or not self.site.gpus_per_node:
            return run.gpus
        nodes, on_a_node = self.site.nodes(run.ranks)
        return nodes * on_a_node

    def totals(self):
        todo = self.needed()
        return {"runs": len(self.runs), "duplicates": len(self.duplicates),
                "refused": len(self.refused()),
                "complete": sum(1 for run in self.runs if run.complete), "needed": len(todo),
                "rank_hours": sum(run.ranks * run.minutes for run in todo) / 60.0,
                "gpu_hours": sum(self.gpus_given(run) * run.minutes for run in todo) / 60.0,
                "sent_bytes": sum(run.sent for run in todo),
                "file_bytes": sum(run.file_bytes for run in todo)}

    def as_json(self):
        return {"sweep": self.sweep.path, "output": self.sweep.output, "totals": self.totals(),
                "comparisons": {c.name: {"permitted": c.permitted, "text": c.text}
                                for c in comparisons(self.runs)},
                "runs": [run.as_json() for run in self.runs],
                "duplicates": [{"name": name, "same_as": kept} for name, kept in self.duplicates]}

    def as_text(self):
        def state(run):
            if run.complete and run.complete != run.output:
                return "complete in " + os.path.basename(run.complete)
            if run.complete:
                return "complete"
            return "refused: " + run.error if run.error else "to do"
        measured = any(run.measured for run in self.runs)
        head = ("run", "replicas", "ranks", "iterations", "memory",
                *(("measured", "time") if measured else ()), "sent", "file", "state")
        rows = [(run.name, run.replicas, run.ranks, run.iterations, bytes_text(run.memory),
                 *((run.measured.texts() if run.measured else ("", "")) if measured else ()),
                 bytes_text(run.sent), bytes_text(run.file_bytes), state(run)) for run in self.runs]
        lines = [table(head, rows)]
        lines += [f"{run.name} was not measured: {run.measured.error}" for run in self.runs
                  if run.measured and run.measured.error]
        lines += ["{} is the same run as {}: left out".format(*pair) for pair in self.duplicates]
        t = self.totals()
        lines.append("{} runs: {} complete, {} to do, {} refused".format(
            t["runs"], t["complete"], t["needed"], t["refused"]))
        named = self.site and self.site.path
        counted = "" if self.site and self.site.gpus_per_node else " (one GPU per rank: {})".format(
            "the site file has no gpus_per_node" if named else "no site file")
        gpu_hours = ", {:.1f} GPU-hours{}".format(t["gpu_hours"], counted)
        lines.append("to do: at most {:.1f} rank-hours{}, {} sent, about {} of result files".format(
            t["rank_hours"], gpu_hours if t["gpu_hours"] else "",
            bytes_text(t["sent_bytes"]), bytes_text(t["file_bytes"])))
        seconds = [run.measured.seconds for run in self.needed()
                   if run.measured and not run.measured.error]
        if seconds:
            lines.append(f"measured here: {duration_text(sum(seconds))} of training, one run after "
                         "another")
        found = comparisons(self.runs)
        if found:
            lines.append("comparisons that these runs permit:")
            lines += [f"  {c.name:<9} {c.text}" for c in found]
        return "\n".join(lines)
