//! What all chapters stand on: the process and its lock, entry points, handles, waiting, progress, settings.

pub(crate) mod arguments;
pub(crate) mod bad_memory;
pub(crate) mod boundary;
pub(crate) mod departure;
pub(crate) mod engine;
pub(crate) mod entry;
pub(crate) mod error;
pub(crate) mod forked;
pub(crate) mod given;
pub(crate) mod handle;
pub(crate) mod lifeline;
pub(crate) mod multicast;
pub(crate) mod network;
pub(crate) mod panic;
pub(crate) mod process;
pub(crate) mod progress;
pub(crate) mod settings;
pub(crate) mod stdio;
pub(crate) mod table;
pub(crate) mod thread_level;
pub(crate) mod wait;
pub(crate) mod watch;
