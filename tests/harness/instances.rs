//! The transport instances: each runs the whole conformance suite. A new transport adds rows here.

use std::process::Command;
use std::sync::LazyLock;

/// A transport with its settings.
pub(crate) struct Instance {
    /// What cases show.
    pub name: &'static str,
    /// The settings that make it so.
    pub environment: &'static [(&'static str, &'static str)],
    /// Whether it is the transport as users have it; heavy programs run under this alone.
    pub default: bool,
    /// How the names of the programs begin that run under it; all run if there is none.
    pub programs: &'static [&'static str],
    /// For which of a program's numbers of ranks it is tried.
    pub ranks: Ranks,
}

/// Which of a program's numbers of ranks an instance runs: so many of those up to a limit, others for the next program and the next
/// instance.
#[derive(Clone, Copy)]
pub(crate) struct Ranks {
    max: usize,
    count: usize,
}

impl Ranks {
    const ALL: Ranks = Ranks { max: usize::MAX, count: usize::MAX };
    /// A setting of a transport that is tried with all.
    const TWO: Ranks = Ranks { max: usize::MAX, count: 2 };
    /// A forced protocol or provider serves each pair of ranks by itself; what many ranks do together is tried with each transport.
    const ONE_OF_FEW: Ranks = Ranks { max: 4, count: 1 };

    /// Those up to a limit for which there is a reason.
    const fn up_to(max: usize) -> Ranks {
        Ranks { max, count: usize::MAX }
    }
}

/// The programs whose messages go another way under another protocol. Objects, files and Fortran's conversions take the same way under
/// all, as do the starts of processes and of connections.
const MESSAGES: &[&str] = &[
    "coll_",
    "comm",
    "file_access",
    "flood_",
    "intercomm",
    "large_",
    "oversubscribed",
    "p2p_",
    "part_transfer",
    "progress",
    "queue_",
    "rma_",
    "stress_",
    "threads_",
    "topo_graph",
    "type_transfer",
];

/// Shared memory with one of its ways forced.
const fn forced(name: &'static str, environment: &'static [(&'static str, &'static str)]) -> Instance {
    Instance { name, environment, default: false, programs: MESSAGES, ranks: Ranks::ONE_OF_FEW }
}

/// Another transport, with all programs.
const fn transport(name: &'static str, environment: &'static [(&'static str, &'static str)]) -> Instance {
    Instance { name, environment, default: false, programs: &[], ranks: Ranks::ALL }
}

impl Instance {
    /// Whether it sends over libfabric.
    pub(crate) fn needs_libfabric(&self) -> bool {
        self.environment.contains(&("TERN_TRANSPORT", "ofi"))
    }

    /// Those of a program's numbers of ranks for which it runs under this instance: `count` of them at most, or as many as it runs.
    pub(crate) fn ranks_of(&self, program: &str, numbers: &[usize], count: Option<usize>) -> Vec<usize> {
        let numbers: Vec<usize> = numbers.iter().copied().filter(|&ranks| ranks <= self.ranks.max).collect();
        let count = count.unwrap_or(self.ranks.count).min(numbers.len());
        // Any rule will do that gives different numbers, and the same ones in each run.
        let turn: usize = self.name.bytes().chain(program.bytes()).map(usize::from).sum();
        let chosen: Vec<usize> =
            (0..count).map(|k| (turn + k * numbers.len() / count) % numbers.len()).collect();
        numbers.iter().enumerate().filter(|(at, _)| chosen.contains(at)).map(|(_, &ranks)| ranks).collect()
    }

    /// Whether a program runs under it.
    pub(crate) fn runs(&self, program: &str) -> bool {
        self.programs.is_empty() || self.programs.iter().any(|start| program.starts_with(start))
    }
}

/// Whether the loader knows libfabric.
pub(crate) fn has_libfabric() -> bool {
    static FOUND: LazyLock<bool> = LazyLock::new(|| {
        let listed = Command::new("ldconfig").arg("-p").output();
        listed.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("libfabric.so.1"))
    });
    *FOUND
}

/// Calls that are right must pass all checks: those of collectives and windows, and of types wherever data moves.
const CHECKS: Instance = Instance {
    name: "checks",
    environment: &[("TERN_CHECK", "types,collectives,threads,windows")],
    default: false,
    programs: &[
        "coll_",
        "comm",
        "intercomm",
        "topo_",
        "type_",
        "session",
        "p2p_probe",
        "rma_windows",
        "rma_epochs",
        "rma_errors",
        "rma_passive",
        "rma_random",
    ],
    ranks: Ranks::TWO,
};

