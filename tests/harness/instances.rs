//! The transport instances: each runs the whole conformance suite. A new transport adds rows here.

/// A transport with its settings.
pub struct Instance {
    /// What cases show.
    pub name: &'static str,
    /// The settings that make it so.
    pub environment: &'static [(&'static str, &'static str)],
    /// Whether it is the transport as users have it; heavy programs run under this alone.
    pub default: bool,
    /// How the names of the programs begin that run under it; all run if there is none.
    pub programs: &'static [&'static str],
}

const fn forced(name: &'static str, environment: &'static [(&'static str, &'static str)]) -> Instance {
    Instance { name, environment, default: false, programs: &[] }
}

impl Instance {
    /// Whether a program runs under it.
    pub fn runs(&self, program: &str) -> bool {
        self.programs.is_empty() || self.programs.iter().any(|start| program.starts_with(start))
    }
}

/// Calls that are right must pass all checks: those of collectives, and of types wherever data moves.
const CHECKS: Instance = Instance {
    name: "checks",
    environment: &[("TERN_CHECK", "types,collectives,threads")],
    default: false,
    programs: &["coll_", "comm", "intercomm", "topo_", "type_", "session", "p2p_probe"],
};

/// Connections that break all the time, encrypted and with all checksums.
const TCP_CUTS: Instance = Instance {
    name: "tcp-cuts",
    environment: &[
        ("TERN_TRANSPORT", "tcp"),
        ("TERN_TCP_CUTS", "100"),
        ("TERN_TCP_CHECKSUM", "all"),
        ("TERN_ENCRYPT", "1"),
    ],
    default: false,
    programs: &["coll_", "p2p_", "type_transfer", "large_message", "stress"],
};

/// Messages move while programs compute, and calls meet the thread that moves them.
const THREAD: Instance = Instance {
    name: "shm-thread",
    environment: &[("TERN_PROGRESS", "thread")],
    default: false,
    programs: &["p2p_", "flood_large", "progress", "threads_", "coll_requests", "init_"],
};
const TCP_THREAD: Instance = Instance {
    name: "tcp-thread",
    environment: &[("TERN_TRANSPORT", "tcp"), ("TERN_PROGRESS", "thread")],
    ..THREAD
};

/// All instances. The forced ones send every message through one protocol, or starve one resource.
pub const INSTANCES: &[Instance] = &[
    Instance { name: "shm", environment: &[], default: true, programs: &[] },
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
    forced("tcp", &[("TERN_TRANSPORT", "tcp")]),
    TCP_CUTS,
    // Each rank counts as a machine, so collectives multicast.
    forced("urtp", &[("TERN_TRANSPORT", "urtp")]),
    THREAD,
    TCP_THREAD,
    CHECKS,
];
