# Shared by the scripts here.

say() { printf '==> %s\n' "$*"; }
fail() { printf 'error: %s\n' "$*" >&2; exit 2; }

# The comment at the head of the script, as its help.
show_help() { sed -n '2,/^[^#]/ { s/^# \{0,1\}//p }' "$1"; }

# One key for some words and the contents of some files: key word... -- file...
key() {
    local words=()
    while [ "$1" != -- ]; do words+=("$1"); shift; done
    shift
    { printf '%s\n' "${words[@]}"; cat /dev/null "$@"; } | sha256sum | cut -d' ' -f1
}

# A step is done if its stamp file holds its key.
done_already() { [ -f "$1" ] && [ "$(cat "$1")" = "$2" ]; }

# How many compilers fit; a source with LibTorch's headers takes about 2 GB.
jobs_that_fit() {
    local cores memory
    cores=$(nproc)
    memory=$(awk '/MemAvailable/ { print int($2 / 2097152) }' /proc/meminfo)
    [ "$memory" -ge 1 ] || memory=1
    echo $((cores < memory ? cores : memory))
}

find_nvcc() {
    local candidate
    for candidate in "${CUDACXX:-}" "$(command -v nvcc)" "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc"; do
        if [ -x "$candidate" ]; then echo "$candidate"; return; fi
    done
    return 1
}

# mpirun with what Open MPI wants for more ranks than cores, and in a container.
mpi_command() {
    local command=mpirun
    if mpirun --version 2>/dev/null | grep -q -E 'Open MPI|OpenRTE|prte'; then
        command+=' --oversubscribe --bind-to none'
        [ "$(id -u)" -ne 0 ] || command+=' --allow-run-as-root'
    fi
    echo "$command"
}
