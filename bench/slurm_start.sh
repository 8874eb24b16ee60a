#!/bin/sh
# What Tern adds to srun of a program without MPI: from the start of the first process to the end of the last, in milliseconds.
#
#   tests/slurm/cluster.sh -n NODES bench/slurm_start.sh PREFIX NODES [RANKS [ROUNDS]]
#
# PREFIX is an installed tree of Tern. `nothing` does nothing, `raw_pmi` and `raw_pmix` leave and fetch a text without MPI, `hello` begins
# and ends MPI. They take turns; shown are least and median. How long srun itself takes says little: Slurm looks once a second whether
# the step before has ended.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
prefix=$(cd "$1" && pwd)
nodes=$2
ranks=${3:-64}
rounds=${4:-9}
work=$root/build/slurm-start
pmix=/usr/lib/$(uname -m)-linux-gnu/pmix2

main() {
    rm -rf "$work"
    mkdir -p "$work"
    echo 'int main(void) { return 0; }' >"$work/nothing.c"
    cc -o "$work/nothing" "$work/nothing.c"
    cc -o "$work/raw_pmi" "$root/bench/raw_pmi.c"
    cc -o "$work/raw_span" "$root/bench/raw_span.c"
    "$prefix/bin/mpicc" -o "$work/hello" "$root/bench/hello.c"
    cases="none.nothing pmi2.nothing pmi2.raw_pmi pmi2.hello pmix.nothing pmix.hello"
    if [ -e "$pmix/include/pmix.h" ]; then
        cc -o "$work/raw_pmix" "$root/bench/raw_pmix.c" -I "$pmix/include" -L "$pmix/lib" -lpmix -Wl,-rpath,"$pmix/lib"
        cases="$cases pmix.raw_pmix"
    fi
    round=0
    while [ "$round" -lt "$rounds" ]; do
        for what in $cases; do
            start "${what%.*}" "${what#*.}" >>"$work/$what.times"
        done
        round=$((round + 1))
    done
    for what in $cases; do
        sort -n "$work/$what.times" | awk -v what="$what" \
            '{ all[NR] = $1 } END { printf "%s: %.0f / %.0f\n", what, all[1], all[int((NR + 1) / 2)] }'
    done
}

# One job with the plugin $1 of the program $2: its span.
start() {
    rm -f "$work/span"
    srun -Q --mpi="$1" --overcommit -N "$nodes" -n "$ranks" "$work/raw_span" "$work/span" "$work/$2" >"$work/output"
    awk 'NR == 1 || $1 < began { began = $1 } $2 > ended { ended = $2 } END { print ended - began }' "$work/span"
}

main
