#!/bin/sh
# Measures Tern, its peers and the raw limits of this machine in one run.
# usage: scripts/bench.sh PREFIX [--quick] [--only tern,raw] [--cases latency,barrier] …
# `make bench BENCH_OPTIONS="--quick"` passes the options on.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
PYTHONPATH="$root/bench" PYTHONDONTWRITEBYTECODE=1 \
    exec python3 -m driver --build "$root/build" "$@" ${BENCH_OPTIONS:-}
