//! The buffers of all ranks.

use crate::limits::MESSAGE_BYTES_MAX;
use tern_coll::{Buf, Slice, Temp, Ty};
use tern_mem::UserBuf;
use tern_transport::Remote;

/// The buffers of all ranks.
pub enum SimulatedMemory {
    /// One block for all, as long as the longest message so far: nobody looks at what is in it.
    Scratch(UserBuf),
    /// Each rank's own, with elements of so many bytes.
    Own(Vec<Space>, u64),
}

/// The buffers of one rank.
#[derive(Clone)]
pub struct Space {
    /// The send buffer.
    pub send: UserBuf,
    /// The receive buffer.
    pub recv: UserBuf,
    /// Temporary ones of the schedule.
    pub temps: Vec<UserBuf>,
}

impl Space {
    /// All of them.
    pub fn all(&self) -> Vec<UserBuf> {
        let [send, recv] = [&self.send, &self.recv].map(Clone::clone);
        [send, recv].into_iter().chain(self.temps.iter().cloned()).collect()
    }

    /// Makes room for the temporary buffers of a schedule.
    pub fn provide(&mut self, temps: &[Temp], element_bytes: u64) {
        let owned = |temp: &Temp| UserBuf::owned((temp.count * size(temp.ty, element_bytes)) as usize);
        self.temps = temps.iter().map(owned).collect();
    }
}

impl SimulatedMemory {
    /// Memory that nobody looks at.
    pub fn scratch() -> SimulatedMemory {
        SimulatedMemory::Scratch(UserBuf::owned(1 << 16))
    }

    /// The memory of a slice of a rank's; `None` if it is too long to be simulated, or outside of its buffer.
    pub fn buffer(&mut self, rank: u32, slice: &Slice, element_bytes: u64) -> Option<UserBuf> {
        let bytes = slice.count.checked_mul(size(slice.ty, element_bytes))?;
        match self {
            SimulatedMemory::Scratch(block) => {
                if bytes > MESSAGE_BYTES_MAX {
                    return None;
                }
                if bytes > block.len() as u64 {
                    *block = UserBuf::owned(bytes.next_power_of_two() as usize);
                }
                block.part(0, bytes as usize)
            }
            SimulatedMemory::Own(spaces, _) => {
                let space = &spaces[rank as usize];
                let whole = match slice.buf {
                    Buf::Send => &space.send,
                    Buf::Recv => &space.recv,
                    Buf::Temp(index) => space.temps.get(index as usize)?,
                };
                let part = whole.part(usize::try_from(slice.offset).ok()?, bytes as usize)?;
                (part.len() as u64 == bytes).then_some(part)
            }
        }
    }
}

impl SimulatedMemory {
    /// Copies from the memory of a rank to a buffer, where bytes are moved.
    pub fn copy_from(&self, rank: u32, from: Remote, into: &UserBuf) {
        let Some((memory, offset)) = self.named(rank, from) else { return };
        UserBuf::copy(&memory, offset, into, 0, from.len as usize);
    }

    /// Copies a buffer to the memory of a rank, where bytes are moved.
    pub fn copy_to(&self, rank: u32, from: &UserBuf, into: Remote) {
        let Some((memory, offset)) = self.named(rank, into) else { return };
        UserBuf::copy(from, 0, &memory, offset, into.len as usize);
    }

    /// The memory of a rank that is meant, and the place in it.
    fn named(&self, rank: u32, remote: Remote) -> Option<(UserBuf, usize)> {
        let SimulatedMemory::Own(spaces, _) = self else { return None };
        let place = |memory: &UserBuf| {
            let (base, len) = memory.as_contiguous()?;
            let offset = (remote.addr as usize).checked_sub(base)?;
            (offset + remote.len as usize <= len).then_some(offset)
        };
        let all = spaces[rank as usize].all().into_iter();
        let found = all.filter_map(|memory| place(&memory).map(|offset| (memory, offset))).next();
        Some(found.expect("a copy names memory of a call"))
    }
}

/// The bytes of a slice; of one that cannot be, all there are.
pub fn slice_bytes(slice: &Slice, element_bytes: u64) -> u64 {
    slice.count.saturating_mul(size(slice.ty, element_bytes))
}

fn size(ty: Ty, element_bytes: u64) -> u64 {
    if ty == Ty::Byte { 1 } else { element_bytes }
}

/// The bytes of a buffer.
pub fn contents(buf: &UserBuf) -> Vec<u8> {
    let mut bytes = vec![0; buf.len()];
    buf.read(0, &mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(buf: Buf, offset: i64, count: u64) -> Slice {
        Slice { buf, offset, count, ty: Ty::Recv }
    }

    #[test]
    fn scratch_grows_and_is_shared() {
        let mut memory = SimulatedMemory::scratch();
        let mut place = |offset| memory.buffer(3, &slice(Buf::Recv, offset, 100_000), 8).unwrap();
        let (one, other) = (place(0), place(1 << 40));
        assert_eq!(one.len(), 800_000);
        assert_eq!(one.as_contiguous(), other.as_contiguous());
        assert!(memory.buffer(0, &slice(Buf::Send, 0, u64::MAX), 8).is_none());
    }

    #[test]
    fn own_buffers_have_ends() {
        let [send, recv] = [16, 32].map(UserBuf::owned);
        let mut memory = SimulatedMemory::Own(vec![Space { send, recv, temps: vec![] }], 8);
        assert!(memory.buffer(0, &slice(Buf::Send, 8, 1), 8).is_some());
        assert!(memory.buffer(0, &slice(Buf::Send, 8, 2), 8).is_none());
        assert!(memory.buffer(0, &slice(Buf::Recv, -8, 1), 8).is_none());
        assert!(memory.buffer(0, &slice(Buf::Temp(0), 0, 1), 8).is_none());
    }
}
