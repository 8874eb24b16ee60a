#!/bin/sh
# Compiles the examples with PREFIX/bin/mpicc and mpifort and runs them: heat on four ranks, a ping-pong on two.
# usage: scripts/run-examples.sh PREFIX [FOLDER]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
prefix=${1:?usage: scripts/run-examples.sh PREFIX [FOLDER]}
out=${2:-$root/build/examples}
mkdir -p "$out"

for program in hello heat pingpong montecarlo_pi mandelbrot spots; do
    "$prefix/bin/mpicc" -O3 "$root/examples/$program.c" -o "$out/$program" -lm
done

has_fortran() {
    command -v "${MPIFORT_FC:-gfortran}" >/dev/null 2>&1
}

if has_fortran; then
    "$prefix/bin/mpifort" -O3 -J "$out" "$root/examples/jacobi.f90" -o "$out/jacobi"
fi

job() {
    timeout 120 "$prefix/bin/mpirun" -n "$@"
}

job 4 "$out/hello"
echo
job 2 "$out/pingpong" "$out/pingpong.svg"
echo
job 4 "$out/montecarlo_pi" 20000000
echo
if has_fortran; then
    job 4 "$out/jacobi" "$out/jacobi.png"
    echo
else
    echo "no Fortran compiler (gfortran): the Fortran example is left out"
fi
job 4 "$out/mandelbrot" "$out/mandelbrot.png"
echo
# The second run goes on from the first one's checkpoint, on another number of ranks.
rm -f "$out/spots.checkpoint"
job 4 "$out/spots" "$out/spots.checkpoint" "$out/spots.png" 2000
job 3 "$out/spots" "$out/spots.checkpoint" "$out/spots.png" 2000
echo
job 4 "$out/heat" "$out/heat.png"
