//! `TERN_CHECK`: collective calls that do not fit together are an error at every rank, not a hang; messages whose
//! types are not those of their receive are told from those that may be received so.

use std::process::Command;
use std::time::Duration;

use super::common::{Jobs, Test, Verdict, expect, expect_said, passed, run_command};
use crate::compile::compile;

/// The tests of this file.
pub(super) const TESTS: &[Test] = &[
    Test { name: "mismatched collectives", run: mismatched },
    Test { name: "mismatched collectives on an intercommunicator", run: mismatched_between_groups },
    Test { name: "mismatched collectives are fatal", run: fatal },
    Test { name: "a refused argument of a collective", run: refused },
    Test { name: "type signatures", run: types },
    Test { name: "a thread that may not call", run: stray_thread },
    Test { name: "two threads at once", run: two_threads },
];

/// With this many ranks Bruck's allgather has a round that is not full.
const RANKS: usize = 5;

/// What the last rank does otherwise, the error class of that, and what every rank must say about it.
const MISMATCHES: &[(&str, &str, &[&str])] = &[
    ("which", "MPI_ERR_OTHER", &["ranks 0-3 call MPI_Bcast(", "rank 4 calls MPI_Barrier()"]),
    ("form", "MPI_ERR_OTHER", &["ranks 0-3 call MPI_Barrier()", "rank 4 calls MPI_Ibarrier()"]),
    ("root", "MPI_ERR_ROOT", &["root 0); rank 4 calls MPI_Reduce(", "root 1)"]),
    (
        "count",
        "MPI_ERR_TRUNCATE",
        &["MPI_Allgather(4 bytes of MPI_INT)", "MPI_Allgather(8 bytes of MPI_INT)"],
    ),
    (
        "neighbors",
        "MPI_ERR_TRUNCATE",
        &["MPI_Neighbor_allgather(4 bytes of MPI_INT)", "MPI_Neighbor_allgather(8 bytes of MPI_INT)"],
    ),
    ("operation", "MPI_ERR_OP", &["MPI_SUM); rank 4", "MPI_MAX)"]),
    ("type", "MPI_ERR_TYPE", &["sends 4 bytes of MPI_INT", "receives 4 bytes of MPI_FLOAT"]),
    ("counts", "MPI_ERR_COUNT", &["recvcounts differ", "MPI_Reduce_scatter("]),
    ("nonblocking", "MPI_ERR_TRUNCATE", &["MPI_Iallreduce(8 bytes", "MPI_Iallreduce(12 bytes"]),
    ("persistent", "MPI_ERR_ROOT", &["MPI_Bcast_init(sends", "rank 4 calls MPI_Bcast_init("]),
    (
        "total",
        "MPI_ERR_TRUNCATE",
        &["MPI_Allgatherv(receives 20 bytes of MPI_INT)", "MPI_Allgatherv(receives 24 bytes of MPI_INT)"],
    ),
    ("inits", "MPI_ERR_OTHER", &["ranks 0-3 call MPI_Barrier_init()", "rank 4 calls MPI_Bcast_init()"]),
    ("split", "MPI_ERR_OTHER", &["call MPI_Comm_split()", "rank 4 calls MPI_Barrier()"]),
    ("free", "MPI_ERR_OTHER", &["ranks 0-3 call MPI_Barrier()", "rank 4 calls MPI_Comm_free()"]),
    (
        "disconnect",
        "MPI_ERR_OTHER",
        &["ranks 0-3 call MPI_Comm_free()", "rank 4 calls MPI_Comm_disconnect()"],
    ),
    ("idup", "MPI_ERR_OTHER", &["ranks 0-3 call MPI_Comm_idup()", "rank 4 calls MPI_Ibarrier()"]),
    (
        "dims",
        "MPI_ERR_TOPOLOGY",
        &[
            "the topology differs",
            "ranks 0-3 call MPI_Cart_create(dims [2, 2], periods [0, 0])",
            "rank 4 calls MPI_Cart_create(dims [1, 2], periods [0, 0])",
        ],
    ),
    ("transposed", "MPI_ERR_TOPOLOGY", &["ranks 0-3 call MPI_Cart_create(dims [1, 4]", "(dims [4, 1]"]),
    ("periods", "MPI_ERR_TOPOLOGY", &["dims [2, 2], periods [0, 0])", "dims [2, 2], periods [0, 1])"]),
    ("reorder", "MPI_ERR_TOPOLOGY", &["periods [0, 0])", "periods [0, 0], reorder)"]),
    (
        "edges",
        "MPI_ERR_TOPOLOGY",
        &[
            "MPI_Graph_create(index [1, 2], edges [1, 0])",
            "rank 4 calls MPI_Graph_create(index [1, 2], edges [0, 0])",
        ],
    ),
];

