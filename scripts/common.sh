# shellcheck shell=bash
# Functions that the scripts in this folder share.

say() { printf '==> %s\n' "$*"; }
fail() { printf 'error: %s\n' "$*" >&2; exit 2; }

# Prints the comment at the head of a script as its help.
show_help() { sed -n '2,/^[^#]/ { s/^# \{0,1\}//p }' "$1"; }

# Prints one key for words and the contents of files: key word... -- file...
key() {
    local words=()
    while [ "$1" != -- ]; do words+=("$1"); shift; done
    shift
    { printf '%s\n' "${words[@]}"; cat /dev/null "$@"; } | sha256sum | cut -d' ' -f1
}

# True if a step is done: its stamp file holds its key.
done_already() { [ -f "$1" ] && [ "$(cat "$1")" = "$2" ]; }

# Waits until no other script holds FILE, and holds it until `unlock` or the end: lock FILE WHO
lock() {
    local status=0
    if ! { mkdir -p "$(dirname "$1")" && : >>"$1" && command -v flock >/dev/null; } 2>/dev/null; then return 0; fi
    exec 9>>"$1"
    flock -n -E 10 9 || status=$?  # a file system without locks gives another status
    if [ $status -eq 10 ]; then
        say "waiting for another $2, which holds $1"
        flock 9 || true
    fi
}
# Programs started meanwhile may have inherited the descriptor, so that closing it alone would not unlock the file.
unlock() { flock -u 9 2>/dev/null || true; exec 9>&-; }

