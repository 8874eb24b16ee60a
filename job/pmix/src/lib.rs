//! A client of PMIx, by a library that is looked for at run time: `libpmix.so.2`.
//!
//! Eight of its functions suffice for a rank. Their structures ([`abi`]) have had the same layout since version 4 of the library.
//! All unsafe code of the room `job` is here; what this crate exports is safe.

mod abi;
mod library;

use std::ffi::{CStr, CString, c_int};
use std::ptr;
use std::sync::Arc;

use abi::{PmixInfo, Proc, Value};
pub use library::{LoadError, PmixLibrary, is_library};

/// The rank that stands for all of a namespace.
const WILDCARD: u32 = u32::MAX - 1;
/// Who may read what is put: everybody.
const GLOBAL: u8 = 3;

const SUCCESS: c_int = 0;
const NOT_FOUND: c_int = -46;

/// Collect what all have put, at a fence.
const COLLECT_DATA: &CStr = c"pmix.collect";
/// Seconds in which a question must be answered.
const TIMEOUT: &CStr = c"pmix.timeout";
const TIMEOUT_SECONDS: c_int = 30;

/// A call that failed, in the library's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call} says {words} ({code})")]
pub struct Failed {
    /// The function.
    pub call: &'static str,
    /// Its status.
    pub code: i32,
    /// The library's name of it.
    pub words: String,
}

/// A value that a server or another rank has left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PmixValue {
    /// A text.
    Text(String),
    /// A number that is not negative.
    Number(u64),
}

/// Whose value is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueOwner {
    /// The whole job.
    Job,
    /// One rank.
    Rank(u32),
}

/// A rank that its server knows. The library may be called by several threads.
#[derive(Clone, Debug)]
pub struct PmixClient {
    library: Arc<PmixLibrary>,
    own: Proc,
}

impl PmixClient {
    /// Connects to the server that the environment names.
    pub fn connect(library: PmixLibrary) -> Result<PmixClient, Failed> {
        let mut own = Proc::default();
        // SAFETY: the structure has the library's layout and size, and there is no further information.
        let status = unsafe { (library.init)(&raw mut own, ptr::null(), 0) };
        library.check("PMIx_Init", status)?;
        Ok(PmixClient { library: Arc::new(library), own })
    }

    /// This process's rank.
    pub fn rank(&self) -> u32 {
        self.own.rank
    }

    /// The library's words about its version.
    pub fn version(&self) -> &str {
        &self.library.version
    }

    /// A value; `None` if nobody has left it.
    pub fn get(&self, owner: ValueOwner, key: &str) -> Result<Option<PmixValue>, Failed> {
        let Some(key) = c_text(key) else { return Ok(None) };
        let (rank, infos) = match owner {
            ValueOwner::Job => (WILDCARD, Vec::new()),
            ValueOwner::Rank(rank) => (rank, vec![PmixInfo::number(TIMEOUT, TIMEOUT_SECONDS)]),
        };
        let (of, mut value) = (Proc { rank, ..self.own.clone() }, ptr::null_mut());
        // SAFETY: all pointers are to what lives during the call; the library writes one pointer.
        let status = unsafe {
            (self.library.get)(&raw const of, key.as_ptr(), infos.as_ptr(), infos.len(), &raw mut value)
        };
        if status == NOT_FOUND || (status == SUCCESS && value.is_null()) {
            return Ok(None);
        }
        self.library.check("PMIx_Get", status)?;
        // SAFETY: the library has allocated the value for its caller.
        Ok(unsafe { abi::take(value) })
    }

    /// Leaves a text for all ranks. They see it after the next [`fence`](PmixClient::fence).
    pub fn put(&self, key: &str, text: &str) -> Result<(), Failed> {
        let refused = || Failed { call: "PMIx_Put", code: 0, words: "a text with a zero byte".into() };
        let (key, text) = c_text(key).zip(c_text(text)).ok_or_else(refused)?;
        let mut value = Value::text(&text);
        // SAFETY: key and value live during the call, which copies them.
        let status = unsafe { (self.library.put)(GLOBAL, key.as_ptr(), &raw mut value) };
        self.library.check("PMIx_Put", status)
    }

    /// Hands over what was put, and waits for all ranks of the job to do so.
    pub fn fence(&self) -> Result<(), Failed> {
        // SAFETY: the function has no arguments.
        self.library.check("PMIx_Commit", unsafe { (self.library.commit)() })?;
        let collect = [PmixInfo::flag(COLLECT_DATA)];
        // SAFETY: no list of processes stands for all of the job; the information lives during the call.
        let status = unsafe { (self.library.fence)(ptr::null(), 0, collect.as_ptr(), collect.len()) };
        self.library.check("PMIx_Fence", status)
    }

    /// Asks the server to end the job.
    pub fn abort(&self, code: i32, message: &str) -> Result<(), Failed> {
        let message = c_text(message).unwrap_or_default();
        // SAFETY: the message lives during the call; no list of processes stands for all of the job.
        let status = unsafe { (self.library.abort)(code, message.as_ptr(), ptr::null(), 0) };
        self.library.check("PMIx_Abort", status)
    }

    /// Takes leave of the server.
    pub fn finalize(&self) -> Result<(), Failed> {
        // SAFETY: there is no further information.
        let status = unsafe { (self.library.finalize)(ptr::null(), 0) };
        self.library.check("PMIx_Finalize", status)
    }
}

fn c_text(text: &str) -> Option<CString> {
    CString::new(text).ok()
}

impl PmixLibrary {
    fn check(&self, call: &'static str, code: c_int) -> Result<(), Failed> {
        if code == SUCCESS {
            return Ok(());
        }
        // SAFETY: the library returns a text that lives as long as it does, for any number.
        let words = unsafe {
            let text = (self.error_string)(code);
            if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
        };
        Err(Failed { call, code, words })
    }
}