/// Connections that break all the time, encrypted and with all checksums.
const TCP_CUTS: Instance = Instance {
    name: "tcp-cuts",
    environment: &[
        ("TERN_TRANSPORT", "tcp"),
        ("TERN_TCP_CUTS", "100"),
        ("TERN_TCP_CHECKSUM", "all"),
        ("TERN_ENCRYPT", "1"),
        ("TERN_WINDOWS", "messages"),
    ],
    default: false,
    programs: &["coll_", "p2p_", "type_transfer", "large_message", "stress", "rma_"],
    ranks: Ranks::TWO,
};

/// Windows as between hosts, whatever shorter way there is.
const WINDOWS: Instance = Instance {
    name: "shm-windows",
    environment: &[("TERN_WINDOWS", "messages")],
    default: false,
    programs: &["rma_"],
    ranks: Ranks::TWO,
};
const TCP_WINDOWS: Instance = Instance {
    name: "tcp-windows",
    environment: &[("TERN_WINDOWS", "messages"), ("TERN_TRANSPORT", "tcp")],
    ..WINDOWS
};
const URTP_WINDOWS: Instance = Instance {
    name: "urtp-windows",
    environment: &[("TERN_WINDOWS", "messages"), ("TERN_TRANSPORT", "urtp")],
    ..WINDOWS
};

/// Messages move while programs compute, and calls meet the thread that moves them.
const THREAD: Instance = Instance {
    name: "shm-thread",
    environment: &[("TERN_PROGRESS", "thread")],
    default: false,
    programs: &["p2p_", "flood_large", "progress", "threads_", "coll_requests", "init_", "rma_"],
    ranks: Ranks::TWO,
};
const TCP_THREAD: Instance = Instance {
    name: "tcp-thread",
    environment: &[("TERN_TRANSPORT", "tcp"), ("TERN_PROGRESS", "thread")],
    ..THREAD
};

/// libfabric's providers in software, where it is installed.
const OFI: Instance = Instance {
    name: "ofi-rxm",
    environment: &[("TERN_TRANSPORT", "ofi"), ("TERN_OFI_PROVIDER", "tcp;ofi_rxm")],
    default: false,
    programs: &[
        "p2p_",
        "coll_",
        "comm",
        "intercomm",
        "rma_",
        "part_",
        "large_message",
        "stress",
        "flood_",
        "queue_",
        "session",
    ],
    ranks: Ranks::ALL,
};
/// Programs that do not send thousands of messages at once.
const WITHOUT_FLOODS: &[&str] = &[
    "p2p_blocking",
    "p2p_buffered",
    "p2p_buffered_session",
    "p2p_cancel",
    "p2p_cancel_send",
    "p2p_completion",
    "p2p_modes",
    "p2p_ordering",
    "p2p_persistent",
    "p2p_probe",
    "p2p_sendrecv",
    "coll_data",
    "session_after",
];
/// With two threads of this provider's own for each rank, a flood takes minutes on two cores.
const OFI_SOCKETS: Instance = Instance {
    name: "ofi-sockets",
    environment: &[("TERN_TRANSPORT", "ofi"), ("TERN_OFI_PROVIDER", "sockets")],
    programs: WITHOUT_FLOODS,
    ranks: Ranks::ONE_OF_FEW,
    ..OFI
};
/// A short one does not.
const OFI_SOCKETS_FLOODED: Instance = Instance { programs: &["p2p_nonblocking"], ..OFI_SOCKETS };

/// Where many ranks send at once, this provider loses packets (decision record 0025). Four do not bring it there.
const RXD_RANKS_MAX: usize = 4;
const OFI_RXD: Instance = Instance {
    name: "ofi-rxd",
    environment: &[("TERN_TRANSPORT", "ofi"), ("TERN_OFI_PROVIDER", "udp;ofi_rxd")],
    programs: WITHOUT_FLOODS,
    ranks: Ranks::up_to(RXD_RANKS_MAX),
    ..OFI
};
/// In a flood more than two do.
const OFI_RXD_FLOODED: Instance =
    Instance { programs: &["p2p_nonblocking"], ranks: Ranks::up_to(2), ..OFI_RXD };
