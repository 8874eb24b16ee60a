//! What the engine's tests share: a bad network, memory that notices who touches it, an oracle of matching.

pub mod attacker;
pub mod datagrams;
pub mod job;
pub mod machine;
pub mod machines;
pub mod memory;
pub mod net;
pub mod oracle;
pub mod rng;
pub mod sockets;
pub mod tap;
