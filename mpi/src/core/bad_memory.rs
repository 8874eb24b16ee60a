//! What a user sees of a buffer whose memory this process cannot use, where no system call tells: a sentence before the
//! signal ends the process as it would have.
//!
//! Short messages are copied by this library, which must not ask for each whether it may. So the fault itself is explained:
//! a handler for `SIGSEGV` and `SIGBUS` is there if the program has none. It says what is known of a fault in this library's
//! own code, or in the C library's copy on its behalf. Then the instruction runs again under the default action: core
//! dumps, exit statuses and debuggers see what they saw without it. A program that installs a handler of its own replaces
//! this one.

mod call;
mod text;

use crate::core::process::{Phase, phase, state_after_fault};
use crate::limits::BOARD_LOOKED_AT_MAX;
use std::ffi::{c_int, c_void};
use std::mem::{self, MaybeUninit};
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};
use text::{CodeOwner, MemoryRights, StackText};

const SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// This process's rank, for the sentence.
static RANK: AtomicU32 = AtomicU32::new(0);

/// From now on faults are explained, where the program leaves them to the system.
pub(crate) fn explain(rank: u32) {
    static ONCE: Once = Once::new();
    RANK.store(rank, Ordering::Relaxed);
    ONCE.call_once(|| {
        text::learn_code();
        SIGNALS.into_iter().filter(|&signal| handler_of(signal) == libc::SIG_DFL).for_each(install);
    });
}

/// MPI is over: this library may be unloaded.
pub(crate) fn leave_alone() {
    let own = handler_address();
    SIGNALS.into_iter().filter(|&signal| handler_of(signal) == own).for_each(set_default);
}

fn handler_address() -> usize {
    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = on_fault;
    handler as usize
}

fn handler_of(signal: c_int) -> usize {
    let mut found = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: the structure is filled in, or stays zero, which is the default action.
    unsafe {
        libc::sigaction(signal, ptr::null(), found.as_mut_ptr());
        found.assume_init().sa_sigaction
    }
}

fn install(signal: c_int) {
    // SAFETY: zero is a valid value of every field.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    action.sa_sigaction = handler_address();
    // A second fault, here, ends the process at once.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESETHAND;
    // SAFETY: the handler has the signature that the flags say.
    unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) };
}

fn set_default(signal: c_int) {
    // SAFETY: the default action is always allowed.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// Explains a fault and lets it happen again. It allocates nothing, and takes no lock of this library's.
extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // A program's handler that has replaced this one may call it.
    set_default(signal);
    // SAFETY: the kernel passes both, or who calls this in its place.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr().addr()) };
    if code <= 0 {
        // Somebody has sent the signal.
        // SAFETY: it is delivered when this returns.
        unsafe { libc::raise(signal) };
        return;
    }
    // SAFETY: as above.
    let machine = unsafe { text::FaultPoint::of(context) };
    if phase() != Phase::Forked && is_own(&machine) {
        // The kernel knows no address where the processor could not even form one.
        let known = (signal == libc::SIGBUS || code != libc::SI_KERNEL).then_some(address);
        say(known, machine.writes);
    }
}

/// Whether this library was to touch the memory: itself, or the C library called by it.
fn is_own(machine: &text::FaultPoint) -> bool {
    match text::code_at(machine.at) {
        Some(CodeOwner::Own) => true,
        Some(CodeOwner::Libc) => {
            machine.returns_to().is_some_and(|caller| text::code_at(caller) == Some(CodeOwner::Own))
        }
        None => false,
    }
}

fn say(address: Option<usize>, writes: Option<bool>) {
    let does = match writes {
        Some(true) => "write",
        Some(false) => "read",
        None => "use",
    };
    let mut line = StackText::new();
    line.add(format_args!(
        "tern: rank {}: {} cannot {does} ",
        RANK.load(Ordering::Relaxed),
        call::name().unwrap_or("MPI")
    ));
    match address {
        None => line.add(format_args!("memory at an address that no memory can have")),
        Some(address) => match text::rights_at(address) {
            None => line.add(format_args!("the memory at {address:#x}")),
            Some(MemoryRights::Nothing) => {
                line.add(format_args!("the memory at {address:#x}, where this process has no memory"));
            }
            Some(MemoryRights::Mapped(rights)) => {
                line.add(format_args!(
                    "the memory at {address:#x}, where this process has a mapping '{}'",
                    rights.as_str()
                ));
            }
        },
    }
    line.add(format_args!(": was the buffer freed, is its count too large, or is it memory of a device?"));
    line.write();
    address.into_iter().for_each(say_whose);
}

/// Which request's buffer it is, if one's.
fn say_whose(address: usize) {
    // SAFETY: the process ends behind this, and whoever holds the state waits for this thread or ends with it. What is
    // found is copied; should it be half written, the second fault ends the process.
    let Some(engine) = unsafe { state_after_fault() }.engine_ref() else { return };
    let Some((base, found)) = engine.pending_at(address, BOARD_LOOKED_AT_MAX) else { return };
    let mut line = StackText::new();
    let (what, end) = if found.receive { ("receive", "from") } else { ("send", "to") };
    line.add(format_args!(
        "tern: rank {}: that lies in the buffer of a pending {what}: {} bytes at {base:#x}, {end} ",
        RANK.load(Ordering::Relaxed),
        found.bytes
    ));
    match found.peer == tern_engine::ANY_SOURCE {
        true => line.add(format_args!("any rank")),
        false => line.add(format_args!("rank {}", found.peer)),
    }
    line.add(format_args!(", tag {}", found.tag));
    line.write();
}
