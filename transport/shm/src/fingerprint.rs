//! The ranks of one node compare their settings before anything else, in the first page of the segment: also those that
//! will not use the segment because of one of these settings.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use super::first_page::MARKS_AT;
use super::segment::{AttachError, map, within_file_limit};
use crate::limits::PAGE_BYTES;
use tern_transport::fingerprint::{FINGERPRINT_SETTINGS_MAX, SettingsFingerprint};

/// The first rank leaves the marks of its settings; the others compare.
pub fn agree(fd: &OwnedFd, fingerprint: &SettingsFingerprint) -> Result<(), AttachError> {
    let there = with_first_page(fd, |page| {
        // SAFETY: the marks are within the page, which is mapped for the time of this call, and any bytes are some.
        let marks = unsafe { page.add(MARKS_AT).cast::<[AtomicU32; FINGERPRINT_SETTINGS_MAX]>().as_ref() };
        let mut there = [0; FINGERPRINT_SETTINGS_MAX];
        for (at, mark) in fingerprint.marks().iter().enumerate() {
            let found = marks[at].compare_exchange(0, *mark, Ordering::AcqRel, Ordering::Acquire);
            there[at] = found.map_or_else(|other| other, |_| *mark);
        }
        there
    })?;
    fingerprint.difference(&there).map_or(Ok(()), |names| Err(AttachError::Settings(names)))
}

/// What `look` makes of the segment's first page, which is mapped meanwhile.
pub(super) fn with_first_page<T>(
    fd: &OwnedFd,
    look: impl FnOnce(NonNull<u8>) -> T,
) -> Result<T, AttachError> {
    allocate_page(fd).map_err(|error| AttachError::Size { bytes: PAGE_BYTES, error })?;
    let base = map(fd, PAGE_BYTES).map_err(|error| AttachError::Map { bytes: PAGE_BYTES, error })?;
    let seen = look(base);
    // SAFETY: exactly what was mapped, and nobody uses it any more.
    unsafe { libc::munmap(base.as_ptr().cast(), PAGE_BYTES) };
    Ok(seen)
}

/// Unlike `ftruncate` this never makes a file shorter that another rank has just made longer.
fn allocate_page(fd: &OwnedFd) -> io::Result<()> {
    within_file_limit(PAGE_BYTES)?;
    // SAFETY: a plain system call on a descriptor that is open.
    let answer = unsafe { libc::fallocate(fd.as_raw_fd(), 0, 0, PAGE_BYTES as libc::off_t) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::os::fd::FromRawFd;

    fn memory() -> OwnedFd {
        // SAFETY: the name is a C string; the descriptor is new.
        unsafe { OwnedFd::from_raw_fd(libc::memfd_create(c"fingerprint".as_ptr(), libc::MFD_CLOEXEC)) }
    }

    #[test]
    fn ranks_agree_or_the_later_one_is_told_what_differs() {
        let (fd, names): (_, &'static [&'static str]) = (memory(), &["A", "B"]);
        let of = |value: &'static str| {
            SettingsFingerprint::new(
                names,
                move |name| if name == "A" { "same".into() } else { value.into() },
            )
        };
        assert!(agree(&fd, &of("1")).is_ok());
        assert!(agree(&fd, &of("1")).is_ok());
        let error = agree(&fd, &of("2")).unwrap_err().to_string();
        assert!(error.contains("B") && !error.contains("A,"), "{error}");
        assert!(agree(&fd, &of("1")).is_ok(), "who differs changes nothing");
    }
}
