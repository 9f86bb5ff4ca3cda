"""Fixtures that call scripts/slurm/sweep as users do, with the real program and a Slurm cluster."""

import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("DBENCH_PROGRAM", str(ROOT / "build" / "dbench"))
CLUSTER = str(ROOT / "scripts" / "slurm" / "local-cluster")
# The folders of results.py and of the package sweeps.
sys.path += [str(ROOT / "tests" / "program"), str(ROOT / "scripts" / "slurm")]

from sweeps import cli  # noqa: E402

# A script for Sweep.program. In a job's first start, the run is paused once it has a checkpoint, so
# that it is certainly unfinished and uses no CPU, until a signal stops it. Later starts run
# normally.
HELD = """if [ -z "${SLURM_RESTART_COUNT:-}" ]; then
    "$real" "$@" &
    trap "kill -USR1 $!; kill -CONT $!" USR1
    until ls "$4".checkpoints/*/manifest.json >/dev/null 2>&1; do sleep 0.05; done
    kill -STOP $!
    while kill -0 $! 2>/dev/null; do wait $!; status=$?; done
    exit $status
fi"""

BASE = {
    "model": "softmax_regression",
    "data": {"type": "shapes", "train": 256, "test": 64, "batch_size": 8},
    "algorithm": "dsgd",
    "optimizer": {"type": "sgd", "lr": 0.05},
    "length": {"iterations": 6},
}


# The beginning of a replacement of the program. The function answers(), which `check` calls, calls
# answer() for each point that the sweep asks about, with the spec and the point as its argument.
ANSWERS = """#!/bin/bash
answers() {
    local separator='[' base point
    base=$(cat "$1")
    while read -r point; do
        echo "$separator"
        separator=,
        answer "$base $point"
    done < <(python3 -c 'import json, sys
for point in json.load(sys.stdin):
    print(json.dumps(point))')
    echo ']'
}
"""

# A replacement of the program for sweeps that must not train. It accepts every spec in `check`,
# writes its arguments to $DBENCH_NOTES/run.<process> (separated by zero bytes), and in `doctor`
# changes the file, as the real program does with the flag of a dead writer.
STAND_IN = ANSWERS + """answer() {
    local id
    echo x >>"$DBENCH_NOTES/asked"
    id=$(md5sum <<<"$1" | cut -c 1-32)
    echo '{"spec": {"replicas": 4, "id": "'$id'"}, "iterations": 9,'
    echo '"memory_bytes_per_rank": 1, "bytes_per_step": 1, "result_bytes": 1,'
    echo '"result_bytes_per_rank": 1, "evaluation_share": 0.1, "ranks": 1,'
    echo '"activation_bytes_per_rank": null,'
    echo '"free_to_change": ["/name", "/output"]}'
}
case $1 in
    check) answers "$2" ;;
    run) printf '%s\\0' "$@" >"$DBENCH_NOTES/run.$BASHPID" ;;
    doctor) touch "$2"; echo "  status           ${DBENCH_STATUS:-running}" ;;
esac
"""


