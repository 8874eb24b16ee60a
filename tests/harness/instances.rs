//! The transport instances: each runs the whole conformance suite. A new transport adds rows here.

/// A transport with its settings.
pub struct Instance {
    /// What cases show.
    pub name: &'static str,
    /// The settings that make it so.
    pub environment: &'static [(&'static str, &'static str)],
    /// Whether it is the transport as users have it; heavy programs run under this alone.
    pub default: bool,
}

const fn forced(name: &'static str, environment: &'static [(&'static str, &'static str)]) -> Instance {
    Instance { name, environment, default: false }
}

/// All instances. The forced ones send every message through one protocol, or starve one resource.
pub const INSTANCES: &[Instance] = &[
    Instance { name: "shm", environment: &[], default: true },
    forced("shm-no-eager", &[("TERN_EAGER_MAX", "0")]),
    forced("shm-get", &[("TERN_EAGER_MAX", "64"), ("TERN_RENDEZVOUS", "get")]),
    forced("shm-put", &[("TERN_EAGER_MAX", "64"), ("TERN_RENDEZVOUS", "put")]),
    forced("shm-both", &[("TERN_EAGER_MAX", "64"), ("TERN_RENDEZVOUS", "both")]),
    forced("shm-stream", &[("TERN_EAGER_MAX", "64"), ("TERN_RENDEZVOUS", "stream")]),
    forced("shm-credits", &[("TERN_CREDIT_BYTES", "4096")]),
    forced("shm-no-cma", &[("TERN_CMA", "0")]),
    forced("shm-no-rings", &[("TERN_RINGS", "0")]),
];
