//! Asking for an engine's memory before it is needed: for a simulator, which knows which of a million engines runs next.

use crate::Engine;
use crate::matching::Posted;
use crate::slab::Slab;
use tern_mem::prefetch;

impl<T> Engine<T> {
    /// Asks for what a message needs of this engine, which itself is there already.
    pub fn prefetch(&self) {
        self.core.posted.prefetch();
        self.core.requests.prefetch();
    }
}

impl Posted {
    fn prefetch(&self) {
        if let Some(first) = self.first() {
            prefetch(first);
        }
    }
}

impl<T: Default> Slab<T> {
    fn prefetch(&self) {
        prefetch(self.beginning());
    }
}
