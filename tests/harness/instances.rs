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

/// Which of a program's numbers of ranks an instance runs.
#[derive(Clone, Copy)]
pub(crate) enum Ranks {
    /// All of them.
    All,
    /// Those up to a limit for which there is a reason.
    UpTo(usize),
    /// One of those up to four, another for the next program and the next instance. A forced protocol or provider serves each pair of
    /// ranks by itself; what many ranks do together is tried with each transport.
    OneOfFew,
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

/// The most ranks of [`Ranks::OneOfFew`].
const FEW_RANKS: usize = 4;

/// Shared memory with one of its ways forced.
const fn forced(name: &'static str, environment: &'static [(&'static str, &'static str)]) -> Instance {
    Instance { name, environment, default: false, programs: MESSAGES, ranks: Ranks::OneOfFew }
}

/// Another transport, with all programs.
const fn transport(name: &'static str, environment: &'static [(&'static str, &'static str)]) -> Instance {
    Instance { name, environment, default: false, programs: &[], ranks: Ranks::All }
}

impl Instance {
    /// Whether it sends over libfabric.
    pub(crate) fn needs_libfabric(&self) -> bool {
        self.environment.contains(&("TERN_TRANSPORT", "ofi"))
    }

    /// Those of a program's numbers of ranks for which it runs under this instance; with `each`, all up to the limit.
    pub(crate) fn ranks_of(&self, program: &str, numbers: &[usize], each: bool) -> Vec<usize> {
        let up_to = |max| numbers.iter().copied().filter(|&ranks| ranks <= max).collect();
        match self.ranks {
            Ranks::All => numbers.to_vec(),
            Ranks::UpTo(max) => up_to(max),
            Ranks::OneOfFew if each => up_to(FEW_RANKS),
            Ranks::OneOfFew => {
                let few: Vec<usize> = up_to(FEW_RANKS);
                // Any rule will do that gives different numbers, and the same ones in each run.
                let turn: usize = self.name.bytes().chain(program.bytes()).map(usize::from).sum();
                few.get(turn % few.len().max(1)).copied().into_iter().collect()
            }
        }
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
    ranks: Ranks::All,
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
    ranks: Ranks::All,
};

/// Windows as between hosts, whatever shorter way there is.
const WINDOWS: Instance = Instance {
    name: "shm-windows",
    environment: &[("TERN_WINDOWS", "messages")],
    default: false,
    programs: &["rma_"],
    ranks: Ranks::All,
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
    ranks: Ranks::All,
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
    ranks: Ranks::All,
};
/// Without programs that send thousands of messages at once: this provider's own thread may then turn for ever (docs/design/libfabric.md).
const OFI_SOCKETS: Instance = Instance {
    name: "ofi-sockets",
    environment: &[("TERN_TRANSPORT", "ofi"), ("TERN_OFI_PROVIDER", "sockets")],
    programs: &[
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
    ],
    ranks: Ranks::OneOfFew,
    ..OFI
};

/// Where many ranks send at once, this provider loses packets (decision record 0025). Four do not bring it there.
const RXD_RANKS_MAX: usize = 4;
const OFI_RXD: Instance = Instance {
    name: "ofi-rxd",
    environment: &[("TERN_TRANSPORT", "ofi"), ("TERN_OFI_PROVIDER", "udp;ofi_rxd")],
    programs: &["p2p_", "coll_data", "session_after"],
    ranks: Ranks::UpTo(RXD_RANKS_MAX),
    ..OFI
};
const OFI_SHM: Instance = Instance {
    name: "ofi-shm",
    environment: &[("TERN_TRANSPORT", "ofi"), ("TERN_OFI_PROVIDER", "shm")],
    programs: &["p2p_", "flood_", "coll_data", "session_after"],
    ranks: Ranks::OneOfFew,
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
    Instance { name: "shm", environment: &[], default: true, programs: &[], ranks: Ranks::All },
    forced("shm-no-eager", &[("TERN_EAGER_MAX", "0")]),
    forced("shm-get", &[("TERN_EAGER_MAX", "64"), ("TERN_RENDEZVOUS", "get")]),
    forced("shm-put", &[("TERN_EAGER_MAX", "64"), ("TERN_RENDEZVOUS", "put")]),
    forced("shm-both", &[("TERN_EAGER_MAX", "64"), ("TERN_RENDEZVOUS", "both")]),
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
    OFI_RXD,
    OFI_SHM,
    OFI_WINDOWS,
    OFI_SHM_WINDOWS,
    THREAD,
    TCP_THREAD,
    CHECKS,
];
