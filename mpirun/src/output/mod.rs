//! Lines of the ranks on their way to the terminal, and standard input on its way to the ranks.

pub(crate) mod clock;
pub(crate) mod files;
pub(crate) mod lines;
pub(crate) mod outputs;
pub(crate) mod sink;
pub(crate) mod stdin;
pub(crate) mod stdin_pipes;
pub(crate) mod streams;
