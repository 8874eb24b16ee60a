//! Where the ranks of a node run: each says now and then which core it is on.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tern_transport::Peer;

use super::segment::Segment;

/// Which core each rank of the node has been on last.
pub struct NodeCores {
    segment: Arc<Segment>,
    me: Peer,
}

impl NodeCores {
    pub(crate) fn new(segment: Arc<Segment>, me: Peer) -> NodeCores {
        NodeCores { segment, me }
    }

    /// This rank's number on the node.
    pub fn me(&self) -> Peer {
        self.me
    }

    /// This rank is on that core.
    pub fn say(&self, core: u32) {
        let said = &self.segment.control(self.me).hello.core;
        // Others read the line: it is written only for what is new.
        if said.load(Ordering::Relaxed) != core + 1 {
            said.store(core + 1, Ordering::Relaxed);
        }
    }

    /// What each rank has said, in the order of their numbers; `None` of one that has said nothing yet.
    pub fn seen(&self) -> impl Iterator<Item = Option<u32>> + Clone {
        let of = |rank| self.segment.control(rank).hello.core.load(Ordering::Relaxed).checked_sub(1);
        (0..self.segment.layout().size).map(of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abroad::memory_file;
    use tern_transport::config::TransportConfig;

    #[test]
    fn each_rank_sees_what_the_others_have_said() {
        let fd = memory_file().unwrap();
        let ranks = [0, 1, 2].map(|me| {
            let segment = Segment::attach(&fd, 3, &TransportConfig::default()).unwrap();
            NodeCores::new(Arc::new(segment), me)
        });
        ranks[0].say(0);
        ranks[2].say(7);
        ranks.iter().for_each(|rank| assert!(rank.seen().eq([Some(0), None, Some(7)])));
        ranks[2].say(1);
        assert!(ranks[1].seen().eq([Some(0), None, Some(1)]));
    }
}
