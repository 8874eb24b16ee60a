//! The ranks of one node compare their settings before anything else, in the first page of the segment: also those that
//! will not use the segment because of one of these settings.

use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

use super::first_page::with_first_page;
use super::segment::AttachError;
use tern_transport::fingerprint::{FINGERPRINT_SETTINGS_MAX, SettingsFingerprint};

/// The first rank leaves the marks of its settings; the others compare.
pub fn agree(fd: &OwnedFd, fingerprint: &SettingsFingerprint) -> Result<(), AttachError> {
    let there = with_first_page(fd, |page| {
        let mut there = [0; FINGERPRINT_SETTINGS_MAX];
        for (at, mark) in fingerprint.marks().iter().enumerate() {
            let found = page.marks.0[at].compare_exchange(0, *mark, Ordering::AcqRel, Ordering::Acquire);
            there[at] = found.map_or_else(|other| other, |_| *mark);
        }
        there
    })?;
    fingerprint.difference(&there).map_or(Ok(()), |names| Err(AttachError::Settings(names)))
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