class Sweep:
    """A folder with one sweep file, and methods that call the tool on it."""

    def __init__(self, folder, environment):
        self.folder, self.environment = Path(folder), dict(environment)
        self.output = self.folder / "out"

    def write(self, axes, base=None, **more):
        given = {"base": {**BASE, **(base or {})}, "axes": axes, "output": str(self.output),
                 "time": "00:02:00", **more}
        self.file = self.folder / "sweep.json"
        kept = {key: value for key, value in given.items() if value is not None}
        self.file.write_text(json.dumps(kept))
        return self

    def command(self, *words):
        return [sys.executable, str(ROOT / "scripts/slurm/sweep"), words[0], str(self.file),
                *map(str, words[1:])]

    def __call__(self, *words, expect=0, timeout=100):
        done = subprocess.run(self.command(*words), cwd=self.folder, env=self.environment,
                              text=True, capture_output=True, timeout=timeout)
        assert done.returncode == expect, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def plan(self, expect=0):
        return json.loads(self("plan", "--json", expect=expect))

    def status(self):
        """Return name -> state; `detail` holds the other columns."""
        done = subprocess.run(self.command("status", "--json"), cwd=self.folder,
                              env=self.environment, text=True, capture_output=True, timeout=100)
        assert done.returncode in (0, 1), done.stderr
        runs = json.loads(done.stdout)["runs"]
        self.detail = {run["name"]: run["detail"] for run in runs}
        self.job = {run["name"]: run["job"] for run in runs}
        return {run["name"]: run["state"] for run in runs}

    def until(self, condition, seconds=120):
        """Wait until condition(status) is true; return that status. Fail after `seconds`, or if no
        run has been pending or running for ten seconds."""
        lively = began = time.time()
        while True:
            found = self.status()
            if condition(found):
                return found
            now = time.time()
            lively = now if {"running", "pending"} & set(found.values()) else lively
            assert now < began + seconds and now < lively + 10, (
                f"{found} {self.detail}\n{self.logs()[-5000:]}")
            time.sleep(0.3)

    def logs(self):
        return "\n".join(f"--- {path.name}\n{path.read_text()}"
                         for path in (self.output / ".sweep/logs").glob("*"))

    def program(self, body):
        """Put a shell script in front of the program: $real is the program, $name the run's name,
        $count the number of starts for that run, including this one."""
        path = self.folder / "program"
        path.write_text(f"""#!/bin/bash
real={PROGRAM}
[ "$1" = run ] || exec "{self.environment['DBENCH_PROGRAM']}" "$@"
name=$(basename "$2" .json)
[ "${{SLURM_PROCID:-0}}" != 0 ] || echo x >>{self.folder}/starts-$name
count=$(wc -l <{self.folder}/starts-$name)
{body}
exec "$real" "$@"
""")
        path.chmod(0o755)
        self.environment["DBENCH_PROGRAM"] = str(path)

    def with_cuda(self):
        """Put a script in front of the program that accepts the device cuda in `check`, as a build
        with CUDA does; its runs train on the CPU."""
        path = self.folder / "program-with-cuda"
        path.write_text(f"""#!/bin/bash
set -- "{self.environment['DBENCH_PROGRAM']}" "${{@/'/device="cuda"'/'/device="auto"'}}"
case " $* " in
    *" --points - "*)
        points=$(cat)
        echo "$points" >>{self.folder}/asked
        exec "$@" <<<"${{points//'"/device": "cuda"'/'"/device": "auto"'}}" ;;
    *) exec "$@" ;;
esac
""")
        path.chmod(0o755)
        self.environment["DBENCH_PROGRAM"] = str(path)

    def whole(self, name):
        """Return the result of the same run without interruptions."""
        output = self.folder / f"whole-{name}.h5"
        spec = str(self.output / f".sweep/specs/{name}.json")
        subprocess.run([PROGRAM, "run", spec, "--output", str(output), "--quiet"],
                       env=self.environment, check=True, timeout=60)
        return str(output)

    def starts(self, name):
        path = self.folder / f"starts-{name}"
        return len(path.read_text().splitlines()) if path.exists() else 0


def plain_environment():
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("DBENCH_", "SLURM_"))}
    return {**kept, "DBENCH_PROGRAM": PROGRAM, "DBENCH_PYTHON": sys.executable,
            "OMPI_MCA_btl_base_warn_component_unused": "0",
            "PMIX_MCA_psec": "native"}   # PMIx would wait for munge if it is not running


@pytest.fixture(scope="session")
def remembering(tmp_path_factory):
    """Return a program that caches the results of `check`, because tests check the same specs again
    and again."""
    folder = tmp_path_factory.mktemp("remembered")
    path = folder / "program"
    path.write_text(f"""#!/bin/bash
[ "$1" = check ] && ! grep -q '"base"' "$2" || exec {PROGRAM} "$@"
points=$(cat)
kept={folder}/$({{ cat "$2"; printf '%s\\n' "${{@:3}}" "$points"; }} | sha256sum | cut -c 1-40)
if [ ! -e $kept ]; then
    {PROGRAM} "$@" <<<"$points" >$kept.$$.out 2>$kept.$$.err
    echo "cat $kept.$$.out; cat $kept.$$.err >&2; exit $?" >$kept.$$
    mv $kept.$$ $kept
fi
. $kept
""")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def sweep(tmp_path, remembering):
    if not shutil.which(PROGRAM):
        pytest.fail(f"{PROGRAM}: no program (build it first)")
    return Sweep(tmp_path, {**plain_environment(), "DBENCH_PROGRAM": remembering})


