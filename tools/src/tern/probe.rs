//! Whether one process of this user may read another's memory: tried, since containers, security modules and
//! seccomp filters each have their own say.
//!
//! The library tries the same between ranks. Here, this program starts itself once more, and that process reads a
//! word of this one.

use std::io::IoSliceMut;
use std::process::{Command, ExitCode, Stdio};

use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;
use rustix::process::{PTracer, set_ptracer};

/// The hidden option that makes this program the reader.
pub(crate) const OPTION: &str = "--tern-probe";

static WORD: u64 = 0x5465_726e_2070_726f;

/// Whether another process can read this one's memory; if not, why.
pub(crate) fn memory_can_be_read() -> Result<(), String> {
    // As the library does: the Yama security module lets only parents read unless one allows more.
    let _ = set_ptracer(PTracer::Any);
    let address = std::ptr::from_ref(&WORD).expose_provenance();
    let reader = Command::new("/proc/self/exe")
        .args([OPTION, &std::process::id().to_string(), &address.to_string()])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("could not be tried: {error}"))?;
    match reader.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&reader.stderr).trim().to_owned()),
    }
}

/// The reader's whole life.
pub(crate) fn answer(words: &[String]) -> ExitCode {
    match read(words) {
        Ok(WORD_READ) => ExitCode::SUCCESS,
        Ok(_) => fail("another process was read"),
        Err(reason) => fail(&reason),
    }
}

const WORD_READ: u64 = WORD;

fn fail(reason: &str) -> ExitCode {
    eprintln!("{reason}");
    ExitCode::FAILURE
}

fn read(words: &[String]) -> Result<u64, String> {
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<usize>().ok()).ok_or("not for users");
    let (pid, base) = (number(0)?, number(1)?);
    let mut word = [0; 8];
    let remote = RemoteIoVec { base, len: word.len() };
    process_vm_readv(Pid::from_raw(pid as i32), &mut [IoSliceMut::new(&mut word)], &[remote])
        .map_err(|error| error.desc().to_owned())?;
    Ok(u64::from_ne_bytes(word))
}
