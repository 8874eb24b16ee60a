//! Buffers whose memory cannot be used: an error at both ends that says where, and the messages around it come whole.

use std::path::Path;

use super::common::{Jobs, Test, Verdict, expect, expect_code, passed, run_command};
use crate::compile::compile;

/// The tests of this file.
pub(super) const TESTS: &[Test] = &[
    Test { name: "a send buffer that cannot be read", run: unreadable },
    Test { name: "a receive buffer that cannot be written", run: unwritable },
];

/// Settings under which the kernel copies, or is asked before this library does.
const WAYS: &[Way] = &[
    &[("TERN_TRANSPORT", "tcp"), ("TERN_PEER_TIMEOUT", "5")],
    &[("TERN_TRANSPORT", "tcp"), ("TERN_PROGRESS", "thread")],
    &[("TERN_TRANSPORT", "tcp"), ("TERN_ENCRYPT", "1")],
    &[("TERN_TRANSPORT", "tcp"), ("TERN_TCP_CHECKSUM", "all")],
    &[("TERN_RENDEZVOUS", "get"), ("TERN_COPIES", "kernel")],
    &[("TERN_RENDEZVOUS", "cooperative"), ("TERN_COPIES", "kernel")],
    &[("TERN_RENDEZVOUS", "put"), ("TERN_COPIES", "kernel")],
];

/// Eager and in fragments; from the first byte on, and later.
const SIZES: &[Size] = &[["1000000", "0"], ["1000000", "500000"], ["12000000", "0"], ["12000000", "5000000"]];

/// Over TCP the kernel sees what is short before this library copies it.
const SHORT: &[Size] = &[["100", "0"], ["3000", "0"], ["60000", "0"]];

/// What this library copies itself: it asks for the first byte.
const STREAMED: [(Way, &Size); 1] = [(&[("TERN_RENDEZVOUS", "stream")], &["1000000", "0"])];

/// Variables of the environment.
type Way = &'static [(&'static str, &'static str)];
/// Bytes of a message, and how many of them there are before its memory ends.
type Size = [&'static str; 2];

fn unreadable(jobs: &Jobs<'_>) -> Verdict {
    let program = program(jobs)?;
    let long = WAYS.iter().flat_map(|way| SIZES.iter().map(move |size| (*way, size)));
    let short = SHORT.iter().map(|size| (WAYS[0], size));
    for (way, size) in long.chain(short).chain(STREAMED) {
        let stdout = outcome(jobs, &program, way, "send", size)?;
        let bytes = size[0];
        said(&stdout, 0, &format!("{OWN}{bytes} bytes at 0x"), way)?;
        said(&stdout, 1, PEERS, way)?;
    }
    passed()
}

fn unwritable(jobs: &Jobs<'_>) -> Verdict {
    let program = program(jobs)?;
    for way in WAYS {
        // Encrypted, what comes is copied by this library: it sees only where a fragment begins.
        let sealed = way.contains(&("TERN_ENCRYPT", "1"));
        for size in SIZES.iter().filter(|size| !sealed || size[1] == "0") {
            let says = format!("{OWN}{} bytes at 0x", size[0]);
            said(&outcome(jobs, &program, way, "receive", size)?, 1, &says, way)?;
        }
    }
    passed()
}

const OWN: &str = "this process cannot use the memory of its buffer, ";
const PEERS: &str = "the message did not come over, since the other rank cannot use the memory of its buffer";

fn program(jobs: &Jobs<'_>) -> Result<std::path::PathBuf, String> {
    compile(jobs.options, &jobs.options.root.join("tests/jobs/memory.c"))
}

/// What the ranks print; the messages before and after come whole, and the job ends well.
fn outcome(
    jobs: &Jobs<'_>,
    program: &Path,
    way: &[(&str, &str)],
    who: &str,
    size: &[&str; 2],
) -> Result<String, String> {
    let mut mpirun = jobs.mpirun(2);
    let outcome = run_command(mpirun.envs(way.iter().copied()).arg(program).arg(who).args(size))?;
    expect_code(&outcome, 0).map_err(|why| format!("{way:?} {who} {size:?}: {why}"))?;
    for fine in ["rank 0: before", "rank 0: after", "rank 1: before", "rank 1: after"] {
        let line = format!("{fine}: : success");
        expect(outcome.stdout.contains(&line), &format!("{way:?} {who} {size:?}: {line:?}"), &outcome)?;
    }
    expect(outcome.stdout.contains("the others came whole"), &format!("{way:?}: they came whole"), &outcome)?;
    Ok(outcome.stdout)
}

/// The call of this rank whose message has bad memory ends with `MPI_ERR_BUFFER` and these words.
fn said(stdout: &str, rank: u32, words: &str, way: &[(&str, &str)]) -> Result<(), String> {
    let start = format!("rank {rank}: bad: MPI_ERR_BUFFER: ");
    let found = stdout.lines().any(|line| line.starts_with(&start) && line.contains(words));
    if found { Ok(()) } else { Err(format!("{way:?}: rank {rank} does not say {words:?} in\n{stdout}")) }
}