/// `mpirun`, with the check on, of the program that makes the mistake `what`.
fn command(jobs: &Jobs<'_>, ranks: usize, what: &str) -> Result<Command, String> {
    let program = compile(jobs.options, &jobs.options.root.join("tests/jobs/collectives.c"))?;
    let mut command = jobs.mpirun(ranks);
    command.env("TERN_CHECK", "collectives").args(["--timeout", "20"]).arg(program).arg(what);
    Ok(command)
}

/// Every rank of a job with errors that return must say all of `words`, and that all have come on.
fn expect_everywhere(jobs: &Jobs<'_>, ranks: usize, what: &str, words: &[&str]) -> Result<(), String> {
    let outcome = run_command(command(jobs, ranks, what)?.arg("return"))?;
    expect(outcome.success(), &format!("{what}: the job went on"), &outcome)?;
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    expect(lines.len() == ranks, &format!("{what}: every rank reports"), &outcome)?;
    for line in lines {
        let all = words.iter().all(|word| line.contains(word));
        expect(
            all && line.contains(&format!(" of {ranks}: ")),
            &format!("{what}: {line} says {words:?}"),
            &outcome,
        )?;
    }
    Ok(())
}

fn stray_thread(jobs: &Jobs<'_>) -> Verdict {
    let mut command = jobs.mpirun(2);
    command.env("TERN_CHECK", "threads").args(["--timeout", "20"]).arg(jobs.job()?).arg("stray");
    let outcome = run_command(&mut command)?;
    expect(!outcome.success() && outcome.took < Duration::from_secs(5), "the job ended at once", &outcome)?;
    let words = ["rank 0", "MPI_Recv was called by thread ", " (job)", "with MPI_THREAD_SINGLE"];
    expect_said(&outcome, &words)?;
    passed()
}

/// Whether the other thread is busy or asleep; over shared memory, where no lock is used, and where one keeps the library's own thread
/// apart.
fn two_threads(jobs: &Jobs<'_>) -> Verdict {
    let ways = [("TERN_TRANSPORT", "shm"), ("TERN_TRANSPORT", "tcp"), ("TERN_PROGRESS", "thread")];
    for (what, (name, value)) in
        ["overlap", "overlap-sleeping"].into_iter().flat_map(|what| ways.map(|way| (what, way)))
    {
        let mut command = jobs.mpirun(2);
        command.env(name, value).args(["--timeout", "20"]).arg(jobs.job()?).arg(what);
        let outcome = run_command(&mut command)?;
        let ended = format!("{what} with {name}={value}: the job ended");
        expect(!outcome.success() && outcome.took < Duration::from_secs(15), &ended, &outcome)?;
        let words =
            ["rank 0", "while another thread of this process is in a call", "MPI_THREAD_SINGLE, where"];
        expect_said(&outcome, &words)?;
        expect(!outcome.stderr.contains("panicked"), "no panic is shown", &outcome)?;
    }
    passed()
}

fn mismatched(jobs: &Jobs<'_>) -> Verdict {
    for (what, class, words) in MISMATCHES {
        expect_everywhere(jobs, RANKS, what, &[&[*class], *words].concat())?;
    }
    // Of two calls in different orders both are wrong; which of them a rank sees first is not told.
    expect_everywhere(jobs, RANKS, "order", &["class 16"])?;
    passed()
}

fn mismatched_between_groups(jobs: &Jobs<'_>) -> Verdict {
    expect_everywhere(
        jobs,
        4,
        "inter-length",
        &["MPI_ERR_TRUNCATE", "sends 8 bytes of MPI_INT, receives 4"],
    )?;
    expect_everywhere(jobs, 4, "inter-root", &["MPI_ERR_ROOT", "root MPI_ROOT", "of the remote group"])?;
    passed()
}

/// With the usual error handler the job ends, with one message that names both sides.
fn fatal(jobs: &Jobs<'_>) -> Verdict {
    for what in ["which", "nonblocking", "finalize"] {
        let outcome = run_command(&mut command(jobs, RANKS, what)?)?;
        expect(!outcome.success() && outcome.code() != Some(124), "the job was ended, in time", &outcome)?;
        expect_said(&outcome, &["ranks 0-3 call MPI_", "rank 4 calls MPI_"])?;
        let messages = outcome.stderr.matches("rank 4 calls").count();
        expect(messages == 1, "there is one message", &outcome)?;
    }
    passed()
}

