//! Several engines in one process over a network that is bad on purpose.

mod hostile;
mod protocols;
mod support;
mod traffic;
