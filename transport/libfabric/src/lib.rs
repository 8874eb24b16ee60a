//! libfabric, opened while the program runs: reliable datagrams to other processes over whatever network its providers know.
//!
//! Nothing is linked. [`Library::open`] looks for `libfabric.so.1`, whose functions carry the version of the structures that they
//! take, so one set of definitions ([`abi`]) serves all releases from 1.5 on. All unsafe code is in this crate. Whoever uses an
//! [`Endpoint`] needs none.
//!
//! | part | file |
//! |---|---|
//! | structures and numbers of the library | `abi.rs` |
//! | finding it, asking it for networks | `library.rs` |
//! | trying it in a process of its own | `trial.rs` |
//! | memory that it sends from and receives into | `slots.rs` |
//! | reads of others' memory | `remote.rs` |
//! | completions that a poll has found | `completions.rs` |
//! | what single providers need | `provider_needs.rs` |
//! | one endpoint: send, receive, wait | `endpoint.rs` |

mod abi;
mod completions;
mod endpoint;
mod library;
mod provider_needs;
mod remote;
mod slots;
mod trial;

pub use completions::Completions;
pub use endpoint::{Endpoint, EndpointEvent, RemoteEndpoint};
pub use library::{Library, MemoryRegistration, NetworkOffer, OfferHints};
pub use provider_needs::Sizes;
pub use remote::{Region, RemoteMemory};
pub use trial::{TrialOutcome, try_apart};

/// Why libfabric cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LibfabricError {
    /// It is not installed, or cannot be loaded.
    #[error("libfabric.so.1 cannot be loaded: {0}")]
    NotLoaded(String),
    /// It lacks a function.
    #[error("libfabric.so.1 has no {0}: it is older than 1.5, or another library of that name")]
    NoSymbol(&'static str),
    /// No provider offers what is needed.
    #[error(
        "libfabric {version} offers no reliable datagrams{wanted}; 'fi_info -t FI_EP_RDM' lists what it has, and TERN_OFI_PROVIDER and \
         TERN_OFI_INTERFACE choose"
    )]
    NoOffer {
        /// Of the library.
        version: String,
        /// What was asked for, with a space before it.
        wanted: String,
    },
    /// A call failed.
    #[error("{call} of provider {provider} failed: {why}")]
    Call {
        /// The function.
        call: &'static str,
        /// Whose.
        provider: String,
        /// The library's words.
        why: String,
    },
}
