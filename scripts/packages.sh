# shellcheck shell=bash
# shellcheck disable=SC2154  # setup sets preset, cluster and tests
# System packages, sourced by setup. A package is installed only if what it provides is missing: an MPI, HDF5 or
# compiler from another place (a module, a prefix) is used as it is.

has_mpi() { has mpicc || { [ "$preset" = frontier-like ] && has CC; }; }  # Cray's wrapper compiles with MPI
has_catch2() { has_header catch2/catch.hpp || has_header catch2/catch_test_macros.hpp; }
has() { command -v "$1" >/dev/null; }
has_daemon() { PATH=$PATH:/usr/sbin:/sbin has "$1"; }
has_header() {
    local prefix more="${CMAKE_PREFIX_PATH:-}:${CPATH:-}:${HDF5_ROOT:-}"
    for prefix in /usr /usr/local ${more//[:;]/ }; do
        if [ -e "$prefix/include/$1" ] || [ -e "$prefix/$1" ]; then return 0; fi
    done
    return 1
}

missing=() helpful=()
want() {  # want PACKAGES... if TEST: records Debian's packages if the test fails
    local packages=()
    while [ "$1" != if ]; do packages+=("$1"); shift; done
    shift
    eval "$*" 2>/dev/null || missing+=("${packages[@]}")
}
# An optional package, installed only together with others; required if every test shall run.
also() {
    eval "$3" 2>/dev/null && return
    if [ "$every_test" = yes ]; then missing+=("$1"); else helpful+=("$1"); fi
}

every_test=no  # yes: also what only some tests use, which are skipped without it

find_missing() {
    missing=() helpful=()
    want build-essential if 'has c++ && has cc'
    want cmake if has cmake
    want ninja-build if has ninja
    want git if has git
    want python3 python3-venv if 'environment_works || find_python >/dev/null'
    want ca-certificates if 'test -e /etc/ssl/certs/ca-certificates.crt || test -d /etc/pki'
    want openmpi-bin libopenmpi-dev if has_mpi
    [ "$cluster" = yes ] || want openmpi-bin if has mpirun  # a cluster may start ranks with srun alone
    want libhdf5-dev if 'has_header hdf5.h || has_header hdf5/serial/hdf5.h || has h5cc || has h5pcc'
    want zlib1g-dev if has_header zlib.h
    want libjpeg-dev if has_header jpeglib.h
    want nlohmann-json3-dev if has_header nlohmann/json.hpp
    want libeigen3-dev if 'has_header eigen3/Eigen/Core || has_header Eigen/Core'
    want libcli11-dev if has_header CLI/CLI.hpp
    [ "$tests" = no ] || want catch2 if has_catch2
    also ccache if 'has ccache'
    also lld if 'has ld.lld'
    also xz-utils if 'has xz'
    also hdf5-tools if 'has h5dump'
    also shellcheck if 'has shellcheck'
    also clang-tidy if 'has clang-tidy'
    [ $every_test = yes ] || return 0
    want slurmctld if has_daemon slurmctld
    want slurmd if has_daemon slurmd
    want slurm-client if has srun
    want munge if has_daemon munged
    want iproute2 if 'has_daemon ip && has_daemon tc'
    want chromium if 'has chromium || has chromium-browser'
    want nodejs if has node
}

install_packages() {
    find_missing
    [ ${#missing[@]} -gt 0 ] || return 0
    local root=()
    if [ "$(id -u)" -ne 0 ]; then
        root=(sudo -n "--preserve-env=http_proxy,https_proxy,ftp_proxy,no_proxy")
        "${root[@]}" true 2>/dev/null || root=(sudo -n)  # not every sudo may keep variables
    fi
    if ! has apt-get; then
        fail "missing here, by the names of Debian's packages: ${missing[*]}. Install what corresponds to" \
            "them (on a cluster: load modules, set CMAKE_PREFIX_PATH), then run this again."
    elif ! "${root[@]}" true 2>/dev/null; then
        fail "packages are missing and this user may not install them (neither root nor sudo without a" \
            "password). Have them installed, then run this again: sudo apt-get install ${missing[*]}"
    fi
    "${root[@]}" apt-get update -qq || fail "apt-get update failed (its message is above): ${missing[*]} cannot be" \
        "installed without a network or a mirror in /etc/apt"
    local package
    for package in "${helpful[@]}"; do
        if apt-cache show "$package" >/dev/null 2>&1; then missing+=("$package"); fi
    done
    local size
    size=$(apt-get install -y -qq --no-install-recommends --print-uris "${missing[@]}" | awk '{ s += $3 } END { print int(s / 1e6) + 1 }') || size=1
    say "installing ${missing[*]} ($size MB with what they need)"
    with_progress "$size" /var/cache/apt/archives "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        -o DPkg::Lock::Timeout=300 "${missing[@]}" >/dev/null ||
        fail "apt-get install failed (its message is above), so these are missing: ${missing[*]}"
}
