//! Why a rank cannot use libfabric.

use std::io;

use super::limits::OFI_OPEN_S_MAX;

/// Why a rank cannot use libfabric.
#[derive(Debug, thiserror::Error)]
pub enum OfiError {
    /// The library or a provider fails.
    #[error("{0}")]
    Library(tern_libfabric::LibfabricError),
    /// It has not answered in time.
    #[error(
        "{0} has not answered for {OFI_OPEN_S_MAX} s; choose another one by TERN_OFI_PROVIDER, or an interface by \
         TERN_OFI_INTERFACE ('fi_info -t FI_EP_RDM' lists them)"
    )]
    Hangs(String),
    /// A process that tried it was ended by a signal.
    #[error(
        "{0} ended a process that tried it, by signal {1}; choose another one by TERN_OFI_PROVIDER, or TERN_TRANSPORT=tcp"
    )]
    Crashes(String, i32),
    /// No thread can be made.
    #[error("no thread for opening libfabric: {0}")]
    Thread(io::Error),
    /// Messages must not be read by others.
    #[error("packets over libfabric are not encrypted: unset TERN_ENCRYPT, or use TERN_TRANSPORT=tcp")]
    InClear,
    /// The launcher cannot pass the endpoint's address on.
    #[error("the address of this rank's endpoint is too long to be passed on")]
    TooLong,
}