/// What the last rank is refused: by which call, with which class, and what it is told itself.
const REFUSALS: &[(&str, &str, &str, &str)] = &[
    ("argument", "MPI_Bcast", "MPI_ERR_COUNT", "count is -1, but must not be negative"),
    ("grid-argument", "MPI_Cart_create", "MPI_ERR_DIMS", "has 6 places"),
    ("no-dup", "MPI_Comm_dup", "MPI_ERR_ARG", "newcomm is a null pointer"),
    ("no-dup-with-info", "MPI_Comm_dup_with_info", "MPI_ERR_ARG", "newcomm is a null pointer"),
    ("no-idup", "MPI_Comm_idup", "MPI_ERR_ARG", "newcomm is a null pointer"),
    ("no-request", "MPI_Comm_idup", "MPI_ERR_ARG", "request is a null pointer"),
    ("no-barrier", "MPI_Ibarrier", "MPI_ERR_ARG", "request is a null pointer"),
    ("no-init", "MPI_Barrier_init", "MPI_ERR_ARG", "request is a null pointer"),
    ("no-create", "MPI_Comm_create", "MPI_ERR_ARG", "newcomm is a null pointer"),
    ("no-group", "MPI_Comm_create", "MPI_ERR_GROUP", "MPI_GROUP_NULL"),
    ("no-split", "MPI_Comm_split", "MPI_ERR_ARG", "newcomm is a null pointer"),
    ("no-color", "MPI_Comm_split", "MPI_ERR_ARG", "color is -5"),
    ("no-split-type", "MPI_Comm_split_type", "MPI_ERR_ARG", "split_type is -5"),
    ("no-grid", "MPI_Cart_create", "MPI_ERR_ARG", "comm_cart is a null pointer"),
    ("no-graph", "MPI_Graph_create", "MPI_ERR_ARG", "comm_graph is a null pointer"),
    ("no-adjacent", "MPI_Dist_graph_create_adjacent", "MPI_ERR_ARG", "comm_dist_graph is a null pointer"),
    ("no-dist-graph", "MPI_Dist_graph_create", "MPI_ERR_ARG", "is -1"),
    ("no-leader", "MPI_Intercomm_create", "MPI_ERR_RANK", "local_leader is 5"),
    ("no-free", "MPI_Comm_free", "MPI_ERR_COMM", "a predefined communicator cannot be freed"),
];

/// A rank whose arguments are wrong gets its own error, the others learn of it, and all go on.
fn refused(jobs: &Jobs<'_>) -> Verdict {
    for (what, call, class, words) in REFUSALS {
        let outcome = run_command(command(jobs, RANKS, what)?.arg("return"))?;
        expect(outcome.success(), &format!("{what}: the job went on"), &outcome)?;
        let told = outcome.stdout.matches(&format!("rank 4 calls {call}() with {class}")).count();
        expect(told == RANKS - 1, &format!("{what}: the other ranks are told"), &outcome)?;
        expect(outcome.stdout.contains(words), &format!("{what}: the rank itself is"), &outcome)?;
    }
    passed()
}

/// What each case of the program comes to, in its order.
const TYPES: &[(&str, &str)] = &[
    ("the same", "fits"),
    ("less than there is room for", "fits"),
    ("in other portions", "fits"),
    ("only the beginning", "fits"),
    ("pairs of value and index", "fits"),
    ("one type by two names", "fits"),
    ("bytes", "fits"),
    ("another number", "8 bytes of MPI_INT, but the receive is for MPI_FLOAT"),
    ("another sign", "8 bytes of MPI_INT, but the receive is for MPI_UNSIGNED"),
    ("another width", "16 bytes of MPI_UNSIGNED_SHORT, but the receive is for MPI_UNSIGNED"),
    ("another order", "a mix of basic types, but the receive is for MPI_FLOAT_INT"),
    ("more than the beginning", "8 bytes of MPI_INT, but the receive is for another sequence"),
    ("a mix into one kind", "a mix of basic types, but the receive is for MPI_INT"),
];

fn types(jobs: &Jobs<'_>) -> Verdict {
    let program = compile(jobs.options, &jobs.options.root.join("tests/jobs/types.c"))?;
    // Unexpected messages, posted receives and offers have each their own way to the comparison.
    for eager in ["0", "4096"] {
        let mut command = jobs.mpirun(2);
        command.env("TERN_CHECK", "types").env("TERN_EAGER_MAX", eager).arg(&program);
        let outcome = run_command(&mut command)?;
        let lines: Vec<&str> = outcome.stdout.lines().collect();
        expect(lines.len() == TYPES.len(), "every case reports", &outcome)?;
        for (line, (name, words)) in lines.iter().zip(TYPES) {
            let right = line.starts_with(&format!("{name}: ")) && line.contains(words);
            expect(right, &format!("{name}: {words}"), &outcome)?;
        }
    }
    passed()
}
