//! Endpoints over a network that loses, doubles, delays and reorders packets, in virtual time, everything drawn from a seed.
//!
//! An oracle knows what each rank must get from each other, in which order; what a test finds it names with the seed.
//! `TERN_URTP_SEEDS=100000 cargo test -p tern-urtp --release --test sim` tries more of them.
#![forbid(unsafe_code)]

mod ending;
mod hostile;
mod large;
mod leave;
mod measured;
mod network;
mod random;
mod wall;
mod world;
