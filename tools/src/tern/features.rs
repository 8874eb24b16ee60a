//! What of the kernel Tern uses, tried.

use std::fs::read_to_string;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::thread::{ClockId, MembarrierCommand, futex, membarrier_query};

use crate::probe;

/// A feature of the kernel.
pub(crate) struct Feature {
    /// Its name.
    pub name: &'static str,
    /// Whether it may be used here; if not, why.
    pub found: Result<(), String>,
    /// What Tern does with it, and what without it.
    pub meaning: &'static str,
}

/// All of them.
pub(crate) fn features(memory_can_be_read: Result<(), String>) -> Vec<Feature> {
    vec![
        Feature {
            name: "memfd",
            found: memfd_create("tern-info", MemfdFlags::CLOEXEC).map(drop).map_err(describe),
            meaning: "shared memory of a job; without it only jobs of one rank run",
        },
        Feature {
            name: "process_vm_readv",
            found: memory_can_be_read,
            meaning: "one copy of large messages; without it they are copied twice, through shared memory",
        },
        Feature {
            name: "membarrier",
            found: if membarrier_query().contains_command(MembarrierCommand::GlobalExpedited) {
                Ok(())
            } else {
                Err("not in this kernel".into())
            },
            meaning: "senders need no fence; without it each message costs one",
        },
        Feature {
            name: "futex_waitv",
            found: match futex::waitv(&[], futex::WaitvFlags::empty(), None, ClockId::Monotonic) {
                Err(error @ (Errno::NOSYS | Errno::PERM)) => Err(describe(error)),
                _ => Ok(()),
            },
            meaning: "one call wakes all who wait in a collective; without it they are rung one by one",
        },
    ]
}

/// Whether the ranks of a job on this machine can read each other's memory.
pub(crate) fn memory_can_be_read() -> Result<(), String> {
    probe::memory_can_be_read().map_err(|reason| match guess(&reason) {
        Some(cause) => format!("{reason} ({cause})"),
        None => reason,
    })
}

/// Why the kernel may have refused.
fn guess(reason: &str) -> Option<&'static str> {
    let scope = read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let status = read_to_string("/proc/self/status").unwrap_or_default();
    let filtered = status.lines().any(|line| line.split_whitespace().eq(["Seccomp:", "2"]));
    match scope.trim() {
        "2" | "3" => Some("the system's kernel.yama.ptrace_scope forbids it"),
        _ if filtered && reason != "ESRCH" => {
            Some("a seccomp filter is in force; containers: --cap-add=SYS_PTRACE")
        }
        _ => None,
    }
}

fn describe(error: Errno) -> String {
    std::io::Error::from(error).to_string()
}
