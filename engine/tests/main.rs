//! Several engines in one process over a network that is bad on purpose.

mod casts;
mod direct;
mod hostile;
mod protocols;
mod support;
mod traffic;
