//! What ranks ask while they start: the addresses of their peers, and PMI-1.

pub mod answers;
pub mod directory;
pub mod names;
pub mod pmi;
pub mod spawning;
