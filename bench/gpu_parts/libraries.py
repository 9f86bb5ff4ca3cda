"""Check whether a machine has what bench/gpu needs: the libraries of the programs, PyTorch and its
libraries, the driver, a GPU. The check needs only Python's standard library. The GPU kit runs it
first.

  python3 libraries.py BUILD [--json]      print a table, or its rows as JSON

Exit status: 0 success; 1 something is missing or has a wrong version; 77 only a GPU is missing.
"""

import ctypes
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

WANTED_TORCH = "2.11"
DRIVERS = "of CUDA 13: 580 or newer"
NO_CARD = 77


def torch_folder():
    """Return the folder of PyTorch without importing it, or None if it is not installed."""
    found = importlib.util.find_spec("torch")
    places = list(found.submodule_search_locations or []) if found else []
    return Path(places[0]) if places else None


def torch_version(folder):
    found = re.search(r"__version__ = ['\"]([^'\"]+)", (folder / "version.py").read_text())
    return found.group(1) if found else "unknown"


def library_folders(torch):
    """Return the folders of PyTorch's own libraries and of NVIDIA's wheels."""
    return [torch / "lib", *sorted(torch.parent.glob("nvidia/*/lib"))]


def load(torch, pattern):
    """Load the first library that matches the pattern; return it and its path, or (None, None)."""
    for folder in library_folders(torch) if torch else []:
        for path in sorted(folder.glob(pattern)):
            try:
                return ctypes.CDLL(str(path)), path
            except OSError:
                continue
    return None, None


def asked(library, function):
    """Call a function that stores a number at a pointer; return the number, or None if it fails."""
    number = ctypes.c_int(0)
    if getattr(library, function)(ctypes.byref(number)) != 0:
        return None
    return number.value


def cuda_number(text):
    """Convert a version such as "13.0" to CUDA's number, 13000; None to None."""
    major, _, minor = (text or "").partition(".")
    return 1000 * int(major) + 10 * int(minor or 0) if text else None


def cuda_text(number):
    return f"{number // 1000}.{number % 1000 // 10}"


def nccl_text(number):
    return f"{number // 10000}.{number % 10000 // 100}.{number % 100}"


def cudnn_text(number):
    major = 10000 if number >= 90000 else 1000
    return f"{number // major}.{number % major // 100}.{number % 100}"


