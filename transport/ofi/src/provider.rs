//! Which provider and which interface: what the user says, else the hardware that is there, else what the library likes best.

use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use tern_libfabric::{
    Endpoint, LibfabricError, Library, MemoryRegistration, NetworkOffer, OfferHints, Sizes, TrialOutcome,
    try_apart,
};

use super::error::OfiError;
use super::limits::*;
use tern_transport::config::OfiConfig;

/// Providers of networks that programs reach without the kernel, the fastest first. What stands on ofi_rxd is not among them, since it
/// loses packets.
const HARDWARE: [&str; 6] = ["cxi", "psm3", "psm2", "opx", "efa", "verbs;ofi_rxm"];

/// Where the kernel lists devices that such providers use.
const DEVICES: [&str; 3] = ["/sys/class/infiniband", "/sys/class/cxi", "/sys/class/hfi1"];

/// Whether it is the provider on plain sockets, to which little may be under way at once ([`OFI_SOCKETS_SENDS`]).
pub(super) fn is_sockets(provider: &str) -> bool {
    provider == "sockets"
}

/// Whether it is a provider on memory that the processes of a host share.
pub(super) fn is_shared_memory(provider: &str) -> bool {
    matches!(provider, "shm" | "sm2")
}

/// Whether a poll of it is a system call, as on sockets of the kernel, and not a look at memory.
pub(super) fn polls_the_kernel(provider: &str) -> bool {
    let core = provider.split(';').next().unwrap_or(provider);
    matches!(core, "tcp" | "udp" | "sockets" | "net")
}

/// How much an endpoint of a provider sends and receives at once.
fn sizes(provider: &str) -> Sizes {
    let (packet_bytes_max, sends) = match provider {
        _ if is_sockets(provider) => (OFI_SOCKETS_PACKET_BYTES, OFI_SOCKETS_SENDS),
        _ if is_shared_memory(provider) => (OFI_SHARED_PACKET_BYTES, OFI_SENDS),
        _ => (OFI_PACKET_BYTES, OFI_SENDS),
    };
    Sizes { packet_bytes_max, sends, receive_bytes: OFI_RECEIVE_BYTES }
}

/// Which of libfabric's networks.
#[derive(Clone, Copy, Debug)]
pub struct ProviderChoice {
    pub(super) config: OfiConfig,
    /// How memory is made known; tests allow less than the provider might want.
    pub(super) registration: MemoryRegistration,
}

impl From<OfiConfig> for ProviderChoice {
    fn from(config: OfiConfig) -> ProviderChoice {
        ProviderChoice { config, registration: MemoryRegistration::Any }
    }
}

impl ProviderChoice {
    pub(super) fn hints(&self) -> OfferHints<'static> {
        let said = |text: &'static str| Some(text).filter(|text| !text.is_empty());
        OfferHints {
            provider: said(self.config.provider),
            interface: said(self.config.interface),
            registration: self.registration,
        }
    }

    fn is_named(&self) -> bool {
        !self.config.provider.is_empty() || self.config.is_filtered
    }

    /// Whether this way is to be tried though nobody has forced it: a provider is named, or there is hardware that has one.
    pub fn is_worth_trying(&self) -> bool {
        self.is_named() || DEVICES.iter().any(|devices| has_entries(devices))
    }

    /// Opens an endpoint, if the library answers in time: a provider may wait for a device for ever. With `any`, of any provider, else
    /// of the one that is named or of hardware.
    pub(super) fn open(self, any: bool, host: &HostAnswer) -> Result<Endpoint, OfiError> {
        let is_named = self.is_named();
        let is_reliable = |offer: &NetworkOffer| !offer.provider.ends_with("ofi_rxd");
        let may_be =
            move |offer: &NetworkOffer| is_named || place(offer).is_some() || any && is_reliable(offer);
        in_time(self.config.provider, host, move || {
            let offers = Library::open()?.offers(self.hints())?;
            open_first(ordered(offers.into_iter().filter(may_be).collect()))
        })
    }
}

/// Gives the answer that one rank of this host finds for all of them; without others, the function's own.
pub type HostAnswer<'a> = dyn Fn(&dyn Fn() -> u32) -> u32 + 'a;

/// What the library answers to a question, if it answers in time.
pub(super) fn in_time<T: Send + 'static>(
    provider: &'static str,
    host: &HostAnswer,
    question: impl Fn() -> Result<T, LibfabricError> + Send + 'static,
) -> Result<T, OfiError> {
    try_first(provider, host, &question)?;
    let (tell, told) = mpsc::channel();
    let ask = move || {
        // Nobody listens any more if it took too long.
        let _ = tell.send(question());
    };
    thread::Builder::new().name("tern-libfabric".into()).spawn(ask).map_err(OfiError::Thread)?;
    match told.recv_timeout(Duration::from_secs(OFI_OPEN_S_MAX)) {
        Ok(answer) => answer.map_err(OfiError::Library),
        Err(_) => Err(OfiError::Hangs(named(provider))),
    }
}

/// Another process asks first, one on each host, since a process that a provider holds up could neither use other networks nor end. What
/// has answered once is not tried again: the copy of a process that uses libfabric might meet locks that nobody opens.
fn try_first<T>(
    provider: &str,
    host: &HostAnswer,
    question: impl Fn() -> Result<T, LibfabricError>,
) -> Result<(), OfiError> {
    static HAS_ANSWERED: Mutex<bool> = Mutex::new(false);
    let mut has_answered = HAS_ANSWERED.lock().unwrap_or_else(PoisonError::into_inner);
    if *has_answered {
        return Ok(());
    }
    let outcome = host(&|| {
        let tried = try_apart(Duration::from_secs(OFI_OPEN_S_MAX), || drop(question()));
        // Where no process can be made, the library may be sound all the same.
        tried.unwrap_or(TrialOutcome::Answers).number()
    });
    match TrialOutcome::of_number(outcome) {
        TrialOutcome::Hangs => return Err(OfiError::Hangs(named(provider))),
        TrialOutcome::Dies(signal) => return Err(OfiError::Crashes(named(provider), signal)),
        TrialOutcome::Answers => *has_answered = true,
    }
    Ok(())
}

fn named(provider: &str) -> String {
    match provider {
        "" => "libfabric".into(),
        provider => format!("provider '{provider}' of libfabric"),
    }
}

/// The best first: hardware, then what reaches other hosts, then IPv4, then the library's own order.
pub(super) fn ordered(mut offers: Vec<NetworkOffer>) -> Vec<NetworkOffer> {
    offers.sort_by_key(|offer| (place(offer).unwrap_or(HARDWARE.len()), is_local(offer), !offer.is_ipv4));
    offers
}

/// Where a provider stands among those of hardware.
pub(super) fn place(offer: &NetworkOffer) -> Option<usize> {
    HARDWARE.iter().position(|name| *name == offer.provider)
}

fn has_entries(folder: &str) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

/// Whether it reaches this host alone.
fn is_local(offer: &NetworkOffer) -> bool {
    offer.interface == "lo" || is_shared_memory(&offer.provider)
}

/// The first that can be opened, or why the first cannot.
fn open_first(offers: Vec<NetworkOffer>) -> Result<Endpoint, LibfabricError> {
    let mut first = None;
    for offer in &offers {
        match Endpoint::open(offer, sizes(&offer.provider)) {
            Ok(endpoint) => return Ok(endpoint),
            Err(error) => first = first.or(Some(error)),
        }
    }
    Err(first.unwrap_or_else(|| LibfabricError::NoOffer {
        version: String::new(),
        wanted: " of fabric hardware".into(),
    }))
}
