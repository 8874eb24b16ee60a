//! Groups, communicators and attributes (MPI 5.0 chapter 7).

pub(crate) mod agree;
pub(crate) mod attribute_keys;
pub(crate) mod attribute_values;
pub(crate) mod attributes;
pub(crate) mod from_group;
pub(crate) mod group;
pub(crate) mod intercomm;
pub(crate) mod make;
pub(crate) mod object;
pub(crate) mod query;
pub(crate) mod resource;
pub(crate) mod sets;
