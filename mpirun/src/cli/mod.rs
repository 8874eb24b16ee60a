//! The command line: what users of `mpirun` and of other launchers write.

pub mod habits;
pub mod help;
pub mod options;
pub mod standard;
