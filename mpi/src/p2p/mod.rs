//! Messages (MPI 5.0 chapters 3 and 4), requests and statuses (sections 3.7, 3.9, 13.2, 13.3).

pub mod attach;
pub mod buffered;
pub mod buffers;
pub mod cancel;
pub mod complete;
pub mod elements;
pub mod ended;
pub mod fault;
pub mod generalized;
pub mod messages;
pub mod partitioned;
pub mod persistent;
pub mod probe;
pub mod request;
pub mod sendrecv;
pub mod status;
