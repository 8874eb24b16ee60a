//! The simulator: real engines and real schedules for every rank of a job, in one process, on one core, in virtual time.
//!
//! What the library would do, each simulated rank does: it builds its schedule ([`tern_coll::build`]), executes it over
//! its own [`tern_engine::Engine`], and that engine speaks to a [`tern_transport::Transport`]. Only the transport and the
//! clock are not real: messages travel over a network that knows no bytes but what they cost, after the LogGP model
//! (Alexandrov, Ionescu, Schauser and Scheiman, "LogGP: incorporating long messages into the LogP model", 1995), with
//! one set of parameters for each distance: the same core, the same node, the same switch, farther.
//!
//! The way through the crate, top down:
//!
//! - [`SimulatedJob`] says what is simulated, [`Params`] on what machine, [`InjectedFaults`] what goes wrong; [`run`] does it;
//! - [`world`] holds the ranks and hands them what happens, event by event, in the order of virtual time ([`events`]);
//! - [`rank`] is one rank: its engine, and how far its schedule is; [`program`] builds schedules, [`port`] executes them;
//! - [`network`] prices messages and brings them to their receivers; [`end`] is a rank's end of it;
//! - [`shm_comm`] runs what goes over the memory that the ranks of one node share, without engines and schedules;
//! - `accesses` has a rank put into windows and wait for the end; [`windows`] ends the epoch by a fence, and prices what is too long to run;
//! - [`files`] prices plans of collective buffering, which need no events;
//! - [`outcome`] is what a run has found, and [`hang`] who waits for whom where a run did not end;
//! - [`definition`] is what the standard says that every rank has afterwards, for runs that move real bytes.
//!
//! The same job, parameters and seed give the same run, bit for bit: there is one thread, no clock, no address and no
//! hash with a random key in it. So a failure is a seed and a commit.
#![forbid(unsafe_code)]

mod accesses;
pub mod definition;
mod end;
pub mod estimate;
pub mod events;
pub mod faults;
pub mod files;
#[cfg(any(test, fuzzing))]
#[path = "../../fuzz/targets/sim.rs"]
pub mod fuzz;
pub mod hang;
mod job;
pub mod limits;
pub mod memory;
pub mod network;
pub mod outcome;
pub mod params;
pub mod port;
pub mod program;
pub mod rank;
pub mod shm_comm;
pub mod topology;
pub mod windows;
pub mod world;

pub use faults::InjectedFaults;
pub use job::{PayloadBytes, RankWork, SimulatedJob};
pub use outcome::{RunOutcome, RunProgress};
pub use params::{Params, ParamsError};
pub use world::run;

/// Virtual time, and spans of it: picoseconds. 2^64 of them are seven months.
pub type Picos = u64;

/// A number of nanoseconds as virtual time. Negative ones and what is no number are 0.
pub fn picos(nanoseconds: f64) -> Picos {
    (nanoseconds * 1000.0).round() as Picos
}

/// Virtual time in nanoseconds.
pub fn nanos(time: Picos) -> f64 {
    time as f64 / 1000.0
}
