//! Lines of the ranks on their way to the terminal, and standard input on its way to the ranks.

pub mod clock;
pub mod files;
pub mod lines;
pub mod outputs;
pub mod sink;
pub mod stdin;
pub mod stdin_pipes;
pub mod streams;
