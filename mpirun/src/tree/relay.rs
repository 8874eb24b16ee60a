//! Lines of an agent's ranks on their way to `mpirun`.

use crate::limits::RELAY_BYTES_MAX;
use crate::output::streams::LineSink;
use crate::tree::messages::Up;

/// Hands lines on while `mpirun` takes them: so many bytes may be on their way, so that a reader of `mpirun`'s output
/// that does not read holds the ranks, and never the messages that are not output.
#[derive(Debug, Default)]
pub(crate) struct Relay {
    queue: Vec<Up>,
    under_way: usize,
}

impl Relay {
    /// What is to be sent.
    pub(crate) fn take_all(&mut self) -> Vec<Up> {
        std::mem::take(&mut self.queue)
    }

    /// So many bytes have found their place.
    pub(crate) fn on_taken(&mut self, bytes: u32) {
        self.under_way = self.under_way.saturating_sub(bytes as usize);
    }
}

impl LineSink for Relay {
    fn take(&mut self, rank: u32, error: bool, bytes: &[u8]) {
        self.under_way += bytes.len();
        self.queue.push(Up::Output { rank, error, bytes: bytes.to_vec() });
    }

    fn is_full(&self, _error: bool) -> bool {
        self.under_way >= RELAY_BYTES_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_under_way_is_bounded() {
        let mut relay = Relay::default();
        relay.take(0, false, &vec![b'x'; RELAY_BYTES_MAX]);
        assert!(relay.is_full(false) && relay.is_full(true));
        assert_eq!(relay.take_all().len(), 1);
        relay.on_taken(1);
        assert!(!relay.is_full(true));
        relay.on_taken(u32::MAX);
        assert!(!relay.is_full(true));
    }
}
