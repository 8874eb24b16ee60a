//! Seeing a job through: the supervisors of the job and of a host, signals, reports, ends.

pub mod descendants;
pub mod deserted;
pub mod drain;
pub mod exit_cause;
pub mod hub;
pub mod job;
pub mod node;
pub mod numbers;
pub mod orphans;
pub mod report;
pub mod signals;
pub mod superior;
pub mod worlds;
