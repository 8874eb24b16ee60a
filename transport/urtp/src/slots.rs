//! Packets that are kept until all their receivers have acknowledged them: the paper's minibuffers (appendix A).

use crate::WorldRank;
use crate::group::GroupIndex;
use crate::store::Store;

/// Names a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SlotId(pub(crate) u32);

impl SlotId {
    pub(crate) const NONE: SlotId = SlotId(u32::MAX);
}

/// For whom a packet is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SlotDestination {
    Rank(WorldRank, u64),
    Group(GroupIndex),
    /// The parity of a run.
    Parity(GroupIndex),
}

/// A packet: head and payload in one block.
#[derive(Debug)]
pub(crate) struct PacketSlot {
    pub(crate) to: SlotDestination,
    pub(crate) block: u32,
    /// Bytes before the payload.
    pub(crate) head: u16,
    /// Bytes with it.
    pub(crate) len: u16,
    /// Acknowledgements that lack.
    pub(crate) unacked: u32,
    /// Queues in which it stands.
    pub(crate) queues: u8,
    /// It stands in the queue of what goes again.
    pub(crate) again: bool,
    /// Whoever gets it again shall acknowledge at once.
    pub(crate) urgent: bool,
    /// It goes again to one after the other, however many lack it.
    pub(crate) alone: bool,
    /// Members, by their indices in the group, that lack it.
    wanted: Vec<u64>,
    pub(crate) wanting: u32,
}

impl PacketSlot {
    pub(crate) fn want(&mut self, index: u32) {
        let (word, bit) = (index as usize / 64, 1 << (index % 64));
        if word >= self.wanted.len() {
            self.wanted.resize(word + 1, 0);
        }
        self.wanting += u32::from(self.wanted[word] & bit == 0);
        self.wanted[word] |= bit;
    }

    /// The first member that lacks it.
    pub(crate) fn wanting_first(&self) -> Option<u32> {
        let word = self.wanted.iter().position(|word| *word != 0)?;
        Some(word as u32 * 64 + self.wanted[word].trailing_zeros())
    }

    pub(crate) fn wants(&self, index: u32) -> bool {
        self.wanted.get(index as usize / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    pub(crate) fn satisfy(&mut self, index: u32) {
        if self.wants(index) {
            self.wanted[index as usize / 64] &= !(1 << (index % 64));
            self.wanting -= 1;
        }
    }
}

#[derive(Debug)]
pub(crate) struct PacketSlots {
    slots: Vec<PacketSlot>,
    free: Vec<u32>,
    max: usize,
    pub(crate) store: Store,
}

impl PacketSlots {
    /// At most so many slots, of packets of at most so many bytes.
    pub(crate) fn new(max: usize, body_bytes_max: usize) -> PacketSlots {
        PacketSlots { slots: Vec::new(), free: Vec::new(), max, store: Store::new(body_bytes_max) }
    }

    pub(crate) fn left(&self) -> usize {
        self.max - (self.slots.len() - self.free.len())
    }

    /// A slot in no queue that nobody has to acknowledge yet. The caller has seen that one is left.
    pub(crate) fn take(&mut self, to: SlotDestination) -> SlotId {
        let block = self.store.take();
        if let Some(index) = self.free.pop() {
            let slot = &mut self.slots[index as usize];
            slot.wanted.fill(0);
            let wanted = std::mem::take(&mut slot.wanted);
            *slot = PacketSlot { wanted, ..fresh(to, block) };
            return SlotId(index);
        }
        self.slots.push(fresh(to, block));
        SlotId(self.slots.len() as u32 - 1)
    }

    /// Frees a slot that nobody needs any more.
    pub(crate) fn free_if_done(&mut self, id: SlotId) {
        let slot = &self.slots[id.0 as usize];
        if slot.unacked == 0 && slot.queues == 0 {
            self.store.give_back(slot.block);
            self.free.push(id.0);
        }
    }

    /// The groups to which packets are kept.
    pub(crate) fn groups(&self) -> impl Iterator<Item = GroupIndex> + '_ {
        let kept = self.slots.iter().filter(|slot| slot.unacked > 0 || slot.queues > 0);
        kept.filter_map(|slot| match slot.to {
            SlotDestination::Group(group) | SlotDestination::Parity(group) => Some(group),
            SlotDestination::Rank(..) => None,
        })
    }

    pub(crate) fn get(&self, id: SlotId) -> &PacketSlot {
        &self.slots[id.0 as usize]
    }

    pub(crate) fn get_mut(&mut self, id: SlotId) -> &mut PacketSlot {
        &mut self.slots[id.0 as usize]
    }

    /// Head and payload.
    pub(crate) fn bytes(&self, id: SlotId) -> &[u8] {
        let slot = self.get(id);
        &self.store.bytes(slot.block)[..slot.len.into()]
    }

    /// The whole block.
    pub(crate) fn block_mut(&mut self, id: SlotId) -> &mut [u8] {
        let block = self.get(id).block;
        self.store.bytes_mut(block)
    }
}

fn fresh(to: SlotDestination, block: u32) -> PacketSlot {
    PacketSlot {
        to,
        block,
        head: 0,
        len: 0,
        unacked: 0,
        queues: 0,
        again: false,
        alone: false,
        urgent: false,
        wanted: Vec::new(),
        wanting: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: GroupIndex = GroupIndex { place: 0, generation: 0 };

    #[test]
    fn a_slot_is_free_when_it_is_acknowledged_and_in_no_queue() {
        let mut slots = PacketSlots::new(1, 64);
        let id = slots.take(SlotDestination::Rank(3, 7));
        slots.get_mut(id).unacked = 1;
        slots.get_mut(id).want(70);
        slots.free_if_done(id);
        assert_eq!(slots.left(), 0);
        slots.get_mut(id).unacked = 0;
        slots.free_if_done(id);
        assert_eq!((slots.left(), slots.take(SlotDestination::Rank(1, 1))), (1, id));
        assert_eq!((slots.get(id).wanting, slots.get(id).wanting_first()), (0, None));
    }

    #[test]
    fn members_are_wanting_once() {
        let mut slots = PacketSlots::new(1, 64);
        let id = slots.take(SlotDestination::Group(GROUP));
        let slot = slots.get_mut(id);
        for index in [130, 5, 130] {
            slot.want(index);
        }
        assert_eq!((slot.wanting, slot.wanting_first(), slot.wants(130)), (2, Some(5), true));
        for index in [5, 5, 9] {
            slot.satisfy(index);
        }
        assert_eq!((slot.wanting, slot.wanting_first()), (1, Some(130)));
    }

    #[test]
    fn a_group_has_packets_until_the_last_is_acknowledged_and_in_no_queue() {
        let mut slots = PacketSlots::new(3, 64);
        let other = GroupIndex { place: 1, generation: 0 };
        let ids =
            [SlotDestination::Group(GROUP), SlotDestination::Rank(3, 7), SlotDestination::Parity(other)]
                .map(|to| slots.take(to));
        slots.get_mut(ids[0]).unacked = 1;
        slots.get_mut(ids[1]).unacked = 1;
        slots.get_mut(ids[2]).queues = 1;
        assert_eq!(slots.groups().collect::<Vec<_>>(), [GROUP, other]);
        slots.get_mut(ids[0]).unacked = 0;
        slots.get_mut(ids[2]).queues = 0;
        assert_eq!(slots.groups().count(), 0);
    }
}
