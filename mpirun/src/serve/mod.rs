//! What ranks ask while they start: the addresses of their peers, and PMI-1.

pub(crate) mod answers;
pub(crate) mod directory;
pub(crate) mod names;
pub(crate) mod pmi;
pub(crate) mod spawning;
