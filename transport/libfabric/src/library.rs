//! Finding libfabric, and asking it for networks.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::Arc;

use crate::LibfabricError;
use crate::abi::*;

type GetInfo =
    unsafe extern "C" fn(u32, *const c_char, *const c_char, u64, *const FiInfo, *mut *mut FiInfo) -> c_int;

/// The library, which stays loaded for as long as the process.
pub struct Library {
    getinfo: GetInfo,
    dupinfo: unsafe extern "C" fn(*const FiInfo) -> *mut FiInfo,
    freeinfo: unsafe extern "C" fn(*mut FiInfo),
    pub(crate) fabric: unsafe extern "C" fn(*mut FabricAttr, *mut *mut FidFabric, *mut c_void) -> c_int,
    version: unsafe extern "C" fn() -> u32,
    strerror: unsafe extern "C" fn(c_int) -> *const c_char,
}

/// What an offer shall be.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfferHints<'a> {
    /// The provider, as `fi_info -l` and `FI_PROVIDER` call it, layers joined by semicolons: `tcp`, `tcp;ofi_rxm`.
    pub provider: Option<&'a str>,
    /// The domain: an interface such as `eth0`, or a device such as `mlx5_0`.
    pub interface: Option<&'a str>,
    /// How memory may have to be made known.
    pub registration: MemoryRegistration,
}

impl OfferHints<'_> {
    /// What there is not, with a space before it. `filter` is what the library itself heeds beside this.
    fn wanted(&self, filter: Option<&str>) -> String {
        let provider = self.provider.map(|name| format!(" by provider '{name}'"));
        let interface = self.interface.map(|name| format!(" over interface '{name}'"));
        let filter = filter.map(|filter| format!(" with FI_PROVIDER='{filter}'"));
        [provider, interface, filter].into_iter().flatten().collect()
    }
}

/// How memory has to be made known that others read. A provider uses the least of what is allowed to it, so that to allow less makes
/// one behave like another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryRegistration {
    /// Whatever the provider wants.
    #[default]
    Any,
    /// This process chooses keys, and others count from the beginning of the memory.
    Offsets,
    /// The provider chooses keys, and others count by this process's addresses.
    Addresses,
}

impl MemoryRegistration {
    fn modes(self) -> std::ffi::c_int {
        match self {
            MemoryRegistration::Any => MR_LOCAL | MR_VIRT_ADDR | MR_ALLOCATED | MR_PROV_KEY | MR_ENDPOINT,
            MemoryRegistration::Offsets => MR_LOCAL | MR_ENDPOINT,
            MemoryRegistration::Addresses => MR_LOCAL | MR_VIRT_ADDR | MR_ALLOCATED | MR_PROV_KEY,
        }
    }
}

/// A way to use a network, of which an [`Endpoint`](crate::Endpoint) can be made.
pub struct NetworkOffer {
    pub(crate) library: Arc<Library>,
    pub(crate) info: *mut FiInfo,
    /// Its provider.
    pub provider: String,
    /// Its domain: an interface or a device.
    pub interface: String,
    /// Whether addresses are of IPv4.
    pub is_ipv4: bool,
}

// SAFETY: the description is this offer's own, and the library's functions may be called from any thread.
unsafe impl Send for NetworkOffer {}

