"""What a card's work needs of a machine: libraries of the programs, PyTorch's with their versions,
the driver, a card; and two ceilings, a copy and matrix products. `check` needs nothing but Python's
standard library; the kit's first act is this.

  python3 bench/card/libraries.py BUILD [--json]      a table, or its rows

Exit status: 0; 1: something is missing or does not fit; 77: all is there, but no card.
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
    """Where PyTorch lies, without importing it; None where Python knows none."""
    found = importlib.util.find_spec("torch")
    places = list(found.submodule_search_locations or []) if found else []
    return Path(places[0]) if places else None


def torch_version(folder):
    found = re.search(r"__version__ = ['\"]([^'\"]+)", (folder / "version.py").read_text())
    return found.group(1) if found else "unknown"


def library_folders(torch):
    """Of PyTorch's own libraries and of NVIDIA's wheels beside it."""
    return [torch / "lib", *sorted(torch.parent.glob("nvidia/*/lib"))]


def load(torch, pattern):
    """The first library of that name, loaded, and its path; None where there is none."""
    for folder in library_folders(torch) if torch else []:
        for path in sorted(folder.glob(pattern)):
            try:
                return ctypes.CDLL(str(path)), path
            except OSError:
                continue
    return None, None


def asked(library, function):
    """The number that a function fills in or returns."""
    number = ctypes.c_int(0)
    if getattr(library, function)(ctypes.byref(number)) != 0:
        return None
    return number.value


def cuda_number(text):
    """13000 of "13.0", as CUDA counts; None of None."""
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
    """Names that the loader does not find."""
    done = subprocess.run([str(program)], capture_output=True, text=True,
                          env={**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"})
    return re.findall(r"^\s*(\S+) => not found", done.stdout, re.M) + re.findall(
        r"version `(\S+)' not found", done.stdout + done.stderr)


def programs(build):
    """Programs of a build; in a kit, whose scripts set the search path, what they start."""
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
    """PyTorch's CUDA, which must be of the programs' major version, where that is known."""
    words = f"{cuda_text(found)}, {path}"
    if wanted is None or found // 1000 == wanted // 1000:
        return ("CUDA runtime", "ok", words)
    return ("CUDA runtime", "other", f"{words}, but the programs are of CUDA {cuda_text(wanted)}: "
            f"install PyTorch's build for CUDA {wanted // 1000}")


def of_torch(torch, expected):
    if torch is None:
        return [("PyTorch", "missing", f"{sys.executable} has no torch: name a Python that has "
                 f"{WANTED_TORCH} in DBENCH_TORCH_PYTHON")]
    version = torch_version(torch)
    fits = version.startswith(expected.get("torch", WANTED_TORCH))
    rows = [("PyTorch", "ok" if fits else "other", version + (
        "" if fits else f", but {expected.get('torch', WANTED_TORCH)} is wanted"))]
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
                    else (name, "missing", f"no {pattern} beside PyTorch"))
    library, path = load(torch, "libcudnn.so.*")
    rows.append(("cuDNN", "ok", f"{cudnn_text(library.cudnnGetVersion())}, {path}") if library
                else ("cuDNN", "missing", "no libcudnn.so.* beside PyTorch"))
    return rows


def attribute(driver, which, device):
    """A number of a card, by that of the attribute: 20 is the compute mode, 75 and 76 the
    capability."""
    number = ctypes.c_int(0)
    driver.cuDeviceGetAttribute(ctypes.byref(number), which, device)
    return number.value


def visible(driver):
    """How many cards CUDA sees, and the status that says why there are none."""
    count = ctypes.c_int(0)
    failed = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    return (0 if failed else count.value), failed


def buses():
    """The PCI bus ids of the cards that CUDA sees, in its order: nvidia-smi, which sees all cards,
    knows them by these. None where CUDA cannot be asked."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    found = [ctypes.create_string_buffer(20) for _ in range(visible(driver)[0])]
    for device, bus in enumerate(found):
        driver.cuDeviceGetPCIBusId(bus, 20, device)
    return [bus.value.decode() for bus in found]


def has_code(architectures, capability):
    """Whether programs built for those (CMake's words, such as 80;90-real) run on such a card: on
    machine code of its generation, or on PTX, of which the driver makes code for newer ones."""
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
        return (f"card {device}", "ok", words)
    return (f"card {device}", "other", f"{words}, but the programs are for {architectures}: "
            "scripts/gpu-kit --architectures makes a kit for others, from 80 on")


def of_driver(torch, expected):
    """The driver and the cards, as CUDA sees them."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return [("driver", "no card", "no libcuda.so.1: NVIDIA's driver is not installed")]
    version = asked(driver, "cuDriverGetVersion")
    rows = [("driver", "ok", f"for CUDA {cuda_text(version)}" if version else "unknown")]
    runtime, _ = load(torch, "libcudart.so.*")
    wanted = cuda_number(expected.get("runtime")) or (
        runtime and asked(runtime, "cudaRuntimeGetVersion"))
    if version and wanted and version // 1000 < wanted // 1000:
        rows[0] = ("driver", "other", f"for CUDA {cuda_text(version)}, and CUDA "
                   f"{cuda_text(wanted)} is wanted: install a newer one ({DRIVERS})")
    count, failed = visible(driver)
    if count == 0:
        return [*rows, ("card", "no card", f"none that CUDA sees (status {failed})")]
    return rows + [of_card(driver, device, expected.get("architectures"))
                   for device in range(count)]


def of_python():
    found = importlib.util.find_spec("h5py") is not None
    return [("Python", "ok", f"{sys.version.split()[0]}, {sys.executable}"),
            ("h5py", "ok" if found else "missing",
             "found" if found else "wanted to read times out of result files: pip install h5py")]


def check(build, expected=None):
    """Rows (what, ok / missing / other / no card, words)."""
    torch, expected = torch_folder(), expected or {}
    return [*of_python(), *of_torch(torch, expected), *of_programs(Path(build)),
            *of_driver(torch, expected)]


def expectations(build):
    """What a kit was built for, from kit.json beside its programs' folder."""
    path = Path(build).parent / "kit.json"
    return json.loads(path.read_text()) if path.exists() else {}


def table(rows):
    width = max(len(what) for what, _, _ in rows)
    return [f"{what:<{width}}  {state:<8}  {words}" for what, state, words in rows]


def status(rows):
    states = {state for _, state, _ in rows}
    return 1 if states & {"missing", "other"} else NO_CARD if "no card" in states else 0


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
    print({0: "all is there", 1: "something is missing, or does not fit",
           NO_CARD: "all is there, but no card"}[found])
    return found


if __name__ == "__main__":
    sys.exit(main())
