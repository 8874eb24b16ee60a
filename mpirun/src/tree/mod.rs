//! The agents of other hosts, and what they and `mpirun` say to each other.

pub mod agent;
pub mod channel;
pub mod children;
pub mod messages;
pub mod relay;
