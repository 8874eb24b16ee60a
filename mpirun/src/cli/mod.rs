//! The command line: what users of `mpirun` and of other launchers write.

pub mod dashes;
pub mod definition;
mod foreign;
pub mod habits;
pub mod manual;
pub mod options;
pub mod standard;
pub mod table;
