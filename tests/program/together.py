"""Many short runs in one start for each number of ranks: starting costs more than such a run."""

import subprocess

import h5py


class Together:
    """Runs of `specs`, changes to conftest.SMALL by name, in a folder of their own."""

    def __init__(self, dbench, title, specs, env=None):
        self.dbench, self.title, self.env = dbench, title, env or {}
        self.specs = {name: dbench.spec({**changes, "name": f"{title}-{k}"}, f"{title}-{k}.json")
                      for k, (name, changes) in enumerate(specs.items())}
        self.folders = {}

    def result(self, name, ranks=None, **env):
        """The result file of one, for which the first that asks runs them all. One that did not
        complete is run alone, so that whoever asked for it fails with what it says."""
        key = (ranks, *env.items())
        if key not in self.folders:
            self.folders[key] = folder = f"{self.title}-on-{len(self.folders)}"
            subprocess.run(
                self.dbench.command("run", *self.specs.values(), "--output", folder, "--quiet",
                                    ranks=ranks), cwd=self.dbench.folder, capture_output=True,
                timeout=600, env={**self.dbench.environment, **self.env, **env})
        spec = self.specs[name]
        stem = spec.rsplit("/", 1)[1].removesuffix(".json")
        path = f"{self.folders[key]}/{stem}.h5"
        if not complete(self.dbench.folder / path):
            self.dbench.run(spec, path, "--overwrite", ranks=ranks, env={**self.env, **env})
        return str(self.dbench.folder / path)


def complete(path):
    try:
        with h5py.File(path, swmr=True) as file:
            return file.attrs["status"] == b"complete"
    except OSError:
        return False
