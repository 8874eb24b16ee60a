//! The command line: what users of `mpirun` and of other launchers write.

pub(crate) mod dashes;
pub(crate) mod definition;
mod foreign;
pub(crate) mod habits;
pub(crate) mod manual;
pub(crate) mod options;
pub(crate) mod standard;
pub(crate) mod table;
