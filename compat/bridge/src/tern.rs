//! The functions of `libmpi_abi.so.1`. They have the names that this library exports itself, so the loader cannot tell
//! them apart: they are asked for once, when the library is loaded.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use tern_abi::naming::NameHandle;

/// A function of Tern's, found when the library is loaded.
pub struct FunctionSlot {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl FunctionSlot {
    /// A function that has not been looked for.
    pub const fn new(name: &'static CStr) -> FunctionSlot {
        FunctionSlot { name, address: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Where the function is.
    #[inline(always)]
    pub fn address(&self) -> *const c_void {
        self.address.load(Ordering::Relaxed)
    }

    /// Whether the library has no such function.
    fn is_lacking(&self) -> bool {
        std::ptr::eq(self.address(), lacking as extern "C" fn() -> c_int as *const c_void)
    }

    fn look_up(&self, library: *mut c_void) {
        // SAFETY: the library is loaded, and the name ends in a null.
        let found = unsafe { libc::dlsym(library, self.name.as_ptr()) };
        let absent = lacking as extern "C" fn() -> c_int as *mut c_void;
        self.address.store(if found.is_null() { absent } else { found }, Ordering::Relaxed);
    }
}

/// Stands for a function that another library of the standard ABI lacks.
extern "C" fn lacking() -> c_int {
    tern_abi::MPI_ERR_UNSUPPORTED_OPERATION
}

/// One slot for each line of a list.
macro_rules! slots {
    ($(fn $name:ident($($parameter:ident: $kind:ty $([$length:expr])?),*) $(via $via:ident)?;)*) => {
        $(
            #[doc = concat!("Tern's `", stringify!($name), "`.")]
            pub static $name: FunctionSlot = FunctionSlot::new(name(concat!(stringify!($name), "\0")));
        )*
        /// All of this chapter.
        pub(crate) static SLOTS: &[&FunctionSlot] = &[$(&$name),*];
    };
}

macro_rules! chapters {
    ($($chapter:ident: $list:ident;)*) => {
        $(
            mod $chapter {
                use super::{FunctionSlot, name};
                crate::$list!(slots);
            }
            #[allow(ambiguous_glob_reexports)]
            pub use $chapter::*;
        )*
        static CHAPTERS: &[&[&FunctionSlot]] = &[$($chapter::SLOTS),*];
    };
}

chapters! {
    p2p: p2p_calls;
    coll: coll_calls;
    coll_large: coll_large_calls;
    comm: comm_calls;
    datatype: datatype_calls;
    rma: rma_calls;
    file: file_calls;
    tool: tool_calls;
}

/// Tern's `MPI_Wtime`.
pub static MPI_Wtime: FunctionSlot = FunctionSlot::new(c"MPI_Wtime");
/// Tern's `MPI_Wtick`.
pub static MPI_Wtick: FunctionSlot = FunctionSlot::new(c"MPI_Wtick");

const fn name(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("the name has a null in its middle"),
    }
}

/// The name by which Tern's library was loaded, as a dependency of this one.
const LIBRARY: &CStr = c"libmpi_abi.so.1";

/// Looks all functions up. The libraries of this folder call it before the program's first function runs. Tern's messages name
/// handles by `namer`.
pub fn connect(namer: NameHandle) {
    // SAFETY: the name is a text, and the library is loaded already.
    let library = unsafe { libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if library.is_null() {
        // SAFETY: the answer is a text or null.
        let why = unsafe { libc::dlerror() };
        give_up(&format!("{} cannot be loaded: {}", LIBRARY.to_string_lossy(), said(why)));
    }
    let all = CHAPTERS.iter().flat_map(|chapter| chapter.iter().copied()).chain([&MPI_Wtime, &MPI_Wtick]);
    all.for_each(|slot| slot.look_up(library));
    OWN_CALLS.iter().for_each(|slot| slot.look_up(library));
    // SAFETY: Tern's function has this type, and so has what stands for it in another library of the standard ABI.
    unsafe {
        let names = NAME_HANDLES_BY.address();
        std::mem::transmute::<*const c_void, unsafe extern "C" fn(NameHandle) -> c_int>(names)(namer);
    }
}

/// Functions of Tern that are no part of the standard.
static OWN_CALLS: [&FunctionSlot; 4] = [&NAME_HANDLES_BY, &START_THROUGH, &MAY_CALL, &SPAWN_CODES];
static NAME_HANDLES_BY: FunctionSlot = FunctionSlot::new(c"tern_name_handles_by");
static START_THROUGH: FunctionSlot = FunctionSlot::new(c"tern_start_through");
static MAY_CALL: FunctionSlot = FunctionSlot::new(c"tern_may_call");
static SPAWN_CODES: FunctionSlot = FunctionSlot::new(c"tern_spawn_codes");

/// How many codes the last spawn of this thread has written; `None` where another library of the standard ABI does not say.
pub(crate) fn spawn_codes() -> Option<usize> {
    // SAFETY: as for the others.
    let written = unsafe {
        std::mem::transmute::<*const c_void, unsafe extern "C" fn() -> c_int>(SPAWN_CODES.address())()
    };
    usize::try_from(written).ok().filter(|_| !SPAWN_CODES.is_lacking())
}

/// Whether Tern may still call a function for an operation or an error. Another library of the standard ABI is taken to.
pub(crate) fn may_call(function: usize) -> bool {
    // SAFETY: as for the others.
    unsafe {
        std::mem::transmute::<*const c_void, unsafe extern "C" fn(usize) -> c_int>(MAY_CALL.address())(
            function,
        ) != 0
    }
}

/// Tells Tern that the start of MPI that this thread asks for next comes through this library.
pub fn start_through() {
    // SAFETY: as above.
    unsafe {
        std::mem::transmute::<*const c_void, unsafe extern "C" fn() -> c_int>(START_THROUGH.address())();
    }
}

fn said(text: *const c_char) -> String {
    if text.is_null() {
        return "the loader says nothing".into();
    }
    // SAFETY: a text of the loader's.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Ends the process: it can do nothing as it is.
pub fn give_up(why: &str) -> ! {
    eprintln!("tern: {why}");
    std::process::abort()
}

/// Calls a function of Tern's: its slot, and the arguments with their types.
#[macro_export]
macro_rules! tern {
    ($name:ident($($argument:expr => $kind:ty),* $(,)?)) => {
        $crate::tern!($name($($argument => $kind),*) -> std::ffi::c_int)
    };
    ($name:ident($($argument:expr => $kind:ty),* $(,)?) -> $result:ty) => {
        std::mem::transmute::<*const std::ffi::c_void, unsafe extern "C" fn($($kind),*) -> $result>(
            $crate::tern::$name.address(),
        )($($argument),*)
    };
}
