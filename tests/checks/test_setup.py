"""Tests of scripts/setup with replacements of Python, pip, CMake and the system's packages: nothing
is downloaded, installed or built."""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# A Python that makes environments with itself, and "installs" what the script looks for.
PYTHON = r"""#!/bin/bash
venv=$(dirname "$(dirname "$0")")
echo "python ${PYTHONPATH-} $*" >>"$NOTES"
case "$*" in
    "-m venv "*)
        mkdir -p "$3/bin"
        touch "$3/pyvenv.cfg"
        cp "$0" "$3/bin/python"
        printf '#!%s/bin/python\n' "$3" >"$3/bin/pip" ;;
    *"pip install"*torch-*) mkdir -p "$venv/lib/python3/site-packages/torch/lib"
        touch "$venv/lib/python3/site-packages/torch/lib/libc10.so" ;;
    *"pip install"*) touch "$venv/packages" ;;
    "-I -c "*) [ -e "$venv/packages" ] ;;
    "-c import h5py"*) ;;
    *) exec /usr/bin/env -u PYTHONPATH REAL "$@" ;;
esac
"""


def executable(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if text.startswith("#!") else "#!/bin/bash\n" + text)
    path.chmod(0o755)


class Setup:
    """A checkout with the scripts, and a function that calls setup in it."""

    def __init__(self, folder):
        self.folder, self.tools = folder / "checkout", folder / "tools"
        shutil.copytree(ROOT / "scripts", self.folder / "scripts")
        for name in "analysis", "export":
            (self.folder / name).mkdir()
            (self.folder / name / "pyproject.toml").touch()
        (self.folder / "CMakePresets.json").touch()
        self.notes = folder / "notes"
        real = shutil.which("python3")
        executable(self.tools / "python3", PYTHON.replace("REAL", real))
        executable(self.tools / "cmake", r"""echo "cmake $*" >>"$NOTES"
mkdir -p build
for word in "$@"; do
    case $word in
        -DTORCH_ROOT=*) echo "TORCH_ROOT:UNINITIALIZED=${word#*=}" >build/CMakeCache.txt ;;
    esac
done""")

    def __call__(self, *words, expect=0, before=("--no-packages", "--no-cuda"), **variables):
        self.notes.write_text("")
        done = self.start(*before, *words, **variables)
        said, errors = done.communicate(timeout=60)
        assert done.returncode == expect, said + errors
        return said + errors

    def start(self, *words, cwd=None, **variables):
        plain = {name: value for name, value in os.environ.items() if name != "TORCH_ROOT"}
        return subprocess.Popen(
            [self.folder / "scripts" / "setup", *words], text=True, cwd=cwd or self.folder,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
            env={**plain, "NOTES": str(self.notes),
                 "PATH": f"{self.tools}:{os.environ['PATH']}", **variables})

    def did(self, word):
        """Return the calls of Python and CMake that contain a word."""
        return [line for line in self.notes.read_text().splitlines() if word in line]

    def environment(self, name=".venv"):
        return self.folder / name


@pytest.fixture
def setup(tmp_path):
    return Setup(tmp_path)


def test_an_environment_is_made_once(setup):
    assert "making the Python environment" in setup("--no-build")
    assert len(setup.did("pip install")) == 2
    assert "making" not in setup("--no-build") and not setup.did("pip install")


def foreign(setup, works):
    """Make an environment that is not of setup; it has no pip."""
    place = setup.environment("mine")
    executable(place / "bin" / "python", (setup.tools / "python3").read_text()
               if works else "exit 1")
    (place / "pyvenv.cfg").touch()
    (place / "thesis").touch()
    return place


def test_an_environment_of_others_is_used_and_never_removed(setup):
    place = foreign(setup, works=True)
    assert "making" not in setup("--no-build", "--venv", "mine")
    assert setup.did("pip install") and (place / ".torch").exists()
    executable(place / "bin" / "python", "exit 1")
    told = setup("--no-build", "--venv", "mine", expect=2)
    assert "setup did not make it" in told and "--venv" in told and (place / "thesis").exists()
    shutil.rmtree(place)
    place = foreign(setup, works=False)
    assert "setup did not make it" in setup("--no-build", "--venv", str(place), expect=2)
    assert (place / "thesis").exists()