impl Library {
    /// Loads it.
    pub fn open() -> Result<Arc<Library>, LibfabricError> {
        // SAFETY: the name ends with zero. The library's start runs no code of this process.
        let handle = unsafe { libc::dlopen(c"libfabric.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(LibfabricError::NotLoaded(load_error()));
        }
        // SAFETY: each symbol's version stands for the signature that the field has.
        unsafe {
            Ok(Arc::new(Library {
                getinfo: symbol(handle, c"fi_getinfo", c"FABRIC_1.3", "fi_getinfo@FABRIC_1.3")?,
                dupinfo: symbol(handle, c"fi_dupinfo", c"FABRIC_1.3", "fi_dupinfo@FABRIC_1.3")?,
                freeinfo: symbol(handle, c"fi_freeinfo", c"FABRIC_1.3", "fi_freeinfo@FABRIC_1.3")?,
                fabric: symbol(handle, c"fi_fabric", c"FABRIC_1.1", "fi_fabric@FABRIC_1.1")?,
                version: symbol(handle, c"fi_version", c"FABRIC_1.0", "fi_version@FABRIC_1.0")?,
                strerror: symbol(handle, c"fi_strerror", c"FABRIC_1.0", "fi_strerror@FABRIC_1.0")?,
            }))
        }
    }

    /// Its version, such as `1.17`.
    pub fn version(&self) -> String {
        // SAFETY: it has no preconditions.
        let version = unsafe { (self.version)() };
        format!("{}.{}", version >> 16, version & 0xffff)
    }

    /// The first number of its version.
    pub(crate) fn major(&self) -> u32 {
        // SAFETY: it has no preconditions.
        unsafe { (self.version)() >> 16 }
    }

    /// Its words for an error number, which its calls return as negative.
    pub(crate) fn words(&self, code: isize) -> String {
        // SAFETY: it takes any number, and gives a string that is constant.
        let words = unsafe { (self.strerror)(code.unsigned_abs() as c_int) };
        text(words).unwrap_or_else(|| format!("error {code}"))
    }

    /// What it offers for reliable datagrams in order, in the order of its preference.
    pub fn offers(self: &Arc<Self>, hints: OfferHints<'_>) -> Result<Vec<NetworkOffer>, LibfabricError> {
        // Receives that serve many messages are an option of providers, and by their absence much less is lost than by none.
        for caps in [MSG | SEND | RECV | MULTI_RECV, MSG | SEND | RECV] {
            let mut offers = self.ask(caps, &hints);
            offers.retain(|offer| hints.interface.is_none_or(|wanted| offer.interface == wanted));
            if !offers.is_empty() {
                for more in [READ | REMOTE_READ, READ | REMOTE_READ | WRITE | REMOTE_WRITE] {
                    let mut better = self.ask(caps | RMA | more, &hints);
                    offers.iter_mut().for_each(|offer| offer.take_better(&mut better));
                }
                return Ok(offers);
            }
        }
        let filter = std::env::var("FI_PROVIDER").ok().filter(|filter| !filter.is_empty());
        Err(LibfabricError::NoOffer { version: self.version(), wanted: hints.wanted(filter.as_deref()) })
    }

    fn ask(self: &Arc<Self>, caps: u64, hints: &OfferHints<'_>) -> Vec<NetworkOffer> {
        let (provider, registration) = (hints.provider, hints.registration);
        // SAFETY: without an argument it makes an empty description.
        let hints = unsafe { (self.dupinfo)(ptr::null()) };
        // SAFETY: a whole description, or none.
        if !unsafe { hints.as_ref() }.is_some_and(FiInfo::has_all_parts) {
            return Vec::new();
        }
        let mut found = ptr::null_mut();
        // SAFETY: the parts are there, and this thread alone has them. The name is allocated as the library frees it.
        let code = unsafe {
            (*hints).caps = caps;
            (*hints).mode = CONTEXT | CONTEXT2;
            (*(*hints).ep_attr).kind = EP_RDM;
            (*(*hints).tx_attr).msg_order = ORDER_SAS;
            (*(*hints).rx_attr).msg_order = ORDER_SAS;
            let domain = &mut *(*hints).domain_attr;
            domain.mr_mode = registration.modes();
            domain.threading = THREAD_DOMAIN;
            domain.resource_mgmt = RM_ENABLED;
            if let Some(name) = provider.and_then(|name| CString::new(name).ok()) {
                (*(*hints).fabric_attr).prov_name = libc::strdup(name.as_ptr());
            }
            let code = (self.getinfo)(API_VERSION, ptr::null(), ptr::null(), 0, hints, &mut found);
            (self.freeinfo)(hints);
            code
        };
        if code == 0 { self.take_apart(found) } else { Vec::new() }
    }

    /// Copies of the descriptions of a list, which ends here.
    fn take_apart(self: &Arc<Self>, list: *mut FiInfo) -> Vec<NetworkOffer> {
        let mut offers = Vec::new();
        let mut next = list;
        // SAFETY: a list of whole descriptions that the library has just made; it is freed once, at the end.
        unsafe {
            while let Some(info) = next.as_ref() {
                let copy = (self.dupinfo)(info);
                if !copy.is_null() {
                    offers.push(NetworkOffer {
                        library: self.clone(),
                        info: copy,
                        provider: text((*info.fabric_attr).prov_name).unwrap_or_default(),
                        interface: text((*info.domain_attr).name).unwrap_or_default(),
                        is_ipv4: info.addr_format == SOCKADDR_IN,
                    });
                }
                next = info.next;
            }
            (self.freeinfo)(list);
        }
        offers
    }
}

impl NetworkOffer {
    /// Becomes the one of the same network that has more, if there is one.
    fn take_better(&mut self, better: &mut Vec<NetworkOffer>) {
        let same = |other: &NetworkOffer| {
            (&other.provider, &other.interface, other.is_ipv4)
                == (&self.provider, &self.interface, self.is_ipv4)
        };
        if let Some(at) = better.iter().position(same) {
            *self = better.remove(at);
        }
    }
}

impl Drop for NetworkOffer {
    fn drop(&mut self) {
        // SAFETY: the description is this offer's alone.
        unsafe { (self.library.freeinfo)(self.info) };
    }
}

impl std::fmt::Debug for NetworkOffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} over {}", self.provider, self.interface)
    }
}

