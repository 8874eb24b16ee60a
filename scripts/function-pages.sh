#!/bin/sh
# Writes the API manual: a page of section 3 for each function of MPI, as in 'man MPI_Send'.
#
#   scripts/function-pages.sh FOLDER
#
# All of it stands in the sources once: C's prototypes in mpi.h, parameters in the table of the standard, Fortran's interfaces, and
# what a function does in the comment of its entry point.
set -eu

folder=${1:?usage: scripts/function-pages.sh FOLDER}
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$folder"
cd "$root"
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)

# shellcheck disable=SC2046
awk -v folder="$folder" -v version="$version" -f scripts/function-pages.awk \
    pass=prototypes abi/include/mpi.h \
    pass=interfaces fortran/interfaces/*.inc \
    pass=comments $(find mpi/src -name '*.rs' | sort) \
    pass=functions abi/tables/functions.tsv
