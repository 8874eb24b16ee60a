//! Datatypes (MPI 5.0 chapter 5).

pub(crate) mod calls;
pub(crate) mod make;
pub(crate) mod object;
pub(crate) mod pack;
pub(crate) mod query;
