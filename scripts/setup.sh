#!/usr/bin/env bash
# Checks that this machine has what building Tern needs; with `test`, what testing it needs too.
# As root on Debian or Ubuntu it installs what is missing; otherwise it prints the one command to type.
#
# usage: setup.sh [run|test]
set -euo pipefail

readonly purpose="${1:-test}"
# Conditions with several `let` need this compiler at least (Cargo.toml: rust-version).
readonly rust_minor_min=88
readonly rustup_command="curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile minimal --component rustfmt,clippy"

main() {
    export PATH="$PATH:$HOME/.cargo/bin"
    local packages=()
    find_missing_packages
    if ((${#packages[@]} > 0)); then install_packages "${packages[@]}"; fi
    if ! rust_is_recent; then install_rust; fi
    if [[ $purpose == test ]]; then
        check_rust_components
        add_cargo_deny
    fi
}

# Adds to `packages` the Debian names of what is absent.
find_missing_packages() {
    has gcc || packages+=(gcc libc6-dev)
    has make || packages+=(make)
    [[ $purpose == test ]] || return 0
    has g++ || packages+=(g++)
    has pkg-config || packages+=(pkg-config)
    # Counts the instructions of the path of 8 bytes.
    has apt-get && ! has valgrind && packages+=(valgrind)
    has python3 || packages+=(python3)
    python_has venv || packages+=(python3-venv)
    python_has headers || packages+=(python3-dev)
    # Its providers in software are what the transport over libfabric is tested with.
    has apt-get && ! has_library libfabric.so.1 && packages+=(libfabric1)
    note_fortran
    add_network_tools
    add_ssh_server
    add_slurm
}

# Only root can make the network namespaces in which jobs on several hosts are tested.
add_network_tools() {
    [[ $(id -u) == 0 ]] && has apt-get || return 0
    has ip && has tc && has ss || packages+=(iproute2)
    has nft || packages+=(nftables)
}

# Jobs over ssh are tested with a server that the test starts. Where an init system would make a service of it at once, which
# opens the machine to the network, whoever owns it has to decide.
add_ssh_server() {
    [[ $(id -u) == 0 && ! -d /run/systemd/system ]] && has apt-get || return 0
    [[ -x /usr/sbin/sshd ]] && has ssh || packages+=(openssh-server)
}

# Jobs under Slurm are tested in namespaces, so that nothing of the machine changes (tests/slurm). Its plugin for PMIx opens a link
# that only the package for developers has. Where an init system would make services of it, whoever owns the machine decides.
add_slurm() {
    [[ $(id -u) == 0 && ! -d /run/systemd/system ]] && has apt-get || return 0
    [[ -x /usr/sbin/slurmctld && -x /usr/sbin/slurmd && -x /usr/sbin/munged ]] && has srun ||
        packages+=(slurmctld slurmd slurm-client munge libpmix2 libpmix-dev libpmi2-0)
    has pgrep || packages+=(procps)
}

# A Fortran compiler is not required: without one its tests are left out. As root it comes along with the rest.
note_fortran() {
    has gfortran || has flang || has ifx && return 0
    if has apt-get && [[ $(id -u) == 0 ]]; then
        packages+=(gfortran)
    else
        echo "setup: no Fortran compiler (gfortran): Fortran programs are not tested" >&2
    fi
}

has() { command -v "$1" >/dev/null 2>&1; }

# Whether the loader knows a library.
has_library() { ldconfig -p | grep -q "$1"; }

python_has() {
    case $1 in
    venv) python3 -c 'import ensurepip, venv' ;;
    headers) python3 -c '
import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' ;;
    esac >/dev/null 2>&1
}

install_packages() {
    echo "setup: missing: $*"
    if has apt-get && [[ $(id -u) == 0 ]]; then
        echo "setup: installing with apt-get"
        apt-get update -qq
        # Nothing that is installed shall run as a service.
        without_services apt-get install -y -qq --no-install-recommends "$@" >/dev/null
    elif has apt-get; then
        stop_with "sudo apt-get install -y $*"
    else
        echo "setup: install these (Debian's names) with this system's package manager, then try again" >&2
        exit 1
    fi
}

# Starts none: invoke-rc.d asks a policy, and heeds the run level. A policy that the machine has is left as it is.
without_services() {
    local policy=/usr/sbin/policy-rc.d made=
    if [[ ! -e $policy ]]; then
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod 755 "$policy"
        made=yes
    fi
    local status=0
    RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive "$@" || status=$?
    if [[ -n $made ]]; then rm -f "$policy"; fi
    return "$status"
}

rust_is_recent() {
    has cargo && has rustc || return 1
    local version minor
    version="$(rustc --version | cut -d ' ' -f 2)"
    minor="$(cut -d . -f 2 <<<"$version")"
    [[ ${version%%.*} -gt 1 || $minor -ge $rust_minor_min ]]
}

install_rust() {
    echo "setup: missing: Rust 1.$rust_minor_min or newer"
    if [[ $(id -u) != 0 ]]; then stop_with "$rustup_command"; fi
    if apt_rust_is_recent; then
        install_packages cargo rustc rustfmt rust-clippy
    else
        has curl || install_packages curl ca-certificates
        echo "setup: installing with rustup (the package archive's Rust is too old)"
        bash -c "$rustup_command" >/dev/null
    fi
    rust_is_recent || { echo "setup: Rust was installed, but 'rustc' does not run" >&2; exit 1; }
}

apt_rust_is_recent() {
    has apt-cache || return 1
    local minor
    minor="$(apt-cache policy cargo | sed -n 's/^ *Candidate: *[^0-9]*1\.\([0-9]*\).*/\1/p')"
    [[ -n $minor && $minor -ge $rust_minor_min ]]
}

check_rust_components() {
    cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 && return 0
    if has rustup; then
        rustup component add rustfmt clippy
    elif [[ $(id -u) == 0 ]]; then
        install_packages rustfmt rust-clippy
    else
        stop_with "sudo apt-get install -y rustfmt rust-clippy"
    fi
}

# Judges the crates that come in (scripts/gates.sh). Without it that is left out: nothing else needs it.
add_cargo_deny() {
    cargo deny --version >/dev/null 2>&1 && return 0
    if [[ $(id -u) == 0 ]]; then
        echo "setup: installing cargo-deny (once)"
        # Quick to build matters more here than quick to run.
        cargo install --quiet --locked --debug cargo-deny && return 0
    fi
    echo "setup: no cargo-deny: licenses of crates are not checked ('cargo install --locked cargo-deny' brings it)" >&2
}

stop_with() {
    echo "setup: please type this, then try again:" >&2
    echo "    $1" >&2
    exit 1
}

main
