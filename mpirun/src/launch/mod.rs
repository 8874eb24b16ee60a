//! Starting ranks and agents, and what a program needs before it can start.

pub mod abi;
pub mod elf;
pub mod environment;
pub mod family;
pub mod foreign;
pub mod late_names;
pub mod launcher;
pub mod loader;
pub mod presets;
pub mod program;
pub mod resources;
pub mod spawn;
pub mod watchdog;