def test_a_pytorch_of_others_is_not_replaced(setup):
    torch = foreign(setup, works=True) / "lib/python3.11/site-packages/torch"
    (torch / "lib").mkdir(parents=True)
    (torch / "lib" / "libc10.so").touch()
    (torch / "version.py").write_text("__version__ = '2.7.1+cu126'\n")
    told = setup("--no-build", "--venv", "mine", expect=2)
    assert f"TORCH_ROOT={torch}" in told and "--venv" in told and not setup.did("pip install")
    setup("--no-build", "--venv", "mine", TORCH_ROOT=str(torch))
    assert not [line for line in setup.did("pip install") if "torch-" in line]
    (torch / "version.py").write_text("__version__ = '2.11.0+cpu'\n")  # pip keeps this one
    assert "making" not in setup("--no-build", "--venv", "mine", TORCH_ROOT="")


def test_an_own_environment_that_cannot_be_used_is_made_again(setup):
    setup("--no-build", "--venv", "a")
    (setup.environment("a")).rename(setup.environment("b"))
    assert "making" in setup("--no-build", "--venv", "b")  # its programs named the path a
    assert "making" not in setup("--no-build", "--venv", "b")
    executable(setup.environment("b") / "bin" / "python", "exit 1")  # its Python is gone
    assert "making" in setup("--no-build", "--venv", "b")


