"""Helpers that do many short runs, or checks, in one start of the program, since starting takes
longer than such a run."""

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor

import h5py


class Together:
    """Runs of `specs` (name -> changes to conftest.SMALL) in their own folder. If `begun` is given,
    begun(name, spec file, path) leaves the file of an interrupted run at `path`, and the runs are
    resumed; `at_once` threads call begun."""

    def __init__(self, dbench, title, specs, env=None, begun=None, at_once=1):
        self.dbench, self.title, self.env = dbench, title, env or {}
        self.begun, self.at_once = begun, at_once
        self.specs = {name: dbench.spec({**changes, "name": f"{title}-{k}"}, f"{title}-{k}.json")
                      for k, (name, changes) in enumerate(specs.items())}
        self.folders = {}

    def result(self, name, ranks=None, **env):
        """Return the result file of one run. The first call runs all specs. A run that did not
        complete is repeated alone, so that the calling test fails with its message."""
        key = (ranks, *env.items())
        if key not in self.folders:
            self.folders[key] = folder = f"{self.title}-on-{len(self.folders)}"
            if self.begun:
                (self.dbench.folder / folder).mkdir()
                with ThreadPoolExecutor(self.at_once) as threads:
                    list(threads.map(lambda each: self.begun(each, self.specs[each],
                                                             self.path(key, each)), self.specs))
            subprocess.run(
                self.dbench.command("run", *self.specs.values(), "--output", folder, "--quiet",
                                    *(["--resume"] if self.begun else []),
                                    ranks=ranks), cwd=self.dbench.folder, capture_output=True,
                timeout=600, env={**self.dbench.environment, **self.env, **env})
        path = self.path(key, name)
        if not complete(path):
            self.dbench.run(self.specs[name], path, "--resume" if self.begun else "--overwrite",
                            ranks=ranks, env={**self.env, **env})
        return path

    def path(self, key, name):
        stem = self.specs[name].rsplit("/", 1)[1].removesuffix(".json")
        return str(self.dbench.folder / self.folders[key] / f"{stem}.h5")


def complete(path):
    try:
        with h5py.File(path, swmr=True) as file:
            return file.attrs["status"] == b"complete"
    except OSError:
        return False


def checked(dbench, specs, ranks=None, timeout=300):
    """Return the results of `dbench check --json` for all `specs` (name -> file or text), in one
    start. A refused spec has an object with the message as "error"; the message must also be a line
    of stderr. Libraries must not print anything."""
    files = {}
    for k, (name, spec) in enumerate(specs.items()):
        files[name] = path = dbench.folder / f"checked-{k}.json"
        path.write_bytes(spec.encode() if isinstance(spec, str) else spec)
    wanted = set(files.values())
    done = subprocess.run(dbench.command("check", "--json", *wanted, ranks=ranks),
                          cwd=dbench.folder, env=dbench.environment, capture_output=True,
                          timeout=timeout)
    told = json.loads(done.stdout)
    assert set(told) == {str(path) for path in wanted}
    found = {name: told[str(path)] for name, path in files.items()}
    refused = [one["error"] for one in found.values() if "error" in one]
    errors = done.stderr.decode(errors="replace")
    assert errors.count("error:") == len(refused), errors
    assert done.returncode == (2 if refused else 0), errors
    if ranks:   # mpirun, too, says that it failed
        errors = "\n".join(line for line in errors.splitlines() if line.startswith("dbench"))
    for word in ("exception", "std::", "c10", "terminate"):
        assert word not in errors, errors
    return found
