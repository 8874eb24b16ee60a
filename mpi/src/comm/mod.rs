//! Groups, communicators and attributes (MPI 5.0 chapter 7).

pub mod agree;
pub mod attribute_keys;
pub mod attribute_values;
pub mod attributes;
pub mod from_group;
pub mod group;
pub mod intercomm;
pub mod make;
pub mod object;
pub mod query;
pub mod resource;
pub mod sets;
