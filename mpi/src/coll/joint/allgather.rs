//! Allgather: all write their blocks side by side, meet, and read all of them.

use super::direct::{Fetch, part};
use super::gather::blocks;
use super::{Joint, pieces, whole_lines};
use crate::limits::JOINT_FETCH_BYTES_MIN;
use tern_coll::{Buf, Data, Span, Ty};
use tern_mem::UserBuf;
use tern_transport::Team;

impl Joint<'_> {
    /// Without `send`, this rank's block is in its place.
    pub(super) fn allgather(&mut self, send: Option<Data>, recv: Data) {
        let everything = blocks(recv, self.size(), Buf::Recv, Ty::Recv);
        let (all, bytes) = (self.buffer(everything), recv.bytes() as usize);
        let block = |rank: u32| part(everything, u64::from(rank) * recv.count, recv.count);
        let own = self.buffer(send.map_or(block(self.team.rank()), |send| send.in_send()));
        if self.swaps(bytes) {
            self.swap((&own, 0), (&all, self.other() as usize * bytes), bytes);
        } else if !(self.size() == 2
            && bytes >= JOINT_FETCH_BYTES_MIN
            && self.fetch_block(&own, block(self.other())))
        {
            for (at, len) in pieces(bytes, whole_lines(Team::MEETING_BYTES / self.size())) {
                self.allgather_piece(&own, &all, at, len);
            }
        }
        if send.is_some() {
            UserBuf::copy(&own, 0, &all, self.me() * bytes, bytes);
        }
    }

    /// Each of two ranks fetches the other's block.
    fn fetch_block(&mut self, own: &UserBuf, block: Span) -> bool {
        let wanted = Fetch { from: self.other(), offset: 0, into: self.buffer(block) };
        self.fetch_all(Some(own), std::iter::once(wanted))
    }

    /// Bytes `at..at + len` of each block.
    fn allgather_piece(&mut self, own: &UserBuf, all: &UserBuf, at: usize, len: usize) {
        let meeting = self.team.meet();
        let table = self.team.table(meeting);
        table.will_write(self.me() * len, len);
        UserBuf::copy(own, at, table.buf(), self.me() * len, len);
        self.all_come(meeting);
        for rank in (0..self.size()).filter(|&rank| rank != self.me()) {
            UserBuf::copy(table.buf(), rank * len, all, rank * own.len() + at, len);
        }
    }
}
