#!/bin/sh
# Compiles the examples with PREFIX/bin/mpicc and runs them: heat on four ranks, a ping-pong on two.
# usage: scripts/run-examples.sh PREFIX [FOLDER]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
prefix=${1:?usage: scripts/run-examples.sh PREFIX [FOLDER]}
out=${2:-$root/build/examples}
mkdir -p "$out"

for program in hello heat pingpong montecarlo_pi; do
    "$prefix/bin/mpicc" -O3 "$root/examples/$program.c" -o "$out/$program" -lm
done

job() {
    timeout 120 "$prefix/bin/mpirun" -n "$@"
}

job 4 "$out/hello"
echo
job 2 "$out/pingpong" "$out/pingpong.svg"
echo
job 4 "$out/montecarlo_pi" 20000000
echo
job 4 "$out/heat" "$out/heat.png"
