//! Several engines in one process over a network that is bad on purpose.

mod direct;
mod hostile;
mod multicast;
mod partitioned;
mod peers;
mod protocols;
mod support;
mod traffic;