# shellcheck disable=SC2120  # tests give arguments
# Prints how many bytes each limit of a cgroup leaves to this process. Pages of files do not count: the kernel drops
# them when programs need memory. left_in_cgroups [ROOT [FILE]]: other places than /sys/fs/cgroup and /proc/self/cgroup
left_in_cgroups() {
    local root=${1:-/sys/fs/cgroup} controllers path names limit used pages
    while IFS=: read -r _ controllers path; do
        if [ -z "$controllers" ]; then
            names=(memory.max memory.current '(in)?active_file')
        elif [[ ,$controllers, == *,memory,* ]]; then
            root+=/memory names=(memory.limit_in_bytes memory.usage_in_bytes 'total_(in)?active_file')
        else
            continue
        fi
        while :; do
            limit=$(cat "$root$path/${names[0]}" 2>/dev/null) || limit=max
            if [ "$limit" != max ]; then
                used=$(cat "$root$path/${names[1]}") || used=0
                pages=$(awk -v name="^${names[2]}\$" '$1 ~ name { sum += $2 } END { printf "%d", sum }' "$root$path/memory.stat") || pages=0
                echo $((limit - used + pages))
            fi
            [ -n "${path%/}" ] || break
            path=${path%/*}
        done
        root=${1:-/sys/fs/cgroup}
    done <"${2:-/proc/self/cgroup}"
}

# Prints how many compilers fit: a source with LibTorch's headers takes about 2 GB.
jobs_that_fit() {
    local cores memory
    cores=$(nproc)
    memory=$({ awk '/MemAvailable/ { printf "%.0f\n", $2 * 1024 }' /proc/meminfo; left_in_cgroups "" 2>/dev/null; } |
        awk 'NR == 1 || $1 < least { least = $1 } END { print int(least / 2147483648) }')
    [ "$memory" -ge 1 ] || memory=1
    echo "${CMAKE_BUILD_PARALLEL_LEVEL:-$((cores < memory ? cores : memory))}"
}

find_nvcc() {
    local candidate home=${CUDA_HOME:-/usr/local/cuda}
    if [ -n "${CUDACXX:-}" ]; then command -v "$CUDACXX"; return; fi
    for candidate in "${CUDA_HOME:+$home/bin/nvcc}" "$(command -v nvcc)" "$home/bin/nvcc"; do
        if [ -x "$candidate" ]; then echo "$candidate"; return; fi
    done
    return 1
}

# The CUDA version of PyTorch from PyPI (scripts/requirements/torch-cuda.txt), and the driver that it requires.
# shellcheck disable=SC2034  # setup reads it
torch_cuda=13 least_driver=580

# True if the build in FOLDER has CUDA: built_with_cuda FOLDER
built_with_cuda() { grep -q -s -i -E '^DBENCH_CUDA:[A-Z]*=(ON|yes|1|TRUE)$' "$1/CMakeCache.txt"; }

# Prints why nothing can be built with CUDA here; prints nothing if it can. A LibTorch in TORCH_ROOT may have any CUDA
# version, which CMake checks.
no_cuda_because() {
    local nvcc release
    if ! nvcc=$(find_nvcc); then
        if [ -n "${CUDACXX:-}" ]; then echo "no $CUDACXX, which CUDACXX names"; return; fi
        echo "no nvcc in the search path or in ${CUDA_HOME:-/usr/local/cuda}/bin"
    elif [ -z "${TORCH_ROOT:-}" ]; then
        release=$("$nvcc" --version | sed -n 's/.*release \([0-9.]*\).*/\1/p') || true
        [ "${release%%.*}" = $torch_cuda ] || echo "$nvcc has CUDA ${release:-(unknown)}, and PyTorch from PyPI has CUDA $torch_cuda"
    fi
}

# Prints each reason for which tests were skipped, from logs of CTest.
skipped_tests() { sed -n -E '/^SKIPPED \[|^ *skipped: /p' "$@" | sed 's/^ *//' | sort -u; }

# Prints the skipped tests whose reason is neither a missing GPU, nor a CUDA build that this run did not make, nor
# missing data if DBENCH_DATA is not set, nor MNIST; false if there are none.
unexplained_skips() {
    local fine='no CUDA device|this build has no CUDA|there is a card'
    [ -n "${DBENCH_CUDA_PROGRAM:-}" ] || fine+='|no CUDA build|where nvcc is present'
    [ -n "${DBENCH_TORCH_PYTHON:-}" ] || fine+='|DBENCH_TORCH_PYTHON'
    # A folder of real data may lack MNIST: the tests of Fashion-MNIST read the same format.
    [ -n "${DBENCH_DATA:-}" ] && fine+='|mnist is not in' || fine+='|DBENCH_DATA'
    skipped_tests "$@" | grep -v -E "$fine"
}

# Prints mpirun with the options that Open MPI requires for more ranks than cores, and for root in a container.
mpi_command() {
    local command=mpirun
    if mpirun --version 2>/dev/null | grep -q -E 'Open MPI|OpenRTE|prte'; then
        command+=' --oversubscribe --bind-to none'
        [ "$(id -u)" -ne 0 ] || command+=' --allow-run-as-root'
    fi
    echo "$command"
}

# Runs a command that downloads into FOLDER, and prints its progress from time to time:
#   with_progress MEGABYTES FOLDER command...
with_progress() {
    local total=$1 folder=$2 status=0 watcher
    shift 2
    watch_folder "$total" "$folder" &
    watcher=$!
    "$@" || status=$?
    kill $watcher 2>/dev/null || true
    wait $watcher 2>/dev/null || true
    end_progress
    return $status
}

watch_folder() {
    local total=$1 folder=$2 before now began=$SECONDS
    said_last=$began before=$(megabytes_in "$folder")
    while sleep 1 && kill -0 $$ 2>/dev/null; do
        now=$(($(megabytes_in "$folder") - before))
        if [ $((now * 100)) -ge $((total * 97)) ]; then
            progress $began "$now MB downloaded, now unpacking"
        else
            progress $began "$((now > 0 ? now : 0)) of about $total MB downloaded"
        fi
    done
}

megabytes_in() {  # files may vanish in the meantime
    local size
    size=$(du -sm "$1" 2>/dev/null | cut -f1) || true
    echo "${size:-0}"
}

# Rewrites one line on a terminal; writes a line about every 10 seconds to a log: progress START TEXT
said_last=0
progress() {
    local spent=$((SECONDS - $1))
    if [ -t 1 ]; then
        printf '\r\033[K    %s, %d s' "$2" $spent
    elif [ $((SECONDS - said_last)) -ge 10 ]; then
        said_last=$SECONDS
        printf '    %s, %d s\n' "$2" $spent
    fi
}
end_progress() { [ ! -t 1 ] || printf '\r\033[K'; }

# Shows ninja's steps as progress, and the compiler's messages unchanged.
ninja_progress() {
    local line began=$SECONDS said_last=$SECONDS told='' made all left
    while IFS= read -r line; do
        if [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\  ]]; then
            made=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}
            if [ -z "$told" ] && [ "$all" -gt 9 ]; then
                told=yes began=$SECONDS said_last=$SECONDS
                say "$all steps: about $(((all * seconds_a_step / $1 + 59) / 60)) min on $1 cores, less with ccache"
            fi
            left=$(((SECONDS - began) * (all - made) / (made > 0 ? made : 1)))
            progress "$began" "step $made of $all, about $left s left"
        else
            end_progress
            printf '%s\n' "$line"
        fi
    done
    end_progress
}
seconds_a_step=5  # measured on one core of a processor of 2023
