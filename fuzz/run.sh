#!/usr/bin/env bash
# Runs fuzz targets under libFuzzer, guided by coverage, with the stable compiler; needs g++.
#
#   fuzz/run.sh SECONDS [TARGET...]     each target (all, unless some are named) for so long; one line each
#   fuzz/run.sh list                    the targets
#
# What is found to be worth keeping stays in build/fuzz/TARGET and is used again; an input that breaks a target is kept there
# as crash-*, and the script fails.
set -euo pipefail

readonly root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
readonly work="$root/build/fuzz"
# What cargo-fuzz passes, without the sanitizer, which only a nightly compiler has.
readonly coverage="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1"

main() {
    [[ $# -ge 1 ]] || { sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2; }
    local host program
    host="$(rustc -vV | sed -n 's/^host: //p')"
    RUSTFLAGS="$coverage" CARGO_TARGET_DIR="$work/target" \
        cargo build --quiet --release --manifest-path "$root/fuzz/Cargo.toml" --target "$host"
    program="$work/target/$host/release/tern-fuzz"
    if [[ $1 == list ]]; then exec "$program"; fi
    local seconds=$1 failed=0
    shift
    [[ $# -gt 0 ]] || mapfile -t all < <("$program")
    for target in "${@:-${all[@]}}"; do
        run_one "$program" "$target" "$seconds" || failed=1
    done
    return "$failed"
}

run_one() {
    local program=$1 target=$2 seconds=$3 folder="$work/$2" log="$work/$2.log" status=0
    mkdir -p "$folder"
    TERN_FUZZ_TARGET="$target" TERN_FUZZ_SEEDS="$folder" "$program" "$folder" -artifact_prefix="$folder/crash-" \
        -max_total_time="$seconds" -max_len=8192 -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 >"$log" 2>&1 || status=$?
    local runs edges
    runs="$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")"
    edges="$(grep -o 'cov: [0-9]*' "$log" | tail -n 1)"
    printf '%-16s %12s executions  %-10s %s\n' "$target" "${runs:-?}" "$edges" \
        "$([[ $status == 0 ]] && echo 'no failure' || echo "FAILED, see $log")"
    return "$status"
}

main "$@"