def missing_libraries(program):
    """Return the names of libraries that the loader does not find."""
    done = subprocess.run([str(program)], capture_output=True, text=True,
                          env={**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"})
    return re.findall(r"^\s*(\S+) => not found", done.stdout, re.M) + re.findall(
        r"version `(\S+)' not found", done.stdout + done.stderr)


def programs(build):
    """Return the programs of a build. In a kit they are scripts that set the library path."""
    found = [build / "dbench", *sorted((build / "bench").glob("bench_gpu_*"))]
    return [path for path in found if path.exists()]


def of_programs(build):
    rows = []
    for program in programs(build):
        listed = subprocess.run([str(program), "--libraries"], capture_output=True, text=True) \
            if program.read_bytes()[:2] == b"#!" else None
        missing = listed.stdout.split() if listed else missing_libraries(program)
        rows.append((program.name, "ok" if not missing else "missing",
                     "all libraries found" if not missing else ", ".join(missing)))
    return rows or [("programs", "missing", f"none in {build}")]


def of_runtime(found, path, wanted):
    """Return the row about PyTorch's CUDA. Its major version must be that of the programs, if that
    is known."""
    words = f"{cuda_text(found)}, {path}"
    if wanted is None or found // 1000 == wanted // 1000:
        return ("CUDA runtime", "ok", words)
    return ("CUDA runtime", "other", f"{words}, but the programs need CUDA {cuda_text(wanted)}: "
            f"install PyTorch's build for CUDA {wanted // 1000}")


def of_torch(torch, expected):
    if torch is None:
        return [("PyTorch", "missing", f"{sys.executable} has no torch: name a Python that has "
                 f"{WANTED_TORCH} in DBENCH_TORCH_PYTHON")]
    version = torch_version(torch)
    fits = version.startswith(expected.get("torch", WANTED_TORCH))
    rows = [("PyTorch", "ok" if fits else "other", version + (
        "" if fits else f", but {expected.get('torch', WANTED_TORCH)} is required"))]
    if not expected.get("cuda", True):  # a kit of a build without CUDA
        return rows
    wanted = cuda_number(expected.get("runtime"))
    for name, pattern, function, row in (
            ("CUDA runtime", "libcudart.so.*", "cudaRuntimeGetVersion",
             lambda found, path: of_runtime(found, path, wanted)),
            ("NCCL", "libnccl.so.*", "ncclGetVersion",
             lambda found, path: ("NCCL", "ok", f"{nccl_text(found)}, {path}"))):
        library, path = load(torch, pattern)
        found = library and asked(library, function)
        rows.append(row(found, path) if found
                    else (name, "missing", f"no {pattern} next to PyTorch"))
    library, path = load(torch, "libcudnn.so.*")
    rows.append(("cuDNN", "ok", f"{cudnn_text(library.cudnnGetVersion())}, {path}") if library
                else ("cuDNN", "missing", "no libcudnn.so.* next to PyTorch"))
    return rows


def attribute(driver, which, device):
    """Return an attribute of a GPU by its number in CUDA: 20 is the compute mode, 75 and 76 are the
    capability."""
    number = ctypes.c_int(0)
    driver.cuDeviceGetAttribute(ctypes.byref(number), which, device)
    return number.value


def visible(driver):
    """Return the number of GPUs that CUDA sees, and CUDA's status code if there are none."""
    count = ctypes.c_int(0)
    failed = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    return (0 if failed else count.value), failed


def buses():
    """Return the PCI bus ids of the GPUs that CUDA sees, in its order, or None if there is no CUDA
    driver. nvidia-smi always sees all GPUs and can select them by these ids."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    found = [ctypes.create_string_buffer(20) for _ in range(visible(driver)[0])]
    for device, bus in enumerate(found):
        driver.cuDeviceGetPCIBusId(bus, 20, device)
    return [bus.value.decode() for bus in found]


def has_code(architectures, capability):
    """Return whether programs built for these architectures (in CMake's notation, such as
    80;90-real) run on a GPU of this capability. They need machine code of its generation, or PTX,
    which the driver can compile for newer GPUs."""
    for word in architectures.split(";"):
        number, _, only = word.partition("-")
        built = divmod(int(number), 10)
        if built <= capability and (only != "real" or built[0] == capability[0]):
            return True
    return False


def of_card(driver, device, architectures):
    name = ctypes.create_string_buffer(100)
    driver.cuDeviceGetName(name, 100, device)
    mode, *capability = [attribute(driver, which, device) for which in (20, 75, 76)]
    words = "{}, capability {}.{}".format(name.value.decode(), *capability) + (
        f", for one process only (compute mode {mode})" if mode else "")
    if architectures is None or has_code(architectures, tuple(capability)):
        return (f"GPU {device}", "ok", words)
    return (f"GPU {device}", "other", f"{words}, but the programs are for {architectures}: "
            "scripts/gpu-kit --architectures makes a kit for others, from 80 on")


def of_driver(torch, expected):
    """Return the rows about the driver and about the GPUs that CUDA sees."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return [("driver", "no GPU", "no libcuda.so.1: NVIDIA's driver is not installed")]
    version = asked(driver, "cuDriverGetVersion")
    rows = [("driver", "ok", f"for CUDA {cuda_text(version)}" if version else "unknown")]
    runtime, _ = load(torch, "libcudart.so.*")
    wanted = cuda_number(expected.get("runtime")) or (
        runtime and asked(runtime, "cudaRuntimeGetVersion"))
    if version and wanted and version // 1000 < wanted // 1000:
        rows[0] = ("driver", "other", f"for CUDA {cuda_text(version)}, but CUDA "
                   f"{cuda_text(wanted)} is required: install a newer driver ({DRIVERS})")
    count, failed = visible(driver)
    if count == 0:
        return [*rows, ("GPU", "no GPU", f"CUDA sees none (status {failed})")]
    return rows + [of_card(driver, device, expected.get("architectures"))
                   for device in range(count)]


def of_python():
    found = importlib.util.find_spec("h5py") is not None
    return [("Python", "ok", f"{sys.version.split()[0]}, {sys.executable}"),
            ("h5py", "ok" if found else "missing",
             "found" if found else "required to read result files: pip install h5py")]


def check(build, expected=None):
    """Return rows (item, state, text); a state is ok, missing, other (wrong version) or no GPU."""
    torch, expected = torch_folder(), expected or {}
    return [*of_python(), *of_torch(torch, expected), *of_programs(Path(build)),
            *of_driver(torch, expected)]


def expectations(build):
    """Return what a kit was built for, from its kit.json, or {} for an ordinary build."""
    path = Path(build).parent / "kit.json"
    return json.loads(path.read_text()) if path.exists() else {}


def table(rows):
    width = max(len(what) for what, _, _ in rows)
    return [f"{what:<{width}}  {state:<8}  {words}" for what, state, words in rows]


def status(rows):
    states = {state for _, state, _ in rows}
    return 1 if states & {"missing", "other"} else NO_CARD if "no GPU" in states else 0


def main():
    words = [word for word in sys.argv[1:] if word != "--json"]
    if len(words) != 1 or words[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if len(words) == 1 else 2
    rows = check(words[0], expectations(words[0]))
    found = status(rows)
    if "--json" in sys.argv:
        print(json.dumps(rows))
        return found
    print(*table(rows), sep="\n")
    print({0: "everything is present", 1: "something is missing or has a wrong version",
           NO_CARD: "everything is present except a GPU"}[found])
    return found


if __name__ == "__main__":
    sys.exit(main())
