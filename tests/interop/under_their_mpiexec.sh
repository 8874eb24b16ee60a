# What cases that start Tern's programs under another launcher have in common.

# try_launcher MPIEXEC: with shared memory and over sockets, and how a job ends that fails.
try_launcher() {
    "$mpicc" -o "$WORK/abi_tour" "$here/abi_tour.c"
    for transport in auto tcp; do
        run env TERN_TRANSPORT="$transport" "$1" -n 4 "$WORK/abi_tour"
        expect_lines 4 '^ok . of 4 on Tern'
    done
    run "$1" -n 1 "$WORK/abi_tour"
    expect_lines 1 '^ok 0 of 1 on Tern'

    # Without MPI_Init there is no MPI_Finalize either, and still the launcher must not take the ranks for failed.
    "$mpicc" -o "$WORK/session" "$here/only_session.c"
    run "$1" -n 3 "$WORK/session"
    expect_lines 3 '^sum 3'

    # After MPI_Finalize such a launcher tells nobody how the others are reached.
    "$mpicc" -o "$WORK/session_after" "$here/../c/session_after.c"
    for transport in auto tcp; do
        run env TERN_TRANSPORT="$transport" "$1" -n 4 "$WORK/session_after"
    done

    "$mpicc" -o "$WORK/job" "$here/../jobs/job.c"
    # The launcher's answer to the end of MPI is waited for, whatever interrupts that.
    end_of "$1" ticks
    [ "$status" -eq 0 ] || fail "a job whose ranks get signals ended with $status: $(cat "$WORK/output")"
    # Without its descriptors a rank cannot tell that it ends well. Launchers may end it before it can say why.
    end_of "$1" closes
    [ "$status" -ne 0 ] && [ "$status" -ne 124 ] || fail "descriptors closed: ended with $status: $(cat "$WORK/output")"
    end_of "$1" abort 7
    [ "$status" -eq 7 ] || fail "an abort with 7 ended with $status: $(cat "$WORK/output")"
    # What such a launcher makes of the status of a rank that ends early is its own affair.
    end_of "$1" exit 7
    [ "$status" -ne 0 ] && [ "$status" -ne 124 ] || fail "an exit ended with $status: $(cat "$WORK/output")"
    end_of "$1" signal 9
    [ "$status" -ne 0 ] && [ "$status" -ne 124 ] || fail "a killed rank ended with $status: $(cat "$WORK/output")"
    [ "$took" -le "$end_seconds" ] || fail "a job whose rank was killed ended after $took s"
    # Some launchers end the others before one of them can speak, and name the process themselves.
    grep -a -q -i -e 'rank 1 ' -e 'PID [0-9]' "$WORK/output" || fail "nobody names the killed rank: $(cat "$WORK/output")"
}

# From the start of a job whose rank dies at once to its end, on a machine that has more to do.
end_seconds=10

# end_of MPIEXEC WORDS...: leaves the exit status of a job in `status`, and its seconds in `took`.
end_of() {
    mpiexec=$1
    shift
    status=0
    began=$(date +%s)
    timeout "$job_seconds" "$mpiexec" -n 4 "$WORK/job" "$@" >"$WORK/output" 2>&1 || status=$?
    took=$(($(date +%s) - began))
}
