//! What the engine's tests share: a bad network, memory that notices who touches it, an oracle of matching.

pub(crate) mod attacker;
pub(crate) mod datagrams;
pub(crate) mod job;
pub(crate) mod machine;
pub(crate) mod machines;
pub(crate) mod memory;
pub(crate) mod net;
pub(crate) mod oracle;
pub(crate) mod rng;
pub(crate) mod sockets;
pub(crate) mod tap;