@pytest.fixture
def quick(tmp_path):
    """Return a sweep with a replacement of the program, for tests of everything before a run."""
    (tmp_path / "notes").mkdir()
    made = Sweep(tmp_path, {**plain_environment(), "DBENCH_NOTES": str(tmp_path / "notes")})
    stand_in(made, "dbench", STAND_IN)
    made.environment["DBENCH_PROGRAM"] = str(tmp_path / "bin" / "dbench")
    return made


@pytest.fixture
def inside(monkeypatch, capfd):
    """Return a function that runs a sweep's command in this process, which is faster, and returns
    (exit status, output, errors)."""
    def call(sweep, command, *words):
        monkeypatch.chdir(sweep.folder)
        for key, value in sweep.environment.items():
            monkeypatch.setenv(key, value)
        signal.signal(signal.SIGALRM, signal.default_int_handler)  # interrupts a command that hangs
        signal.alarm(10)
        memory = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, memory[1]))  # stops endless reading
        capfd.readouterr()
        try:
            status = cli.main([command, str(sweep.file), *map(str, words)])
        except SystemExit as end:
            status = end.code
        finally:
            signal.alarm(0)
            resource.setrlimit(resource.RLIMIT_AS, memory)
        return (status, *capfd.readouterr())
    return call


def stand_in(sweep, name, body):
    """Put a command, such as one of Slurm's, with the shell script `body` into the search path."""
    folder = sweep.folder / "bin"
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(body if body.startswith("#!") else "#!/bin/bash\n" + body)
    path.chmod(0o755)
    sweep.environment["PATH"] = f"{folder}:{os.environ['PATH']}"


class Cluster:
    def __init__(self, folder):
        self.folder = folder
        self.environment = {**plain_environment(), "DBENCH_CLUSTER": str(folder / "c")}

    def __call__(self, *words, check=True):
        done = subprocess.run([CLUSTER, *map(str, words)], env=self.environment, text=True,
                              timeout=100, capture_output=True, stdin=subprocess.DEVNULL)
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def slurm(self, *words, check=True):
        """Run one of Slurm's commands; return its output."""
        environment = {**self.environment, "SLURM_CONF": str(self.folder / "c" / "slurm.conf")}
        return subprocess.run(words, env=environment, text=True, capture_output=True, timeout=60,
                              check=check, cwd=self.folder).stdout


def lacking_for_a_cluster():
    return ", ".join(subprocess.run([CLUSTER, "missing"], text=True,
                                    capture_output=True).stdout.splitlines())


@pytest.fixture(scope="session")
def cluster():
    """Start a cluster of three hosts with four processors, in a folder that all hosts see."""
    if lacking_for_a_cluster():
        pytest.skip(f"no local Slurm cluster here: {lacking_for_a_cluster()} is missing")
    (ROOT / ".cache").mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=ROOT / ".cache", prefix="slurm-"))
    started = Cluster(folder)
    try:
        started("up", 3, 4)
        yield started
    finally:
        started("down", check=False)
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def sweep_on(cluster):
    """Context manager with a sweep whose jobs end with it."""
    folder = Path(tempfile.mkdtemp(dir=cluster.folder, prefix="sweep-"))
    made = Sweep(folder, {**cluster.environment,
                          "SLURM_CONF": str(cluster.folder / "c" / "slurm.conf")})
    made.cluster = cluster
    yield made
    jobs = folder / "out" / ".sweep" / "jobs.json"
    if jobs.exists():
        ids = [job["job"] for job in json.loads(jobs.read_text())]
        # Most jobs have already ended, so errors are ignored.
        cluster.slurm("scancel", "--full", "--signal=KILL", *ids, check=False)


@pytest.fixture
def on_cluster(cluster):
    with sweep_on(cluster) as made:
        yield made
