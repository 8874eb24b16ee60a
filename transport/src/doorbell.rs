//! Sleeping until something arrives.

use std::time::Duration;

/// What a rank sleeps on. Usable from any thread, without the engine.
///
/// The order that loses no wake-up: [`Doorbell::arm`], look for work once more (poll, try refused sends), then either
/// [`Doorbell::sleep`] or [`Doorbell::disarm`].
pub trait Doorbell: Send + Sync {
    /// Announces that this rank is about to sleep; from now on whoever sends to it rings, and, once one of its own sends
    /// was refused ([`crate::Full`]), whoever makes room. Returns what [`Doorbell::sleep`] needs.
    fn arm(&self) -> u32;
    /// Takes the announcement back; work was found.
    fn disarm(&self);
    /// Sleeps until somebody rings after `armed` was taken, or the time is over. Disarms. Returns whether it was rung.
    fn sleep(&self, armed: u32, timeout: Option<Duration>) -> bool;
    /// Wakes threads of this process that sleep here.
    fn ring(&self);
    /// How long a sleep may last that wakes for this bell's word and something else besides: it takes the place of
    /// [`Doorbell::sleep`] (see `ShmComm::sleep` of `tern-shm`), and [`Doorbell::woke`] follows it.
    fn longest(&self, timeout: Option<Duration>) -> Option<Duration> {
        timeout
    }
    /// Such a sleep is over.
    fn woke(&self) {}
}

/// A doorbell where nobody sleeps: of a network in virtual time, or of a test that polls by itself.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl Doorbell for Silent {
    fn arm(&self) -> u32 {
        0
    }
    fn disarm(&self) {}
    fn sleep(&self, _: u32, _: Option<Duration>) -> bool {
        false
    }
    fn ring(&self) {}
}
