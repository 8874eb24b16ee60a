#!/bin/sh
# The installed library exports every function of the standard twice, under its SONAME.
. "$(dirname "$0")/../common.sh"
cd "$here/../.."
job_seconds=300
library=$TERN_PREFIX/lib/libmpi_abi.so.1
run "${CARGO:-cargo}" run --quiet -p tern-abi --example exports -- "$library"
run readelf -d "$library"
expect_lines 1 'SONAME.*\[libmpi_abi.so.1\]'
