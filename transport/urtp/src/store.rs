//! Memory for packets: blocks of one size, made when first needed and used again.
//!
//! The paper's receiver has (p − 1) W + c buffers, or fewer with "a reserved buffer for the critical packet from each
//! processor" (section 3.1). [`HeldBuffers`] counts them so: those of all senders together, and beside them one for
//! each sender, for the packet that its receiver takes next. So whatever the others send, what is waited for has room.
//! Control packets are never kept: c is 0.

/// Blocks of bytes.
#[derive(Debug)]
pub(crate) struct Store {
    block_bytes: usize,
    blocks: Vec<Box<[u8]>>,
    free: Vec<u32>,
}

impl Store {
    pub(crate) fn new(block_bytes: usize) -> Store {
        Store { block_bytes, blocks: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn take(&mut self) -> u32 {
        if let Some(block) = self.free.pop() {
            return block;
        }
        self.blocks.push(vec![0; self.block_bytes].into());
        self.blocks.len() as u32 - 1
    }

    pub(crate) fn give_back(&mut self, block: u32) {
        self.free.push(block);
    }

    pub(crate) fn bytes(&self, block: u32) -> &[u8] {
        &self.blocks[block as usize]
    }

    pub(crate) fn bytes_mut(&mut self, block: u32) -> &mut [u8] {
        &mut self.blocks[block as usize]
    }

    /// A block to read, and another one to write.
    pub(crate) fn two(&mut self, read: u32, write: u32) -> (&[u8], &mut [u8]) {
        let (low, high) = (read.min(write) as usize, read.max(write) as usize);
        let (before, behind) = self.blocks.split_at_mut(high);
        let (low, high) = (&mut before[low], &mut behind[0]);
        if read < write { (low, high) } else { (high, low) }
    }
}

/// How many buffers for received packets are in use.
#[derive(Debug)]
pub(crate) struct HeldBuffers {
    shared: usize,
    shared_max: usize,
    reserved: usize,
}

/// From which buffers one was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    Shared,
    Reserved,
}

impl HeldBuffers {
    pub(crate) fn new(shared_max: usize) -> HeldBuffers {
        HeldBuffers { shared: 0, shared_max, reserved: 0 }
    }

    /// A buffer for a packet; `next`: it is the one that is taken next from its sender, which has at most one such.
    pub(crate) fn take(&mut self, next: bool) -> Option<From> {
        if self.shared < self.shared_max {
            self.shared += 1;
            return Some(From::Shared);
        }
        if next {
            self.reserved += 1;
            return Some(From::Reserved);
        }
        None
    }

    pub(crate) fn give_back(&mut self, from: From) {
        match from {
            From::Shared => self.shared -= 1,
            From::Reserved => self.reserved -= 1,
        }
    }

    pub(crate) fn shared_left(&self) -> usize {
        self.shared_max - self.shared
    }

    pub(crate) fn in_use(&self) -> usize {
        self.shared + self.reserved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packet_that_is_next_has_room_when_no_other_has() {
        let mut held = HeldBuffers::new(1);
        assert_eq!(held.take(false), Some(From::Shared));
        assert_eq!((held.take(false), held.take(true)), (None, Some(From::Reserved)));
        held.give_back(From::Shared);
        assert_eq!((held.in_use(), held.shared_left()), (1, 1));
    }

    #[test]
    fn blocks_are_used_again() {
        let mut store = Store::new(4);
        let (one, two) = (store.take(), store.take());
        store.bytes_mut(one).copy_from_slice(b"abcd");
        store.give_back(one);
        assert_eq!(store.take(), one);
        assert_eq!((store.bytes(one), two, store.blocks.len()), (&b"abcd"[..], 1, 2));
    }
}
