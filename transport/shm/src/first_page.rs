//! The first page of the job's memory file: what all ranks of a host have in common before, and beside, the segment.

use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, AtomicU64};

use crate::limits::PAGE_BYTES;
use tern_transport::fingerprint::FINGERPRINT_SETTINGS_MAX;

/// What lies where. Each user maps the page for itself and finds its words by their offsets.
#[repr(C)]
struct FirstPage {
    /// Fingerprint of the segment's layout, see `segment.rs`.
    layout: AtomicU64,
    /// Marks of the settings, see `fingerprint.rs`.
    marks: OnOwnLine<[AtomicU32; FINGERPRINT_SETTINGS_MAX]>,
    /// See `host_answer.rs`.
    host_answer: OnOwnLine<AtomicU32>,
    /// Bytes of the file that are reserved for windows, see `memory.rs`.
    reserved: OnOwnLine<AtomicU64>,
}

/// What begins a line of the cache.
#[repr(C, align(64))]
struct OnOwnLine<T>(T);

pub(super) const LAYOUT_AT: usize = offset_of!(FirstPage, layout);
pub(super) const MARKS_AT: usize = offset_of!(FirstPage, marks);
pub(super) const HOST_ANSWER_AT: usize = offset_of!(FirstPage, host_answer);
pub(super) const RESERVED_AT: usize = offset_of!(FirstPage, reserved);

const _: () = assert!(size_of::<FirstPage>() <= PAGE_BYTES);