const OFI_SHM: Instance = Instance {
    name: "ofi-shm",
    environment: &[("TERN_TRANSPORT", "ofi"), ("TERN_OFI_PROVIDER", "shm")],
    programs: &["p2p_", "flood_", "coll_data", "session_after"],
    ranks: Ranks::ONE_OF_FEW,
    ..OFI
};

/// Windows as between hosts: their memory is read and written without messages.
const OFI_WINDOWS: Instance = Instance {
    name: "ofi-windows",
    environment: &[
        ("TERN_TRANSPORT", "ofi"),
        ("TERN_OFI_PROVIDER", "tcp;ofi_rxm"),
        ("TERN_WINDOWS", "messages"),
    ],
    programs: &["rma_"],
    ranks: Ranks::TWO,
    ..OFI
};

/// The same over a provider that cannot take a receive while many packets wait for one.
const OFI_SHM_WINDOWS: Instance = Instance {
    name: "ofi-shm-windows",
    environment: &[("TERN_TRANSPORT", "ofi"), ("TERN_OFI_PROVIDER", "shm"), ("TERN_WINDOWS", "messages")],
    programs: &["rma_accumulate"],
    ..OFI
};

/// All instances. The forced ones send every message through one protocol, or starve one resource.
pub(crate) const INSTANCES: &[Instance] = &[
    Instance { name: "shm", environment: &[], default: true, programs: &[], ranks: Ranks::ALL },
    forced("shm-no-eager", &[("TERN_EAGER_MAX", "0")]),
    forced("shm-get", &[("TERN_EAGER_MAX", "64"), ("TERN_RENDEZVOUS", "get")]),
    forced("shm-put", &[("TERN_EAGER_MAX", "64"), ("TERN_RENDEZVOUS", "put")]),
    forced("shm-cooperative", &[("TERN_EAGER_MAX", "64"), ("TERN_RENDEZVOUS", "cooperative")]),
    forced("shm-stream", &[("TERN_EAGER_MAX", "64"), ("TERN_RENDEZVOUS", "stream")]),
    forced("shm-credits", &[("TERN_CREDIT_BYTES", "4096")]),
    forced("shm-no-cma", &[("TERN_CMA", "0")]),
    forced("shm-cells", &[("TERN_COPIES", "cells")]),
    forced("shm-kernel", &[("TERN_COPIES", "kernel")]),
    forced("shm-no-rings", &[("TERN_RINGS", "0")]),
    transport("tcp", &[("TERN_TRANSPORT", "tcp")]),
    TCP_CUTS,
    // Each rank counts as a machine, so collectives multicast.
    transport("urtp", &[("TERN_TRANSPORT", "urtp")]),
    WINDOWS,
    TCP_WINDOWS,
    URTP_WINDOWS,
    OFI,
    OFI_SOCKETS,
    OFI_SOCKETS_FLOODED,
    OFI_RXD,
    OFI_RXD_FLOODED,
    OFI_SHM,
    OFI_WINDOWS,
    OFI_SHM_WINDOWS,
    THREAD,
    TCP_THREAD,
    CHECKS,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn instance(ranks: Ranks) -> Instance {
        Instance { ranks, ..forced("x", &[]) }
    }

    #[test]
    fn ranks_are_few_and_others_for_other_programs() {
        let numbers = [1, 2, 3, 4, 6, 8];
        let ranks = |ranks, program, count| instance(ranks).ranks_of(program, &numbers, count);
        assert_eq!(ranks(Ranks::ALL, "a", None), numbers);
        assert_eq!(ranks(Ranks::up_to(3), "a", None), [1, 2, 3]);
        assert_eq!(ranks(Ranks::ONE_OF_FEW, "a", Some(usize::MAX)), [1, 2, 3, 4]);
        for (kind, count) in [(Ranks::ONE_OF_FEW, 1), (Ranks::TWO, 2)] {
            let all: Vec<Vec<usize>> = ["a", "b", "c"].map(|program| ranks(kind, program, None)).into();
            assert!(all.iter().all(|some| some.len() == count));
            assert!(all[0] != all[1] && all[1] != all[2]);
        }
        assert_eq!(instance(Ranks::TWO).ranks_of("a", &[2], None), [2]);
        assert!(instance(Ranks::ONE_OF_FEW).ranks_of("a", &[17], None).is_empty());
    }
}
