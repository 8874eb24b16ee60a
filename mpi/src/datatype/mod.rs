//! Datatypes (MPI 5.0 chapter 5).

pub mod calls;
pub mod make;
pub mod object;
pub mod pack;
pub mod query;
