#!/bin/sh
# Jobs under a real Slurm of several nodes (cluster.sh): how they start, and how they end.
#
#   tests/slurm/run.sh PREFIX
#
# PREFIX is an installed tree of Tern. The last line counts the cases. Where Slurm cannot run, all are skipped.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
passed=0
failed=0
skipped=0
# A job takes a second or two; what hangs must not stop the others.
job_seconds=60
# From the death of a rank to the end of the job, with the time that Slurm takes to end one. Its start is not counted: on a loaded
# machine Slurm may ask its own daemons again after seconds.
end_seconds=10

main() {
    [ $# -eq 1 ] || { echo "usage: tests/slurm/run.sh PREFIX" >&2; exit 2; }
    TERN_PREFIX=$(cd "$1" && pwd)
    export TERN_PREFIX
    WORK=$root/build/slurm
    export WORK
    rm -rf "$WORK"
    mkdir -p "$WORK"
    "$TERN_PREFIX/bin/mpicc" -o "$WORK/job" "$root/tests/jobs/job.c" -lpthread
    "$TERN_PREFIX/bin/mpicc" -o "$WORK/tour" "$root/tests/interop/abi_tour.c"
    "$TERN_PREFIX/bin/mpicc" -o "$WORK/after" "$root/tests/c/session_after.c"
    status=0
    timeout -k 10 580 "$root/tests/slurm/cluster.sh" -n 3 sh "$0" --cases || status=$?
    if [ "$status" -eq 77 ]; then
        echo "0 passed, 0 failed, 1 skipped"
        exit 0
    fi
    exit "$status"
}

cases() {
    mpirun=$TERN_PREFIX/bin/mpirun
    export JOB_WENT_WRONG="$WORK/went_wrong"
    for plugin in pmi2 pmix; do
        under "$plugin"
    done
    case_of "srun without PMI is refused" refused_without_pmi
    case_of "mpirun in salloc, from the login node" in_salloc
    case_of "mpirun in sbatch, from the first node" in_sbatch
    case_of "mpirun on a part of the allocation" on_a_part
    case_of "several mpiruns at once" several_at_once
    case_of "mpirun: a rank is killed" killed_below_mpirun
    case_of "scancel ends all" cancelled
    case_of "a time limit of mpirun ends the job" out_of_time
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
}

# What must hold under each of Slurm's plugins.
under() {
    plugin=$1
    if ! srun --mpi=list 2>&1 | grep -q -w "$plugin"; then
        skipped=$((skipped + 1))
        echo "skipped $plugin (Slurm has no such plugin here)"
        return
    fi
    case_of "$plugin: ranks of one node" one_node
    case_of "$plugin: ranks of three nodes" three_nodes
    case_of "$plugin: ranks that go round the nodes" round_the_nodes
    case_of "$plugin: sessions after MPI_Finalize" sessions_after
    case_of "$plugin: an abort" aborted
    case_of "$plugin: a rank is killed, others are on its node" killed_beside_others
    case_of "$plugin: a rank is killed, alone on its node" killed_alone
    case_of "$plugin: the first of a node is killed" killed_first
    case_of "$plugin: a rank ends without MPI_Finalize" left_early
    case_of "$plugin: a rank ends before MPI_Init" left_before
}

case_of() {
    name=$1
    shift
    : >"$WORK/output"
    if "$@" >"$WORK/case" 2>&1; then
        passed=$((passed + 1))
        echo "ok      $name"
    else
        failed=$((failed + 1))
        echo "FAILED  $name"
        sed 's/^/    /' "$WORK/case" "$WORK/output"
    fi
}

# run COMMAND...: leaves its output in a file, its exit status in `status` and its time in `took`, from when a rank went wrong if
# one did.
run() {
    began=$(date +%s)
    status=0
    rm -f "$JOB_WENT_WRONG"
    timeout -k 5 "$job_seconds" "$@" >"$WORK/output" 2>&1 || status=$?
    ended=$(date +%s)
    [ ! -e "$JOB_WENT_WRONG" ] || began=$(stat -c %Y "$JOB_WENT_WRONG")
    took=$((ended - began))
}

expect_lines() {
    found=$(grep -c -e "$2" "$WORK/output" || true)
    [ "$found" -eq "$1" ] || {
        echo "$found lines match '$2', not $1"
        return 1
    }
}

with_srun() {
    run srun -Q "--mpi=$plugin" "$@"
}

one_node() {
    with_srun -N1 -n3 "$WORK/job" shares && expect_lines 3 'shares with 3'
}

three_nodes() {
    with_srun -N3 -n6 --ntasks-per-node=2 "$WORK/tour" && [ "$status" -eq 0 ] && expect_lines 6 '^ok . of 6 on Tern'
    with_srun -N3 -n6 --ntasks-per-node=2 "$WORK/job" shares && expect_lines 6 'shares with 2'
}

round_the_nodes() {
    with_srun -N3 -n6 -m cyclic "$WORK/tour" && [ "$status" -eq 0 ] && expect_lines 6 '^ok . of 6 on Tern'
}

sessions_after() {
    with_srun -N3 -n6 -m cyclic "$WORK/after" && [ "$status" -eq 0 ] && expect_lines 1 '^ok [0-9]* checks'
}

aborted() {
    with_srun -N2 -n4 "$WORK/job" abort 7
    # Slurm cancels the step at once, and where it kills a rank before that has ended by itself, srun tells of that instead.
    { [ "$status" -eq 7 ] || { [ "$status" -gt 128 ] && grep -q 'Killed' "$WORK/output"; }; } &&
        expect_lines 1 'rank 1 aborts the job with code 7'
}

# ended_by PATTERN: the job has failed, soon, and said why.
ended_by() {
    [ "$status" -ne 0 ] && [ "$status" -ne 124 ] && [ "$took" -le "$end_seconds" ] && expect_lines 1 "$1" || {
        echo "status $status after $took s"
        return 1
    }
}

killed_beside_others() {
    with_srun -N2 -n4 -m block "$WORK/job" signal 9
    ended_by 'tern: rank 1 .*died'
}

# Nobody beside it can say more than that it is gone, and they wait for those who know more: srun may have ended the job by then,
# and names the task itself.
killed_alone() {
    with_srun -N3 -n3 "$WORK/job" signal 9
    said='tern: rank 1 has died'
    grep -q "$said" "$WORK/output" || said='^srun: error: [^ ]* task 1: Killed'
    ended_by "$said"
}

# Rank 1 is the first of the second node, where rank 4 is, too.
killed_first() {
    with_srun -N3 -n6 --ntasks-per-node=2 -m cyclic "$WORK/job" signal 9
    ended_by 'tern: rank 1 .*died'
}

left_early() {
    with_srun -N2 -n4 "$WORK/job" exit 0
    ended_by 'tern: rank 1 .*without MPI_Finalize'
}

# Nobody can know of it but Slurm, which tells nobody.
left_before() {
    starts="[ \$SLURM_PROCID != 1 ] || exit 5; exec $WORK/job hello"
    run timeout 14 srun -Q "--mpi=$plugin" -N2 -n3 sh -c "$starts"
    [ "$status" -ne 0 ] && expect_lines 1 "tern: rank 0 has waited 10 s .*'srun --kill-on-bad-exit'" || return 1
    with_srun -K -N2 -n3 sh -c "$starts"
    ended_by 'task 1: Exited with exit code 5'
}

refused_without_pmi() {
    run srun -Q --mpi=none -N2 -n2 "$WORK/job" hello
    [ "$status" -ne 0 ] && expect_lines 2 'srun --mpi=pmi2'
    expect_lines 0 'of 1$'
}

in_salloc() {
    run salloc -Q -N3 -n6 --ntasks-per-node=2 "$mpirun" "$WORK/tour"
    [ "$status" -eq 0 ] && expect_lines 6 '^ok . of 6 on Tern'
}

in_sbatch() {
    run sbatch -Q --wait -N3 -n6 --ntasks-per-node=2 -o "$WORK/batch" --wrap "$mpirun $WORK/job shares; $mpirun --display-map -n 1 true"
    cat "$WORK/batch" >>"$WORK/output"
    [ "$status" -eq 0 ] && expect_lines 6 'shares with 2' && expect_lines 1 'host n1: rank 0'
}

on_a_part() {
    run salloc -Q -N3 -n3 "$mpirun" --host n2:2,n3:1 --display-map "$WORK/job" hello
    [ "$status" -eq 0 ] && expect_lines 1 'host n2: ranks 0-1' && expect_lines 3 'of 3$' || return 1
    run salloc -Q -N2 -n2 "$mpirun" --host n9 "$WORK/job" hello
    [ "$status" -ne 0 ] && expect_lines 1 "'n9' is none of those"
}

several_at_once() {
    run salloc -Q -N2 -n4 sh -c "$mpirun $WORK/job slow & $mpirun $WORK/job slow & wait"
    expect_lines 2 '^done'
}

killed_below_mpirun() {
    run salloc -Q -N2 -n4 "$mpirun" "$WORK/job" signal 9
    ended_by 'rank 1 .*signal 9'
}

# A job that writes without end, and what is left of it after it was ended.
gone() {
    tries=0
    while pgrep -f "$WORK/job traffic" >/dev/null; do
        tries=$((tries + 1))
        [ "$tries" -lt 100 ] || {
            echo "ranks are left: $(pgrep -a -f "$WORK/job traffic")"
            return 1
        }
        sleep 0.1
    done
}

cancelled() {
    job=$(sbatch --parsable -N2 -n4 -o "$WORK/batch" --wrap "$mpirun $WORK/job traffic")
    tries=0
    until grep -q running "$WORK/batch" 2>/dev/null; do
        tries=$((tries + 1))
        [ "$tries" -lt 300 ] || {
            echo "the job does not start: $(cat "$WORK/batch")"
            return 1
        }
        sleep 0.1
    done
    scancel "$job" && gone
}

# Slurm counts in minutes, which is long for a test.
out_of_time() {
    job=$(sbatch --parsable -N2 -n4 -o "$WORK/batch" --wrap "$mpirun --timeout 3 $WORK/job traffic")
    tries=0
    until [ "$(squeue -h -j "$job" -o %T 2>/dev/null)" = "" ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 300 ] || {
            echo "the job does not end: $(squeue -h -j "$job")"
            return 1
        }
        sleep 0.1
    done
    gone
}

if [ "${1:-}" = --cases ]; then
    cases
else
    main "$@"
fi
