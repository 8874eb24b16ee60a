//! Starting ranks and agents, and what a program needs before it can start.

pub mod elf;
pub mod environment;
pub mod family;
pub mod foreign;
pub mod launcher;
pub mod loader;
pub mod resources;
pub mod spawn;
pub mod watchdog;
