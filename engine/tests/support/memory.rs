//! Users' buffers for tests, contiguous and strided.

use super::rng::Rng;
use tern_mem::basic::Basic;
use tern_mem::datatype::{ConstructorForm, Datatype};
use tern_mem::{ContiguousBuf, UserBuf};

/// What lies in the gaps of a strided buffer and must stay there.
const GAP: u8 = 0xa5;

/// A buffer and the memory behind it.
pub(crate) struct Memory {
    buf: UserBuf,
    /// What a contiguous buffer points to.
    _contiguous: Box<[u8]>,
    /// Of a strided buffer: blocks of `block` bytes every `2 * block`.
    strided: Option<(Vec<u8>, usize)>,
}

impl Memory {
    /// `len` bytes, consecutive, of the program or of the engine, or with gaps.
    pub(crate) fn random(rng: &mut Rng, len: usize) -> Self {
        let block = [1, 3, 8, 100][rng.below(4)];
        if len % block == 0 && len / block > 1 && rng.chance(40) {
            return Memory::strided(len, block);
        }
        if rng.chance(50) {
            return Memory::contiguous(len);
        }
        Memory { buf: UserBuf::owned(len), _contiguous: Box::default(), strided: None }
    }

    /// `len` bytes of the program's own memory.
    pub(crate) fn contiguous(len: usize) -> Self {
        let mut bytes = vec![0; len].into_boxed_slice();
        // SAFETY: the memory belongs to the same value as the buffer, stays where it is when that moves, and is used through
        // the buffer alone.
        let buf = unsafe { UserBuf::contiguous(bytes.as_mut_ptr(), len) };
        Memory { buf, _contiguous: bytes, strided: None }
    }

    fn strided(len: usize, block: usize) -> Self {
        let mut bytes = vec![GAP; 2 * len];
        let byte = Datatype::predefined(Basic::Byte);
        let (count, block_long) = ((len / block) as i64, block as i64);
        let vector = Datatype::vector(ConstructorForm::Int, count, block_long, 2 * block_long, byte)
            .expect("a vector");
        // SAFETY: `count` blocks of `block` bytes at every `2 * block` lie within the vector, which moves into
        // the same value as the buffer, is never resized, and is read only by `gaps_are_whole`.
        let buf = unsafe { vector.buffer(bytes.as_mut_ptr(), 1) };
        Memory { buf, _contiguous: Box::default(), strided: Some((bytes, block)) }
    }

    pub(crate) fn buf(&self) -> &UserBuf {
        &self.buf
    }

    /// The memory of [`Memory::contiguous`].
    pub(crate) fn as_contiguous(&self) -> ContiguousBuf {
        let base = self.buf.contiguous_at(0, self.buf.len()).expect("consecutive bytes");
        // SAFETY: as in `contiguous`.
        unsafe { ContiguousBuf::new(base, self.buf.len()) }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.buf.len()];
        self.buf.read(0, &mut bytes);
        bytes
    }

    pub(crate) fn gaps_are_whole(&self) -> bool {
        let Some((bytes, block)) = &self.strided else { return true };
        bytes.chunks(*block).skip(1).step_by(2).flatten().all(|&byte| byte == GAP)
    }
}

/// The bytes of message number `n`.
pub(crate) fn contents(n: usize, len: usize) -> Vec<u8> {
    let mut rng = Rng::new(n as u64);
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        bytes.extend_from_slice(&rng.next().to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}
