//! Messages (MPI 5.0 chapters 3 and 4), requests and statuses (sections 3.7, 3.9, 13.2, 13.3).

pub(crate) mod attach;
pub(crate) mod buffered;
pub(crate) mod buffers;
pub(crate) mod cancel;
pub(crate) mod complete;
pub(crate) mod elements;
pub(crate) mod ended;
pub(crate) mod fault;
pub(crate) mod generalized;
pub(crate) mod messages;
pub(crate) mod partitioned;
pub(crate) mod persistent;
pub(crate) mod probe;
pub(crate) mod request;
pub(crate) mod sendrecv;
pub(crate) mod status;
