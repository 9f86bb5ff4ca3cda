# shellcheck shell=bash
# shellcheck disable=SC2154  # setup sets venv
# The Python environment, sourced by setup, which sets `venv` to its absolute path.

# Exit status 0 if this Python is new enough, and the packages beside it are those of its version.
usable='import os, sys, sysconfig
sys.exit(sys.version_info < (3, 10) or not os.path.isdir(sysconfig.get_path("purelib")))'

# Prints the first Python here that can make an environment.
find_python() {
    local name
    for name in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do
        if "$name" -c "import ensurepip, venv; $usable" 2>/dev/null; then command -v "$name"; return; fi
    done
    return 1
}

# Fails if python3 is too old and there is no other: Debian's packages would bring the same one.
refuse_old_python() {
    local version
    if environment_works || find_python >/dev/null; then return; fi
    version=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || return 0
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
        fail "python3 here is Python $version, and DBench needs 3.10 or newer: load a module (such as module load" \
            "python/3.11) or install one with venv and ensurepip, then run this again"
}

# Programs of an environment contain its path. False if it was moved, or copied from another place.
environment_works() {
    local place
    "$venv/bin/python" -c "$usable" 2>/dev/null || return 1
    place=$(sed -n -E '1,2s|^[^/]*(/.*)/bin/python.*|\1|p' "$venv/bin/pip" 2>/dev/null) || true
    [ -z "$place" ] || [ "$place" -ef "$venv" ]
}

# True if setup has made the environment, and so may remove it. Earlier versions left only stamps, also in environments
# that they had found: those count in this checkout alone.
made_by_setup() {
    case $(cat "$venv/.setup" 2>/dev/null) in
        made) true ;;
        found) false ;;
        *) [ "$(dirname "$venv")" -ef . ] && { [ -e "$venv/.torch" ] || [ -e "$venv/.python" ]; } ;;
    esac
}

prepare_environment() {
    local python
    if environment_works; then
        made_by_setup || echo found >"$venv/.setup"
        "$venv/bin/python" -c 'import pip' 2>/dev/null || "$venv/bin/python" -m ensurepip >/dev/null ||
            fail "$venv has no pip: install it there, or choose another environment with --venv"
        return
    fi
    if [ -e "$venv" ] && ! made_by_setup; then
        [ -e "$venv/pyvenv.cfg" ] || fail "$venv exists and is not a Python environment: choose another"
        fail "the Python environment $venv cannot be used: it was moved, or its Python is gone, older than 3.10, or of" \
            "another version than its packages. Remove it (scripts/setup did not make it), or choose another with --venv"
    fi
    python=$(find_python) || fail "no Python here from 3.10 up has venv and ensurepip: load a module or install one"
    say "making the Python environment $venv"
    rm -rf "$venv"
    mkdir -p "$venv"
    echo made >"$venv/.setup"
    "$python" -m venv "$venv" || fail "$python could not make an environment: see its message above"
}

# A module's PYTHONPATH may have had a package when pip was asked to install it. So the stamps are not enough.
torch_is_there() { compgen -G "$venv/lib/python3*/site-packages/torch/lib/libc10.so" >/dev/null; }

# Fails if the environment is not of setup and has a PyTorch that pip would replace by another version.
keep_foreign_torch() {
    local torch wanted
    torch=$(compgen -G "$venv/lib/python3*/site-packages/torch" | head -n 1) || return 0
    if [ -z "$torch" ] || [ -e "$venv/.torch" ] || made_by_setup; then return 0; fi
    wanted=$(sed -n 's/^torch==//p' scripts/requirements/torch-cpu.txt)
    ! grep -q "^__version__ = '${wanted//./\\.}['+]" "$torch/version.py" 2>/dev/null || return 0
    fail "$venv has a PyTorch of its own, which pip would replace by $wanted: use it (TORCH_ROOT=$torch), or choose another" \
        "environment with --venv"
}

packages_are_there() {
    "$venv/bin/python" -I -c 'import sys, h5py
from importlib.util import find_spec
sys.exit(not all(map(find_spec, ("dbench_analysis", "dbench_export"))))' 2>/dev/null
}
