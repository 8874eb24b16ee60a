//! What all chapters stand on: the process and its lock, entry points, handles, waiting, progress, settings.

pub mod arguments;
pub mod bad_memory;
pub mod boundary;
pub mod departure;
pub mod engine;
pub mod entry;
pub mod error;
#[path = "../../../compat/bridge/src/fellows.rs"]
pub mod fellows;
pub mod forked;
pub mod given;
pub mod handle;
pub mod lifeline;
pub mod multicast;
pub mod network;
pub mod panic;
pub mod process;
pub mod progress;
pub mod settings;
pub mod stdio;
pub mod table;
pub mod thread_level;
pub mod wait;
pub mod watch;
