//! Starting ranks and agents, and what a program needs before it can start.

pub(crate) mod abi;
pub(crate) mod elf;
pub(crate) mod environment;
pub(crate) mod family;
pub(crate) mod foreign;
pub(crate) mod late_names;
pub(crate) mod launcher;
pub(crate) mod leftovers;
pub(crate) mod loader;
pub(crate) mod machine;
pub(crate) mod presets;
pub(crate) mod program;
pub(crate) mod resources;
pub(crate) mod spawn;
pub(crate) mod symbols;
pub(crate) mod watchdog;
