//! Seeing a job through: the supervisors of the job and of a host, signals, reports, ends.

pub(crate) mod descendants;
pub(crate) mod deserted;
pub(crate) mod drain;
pub(crate) mod exit_cause;
pub(crate) mod hub;
pub(crate) mod job;
pub(crate) mod node;
pub(crate) mod numbers;
pub(crate) mod orphans;
pub(crate) mod report;
pub(crate) mod signals;
pub(crate) mod superior;
pub(crate) mod timers;
pub(crate) mod worlds;
