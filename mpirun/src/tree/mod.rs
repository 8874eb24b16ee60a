//! The agents of other hosts, and what they and `mpirun` say to each other.

pub(crate) mod agent;
pub(crate) mod channel;
pub(crate) mod children;
pub(crate) mod messages;
pub(crate) mod relay;