def test_an_environment_may_be_on_another_disk(setup, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    (setup.folder / "scratch").symlink_to(disk)
    setup("--no-build", "--venv", "scratch/venv")
    # Python itself writes the path as it was given.
    pip = disk / "venv" / "bin" / "pip"
    pip.write_text(f"#!/bin/sh\n'''exec' \"{setup.folder}/scratch/venv/bin/python3\" \"$0\"\n")
    assert "making" not in setup("--no-build", "--venv", "scratch/venv")
    setup("--no-build")
    shutil.move(setup.environment(), disk / "moved")
    setup.environment().symlink_to(disk / "moved")
    assert "making" not in setup("--no-build") and not setup.did("pip install")
    assert setup.environment().is_symlink()


def test_stamps_without_their_packages_are_not_trusted(setup):
    setup("--no-build", PYTHONPATH="/module")
    assert setup.did("pip install") and not setup.did("/module")
    (setup.environment() / "packages").unlink()
    setup("--no-build")
    assert len(setup.did("pip install")) == 1 and setup.did("test.txt")
    shutil.rmtree(setup.environment() / "lib")
    setup("--no-build")
    assert len(setup.did("pip install")) == 1 and setup.did("torch-cpu.txt")


def test_another_setup_is_waited_for(setup):
    setup("--no-build")
    [path] = (setup.folder / ".cache").glob("setup-*.lock")
    with open(path) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        waiting = setup.start("--no-packages", "--no-cuda", "--no-build")
        assert "waiting for another scripts/setup" in waiting.stdout.readline()
        assert waiting.poll() is None
    waiting.communicate(timeout=60)
    assert waiting.returncode == 0


def test_an_old_python_is_passed_over_or_refused(setup):
    executable(setup.tools / "python3.13", PYTHON.replace("REAL", shutil.which("python3")))
    executable(setup.tools / "python3.14", "exit 127")
    executable(setup.tools / "python3", 'case $* in *"print("*) echo 3.6 ;; *) exit 1 ;; esac')
    assert "making" in setup("--no-build")
    shutil.rmtree(setup.environment())
    for minor in range(10, 15):
        executable(setup.tools / f"python3.{minor}", "exit 1")
    told = setup("--no-build", expect=2, before=())
    assert "python3 here is Python 3.6, and DBench needs 3.10 or newer" in told
    assert "load a module" in told and not setup.environment().exists()


def test_a_libtorch_is_kept_in_later_calls(setup, tmp_path):
    (tmp_path / "torch" / "lib").mkdir(parents=True)
    (tmp_path / "torch" / "lib" / "libc10.so").touch()
    done = setup.start("--no-packages", "--no-cuda", cwd=tmp_path, TORCH_ROOT="torch")
    said, errors = done.communicate(timeout=60)
    assert done.returncode == 0, said + errors
    assert setup.did("cmake --preset release") and setup.did(f"-DTORCH_ROOT={tmp_path}/torch")
    assert not setup.did("torch-cpu.txt")
    assert "as before, LibTorch is the one in" in setup()
    assert not setup.did("torch-cpu.txt") and not setup.did("--preset")  # nothing changed
    setup(TORCH_ROOT="")
    assert setup.did("torch-cpu.txt") and setup.did("-UTORCH_ROOT")


def test_clusters_need_neither_catch2_nor_mpirun(setup):
    with open(setup.folder / "scripts" / "packages.sh", "a") as file:
        file.write('has_header() { [[ $1 != catch2/* ]]; }\n'
                   'has() { [ "$1" != mpirun ] && [ "$1" != mpicc ] && [ "$1" != apt-get ]; }\n')
    told = setup("--no-build", "--preset", "cluster", expect=2, before=())
    assert "openmpi-bin libopenmpi-dev" in told and "catch2" not in told
    assert "no mpirun here: start ranks with srun" in setup(
        "--no-build", "--preset", "frontier-like", before=())
    assert not setup.did("test.txt")
    told = setup("--no-build", "--no-cuda", expect=2, before=())
    assert "openmpi-bin" in told and "catch2" in told
    assert "catch2" not in setup("--no-build", "--no-cuda", "--program", expect=2, before=())
    setup("--program")
    assert setup.did("-DBUILD_TESTING=OFF")


def test_the_number_of_compilers_fits_the_limits_of_cgroups(tmp_path):
    def group(path, **files):
        (tmp_path / path).mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (tmp_path / path / name.replace("_", ".", 1)).write_text(f"{text}\n")

    def left(line):
        (tmp_path / "cgroup").write_text(line + "\n")
        return subprocess.run(
            ["bash", "-c", f". {ROOT}/scripts/common.sh; left_in_cgroups {tmp_path} "
             f"{tmp_path}/cgroup"], text=True, capture_output=True, check=True).stdout.split()

    group("user/job/step", memory_max="max")
    group("user/job", memory_max=8000, memory_current=6000,
          memory_stat="anon 1\ninactive_file 500\nactive_file 100\nfile 9")
    group("user", memory_max=9000, memory_current=1000, memory_stat="anon 1")
    assert left("0::/user/job/step") == ["2600", "8000"]
    group("memory/slurm", memory_limit_in_bytes=700, memory_usage_in_bytes=600,
          memory_stat="total_inactive_file 50\ninactive_file 9")
    assert left("5:cpu:/x\n4:cpuset,memory:/slurm") == ["150"]
    assert left("0::/") == []


@pytest.mark.parametrize("words", [(), ("--no-cuda",)])
def test_no_cuda_reaches_setup(tmp_path, words):
    """A build with CUDA exists, as on a machine with a GPU."""
    for name in "common.sh", "test":
        (tmp_path / "scripts").mkdir(exist_ok=True)
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts" / name)
    executable(tmp_path / "scripts" / "setup", 'echo "setup $*"')
    executable(tmp_path / "tools" / "ctest", 'echo "program ${DBENCH_CUDA_PROGRAM-none}"')
    records = tmp_path / "build" / "Testing" / "Temporary"
    records.mkdir(parents=True)
    for name in "LastTest.log", "CTestCostData.txt":
        (records / name).touch()
    (tmp_path / "build" / "CMakeCache.txt").write_text("DBENCH_CUDA:BOOL=ON\n")
    plain = {k: v for k, v in os.environ.items() if not k.startswith("DBENCH_")}
    said = subprocess.run([tmp_path / "scripts" / "test", "--no-sanitizers", *words], text=True,
                          capture_output=True, timeout=60,
                          env={**plain, "PATH": f"{tmp_path}/tools:{os.environ['PATH']}"})
    lines = said.stdout.splitlines()
    assert said.returncode == 0, said.stdout + said.stderr
    told = [line for line in lines if line.startswith("setup")]
    assert told == ["setup --no-build" + " --no-cuda" * bool(words),
                    "setup" + (" --no-cuda" if words else " ")]
    assert ("program none" in lines) == bool(words)