/// A function of the library.
///
/// # Safety
/// `F` is the type of a pointer to a function with the signature that this version of the symbol has.
unsafe fn symbol<F: Copy>(
    handle: *mut c_void,
    name: &CStr,
    version: &CStr,
    both: &'static str,
) -> Result<F, LibfabricError> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: both names end with zero, and the handle is open.
    let found = unsafe { libc::dlvsym(handle, name.as_ptr(), version.as_ptr()) };
    if found.is_null() {
        return Err(LibfabricError::NoSymbol(both));
    }
    // SAFETY: a pointer to a function has this size, and by the caller the type is right.
    Ok(unsafe { std::mem::transmute_copy(&found) })
}

fn load_error() -> String {
    // SAFETY: it has no preconditions, and its string lives until this thread's next call of its kind.
    text(unsafe { libc::dlerror() }).unwrap_or_else(|| "no reason is given".into())
}

fn text(string: *const c_char) -> Option<String> {
    // SAFETY: a string of the library's or the loader's, which ends with zero.
    (!string.is_null()).then(|| unsafe { CStr::from_ptr(string) }.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the library is not installed there is nothing to test but the sentence.
    fn library() -> Option<Arc<Library>> {
        match Library::open() {
            Ok(library) => Some(library),
            Err(error) => {
                assert!(error.to_string().starts_with("libfabric.so.1 "), "{error}");
                None
            }
        }
    }

    #[test]
    fn a_provider_that_does_not_exist_offers_nothing() {
        let Some(library) = library() else { return };
        let hints = OfferHints { provider: Some("no-such"), ..OfferHints::default() };
        let error = library.offers(hints).unwrap_err().to_string();
        assert!(error.contains(" by provider 'no-such'") && error.contains(&library.version()), "{error}");
    }

    #[test]
    fn all_that_leaves_nothing_is_named() {
        let hints = OfferHints { interface: Some("lo"), ..OfferHints::default() };
        assert_eq!(hints.wanted(Some("nonsense")), " over interface 'lo' with FI_PROVIDER='nonsense'");
        assert_eq!(OfferHints::default().wanted(None), "");
    }

    #[test]
    fn offers_are_of_the_provider_and_the_interface() {
        let Some(library) = library() else { return };
        for provider in ["sockets", "udp;ofi_rxd", "tcp;ofi_rxm"] {
            let hints =
                OfferHints { provider: Some(provider), interface: Some("lo"), ..OfferHints::default() };
            let offers = library.offers(hints).unwrap_or_default();
            assert!(offers.iter().all(|offer| offer.provider == provider && offer.interface == "lo"));
        }
    }
}
