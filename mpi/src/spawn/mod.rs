//! Processes that start or meet later (MPI 5.0 sections 11.8 to 11.10).
//!
//! | file | what it does |
//! |---|---|
//! | `start.rs`, `soft.rs` | `MPI_Comm_spawn`: a world that the launcher starts |
//! | `ports.rs`, `names.rs` | ports, and services by name |
//! | `connect.rs`, `join.rs` | two groups meet: accept, connect, join |
//! | `introduce.rs` | what they tell each other |
//! | `object.rs`, `worlds.rs` | what this process knows of other worlds; meeting them, and parting from them |

mod argv;
pub(crate) mod connect;
pub(crate) mod introduce;
mod join;
mod names;
mod object;
mod ports;
mod soft;
pub(crate) mod start;
mod worlds;

pub(crate) use object::Worlds;
pub(crate) use worlds::{Hosts, chance, leave_together, part, watches};
