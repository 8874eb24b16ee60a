//! A file in memory that fails on purpose, and wishes of ranks, both from a seed.

use std::io;
use std::sync::Mutex;
use tern_io::access::StreamPart;
use tern_io::{Storage, View};
use tern_mem::datatype::ConstructorForm;
use tern_mem::{Basic, Datatype, UserBuf};

/// Numbers from a seed (splitmix64).
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }
}

/// A file that moves fewer bytes than it is asked for, is interrupted, is full, or breaks.
pub(crate) struct Faulty(Mutex<Inner>);

struct Inner {
    bytes: Vec<u8>,
    rng: Rng,
    /// Of so many calls one ends in an error; 0: none.
    errors: u64,
    /// The file can have no more bytes.
    room: u64,
    is_faulty: bool,
}

impl Faulty {
    pub(crate) fn new(rng: &mut Rng) -> Faulty {
        let len = rng.below(1500) as usize;
        let bytes = (0..len).map(|_| rng.next() as u8).collect();
        let errors = if rng.below(2) == 0 { 0 } else { 2 + rng.below(40) };
        let room = if rng.below(3) == 0 { len as u64 + rng.below(600) } else { u64::MAX };
        Faulty(Mutex::new(Inner { bytes, rng: Rng::new(rng.next()), errors, room, is_faulty: true }))
    }

    pub(crate) fn flawless() -> Faulty {
        let (rng, bytes) = (Rng::new(0), Vec::new());
        Faulty(Mutex::new(Inner { bytes, rng, errors: 0, room: u64::MAX, is_faulty: false }))
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().bytes.clone()
    }
}

impl Inner {
    /// How many bytes a call moves, or how it fails.
    fn fate(&mut self, len: usize) -> io::Result<usize> {
        if !self.is_faulty {
            return Ok(len);
        }
        if self.rng.below(5) == 0 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if self.errors > 0 && self.rng.below(self.errors) == 0 {
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        Ok(if self.rng.below(3) == 0 { 1 + self.rng.below(len as u64) as usize } else { len })
    }
}

impl Storage for Faulty {
    fn read(&self, buf: &UserBuf, at: usize, len: usize, offset: u64) -> io::Result<usize> {
        let mut inner = self.0.lock().unwrap();
        let len = inner.fate(len)?.min(inner.bytes.len().saturating_sub(offset as usize));
        if len > 0 {
            buf.write(at, &inner.bytes[offset as usize..offset as usize + len]);
        }
        Ok(len)
    }

    fn write(&self, buf: &UserBuf, at: usize, len: usize, offset: u64) -> io::Result<usize> {
        let mut inner = self.0.lock().unwrap();
        let room = inner.room.saturating_sub(offset);
        if room == 0 {
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        }
        let len = inner.fate(len)?.min(room as usize);
        let end = offset as usize + len;
        if inner.bytes.len() < end {
            inner.bytes.resize(end, 0);
        }
        let mut data = vec![0; len];
        buf.read(at, &mut data);
        inner.bytes[offset as usize..end].copy_from_slice(&data);
        Ok(len)
    }
}

/// What a rank wants to write.
pub(crate) struct Wish {
    pub part: StreamPart,
}

impl Wish {
    /// One whose bytes no other rank of so many has.
    pub(crate) fn draw(rng: &mut Rng, rank: u32, ranks: u32) -> Wish {
        let byte = Datatype::predefined(Basic::Byte);
        // All ranks interleave in the same way, so the shape must not depend on the rank.
        let (block, blocks) = (7, 3);
        let vector =
            Datatype::vector(ConstructorForm::Int, blocks, block, block * i64::from(ranks) + 2, byte)
                .unwrap();
        let extent = blocks * (block * i64::from(ranks) + 2);
        let tile = Datatype::resized(ConstructorForm::Int, 0, extent, &vector).unwrap();
        let view = View::new(11 + (block as u64) * u64::from(rank), 1, tile.layout(), true).unwrap();
        let buf = UserBuf::owned(rng.below(300) as usize);
        let data: Vec<u8> = (0..buf.len()).map(|_| rng.next() as u8).collect();
        buf.write(0, &data);
        Wish { part: StreamPart { view, from: rng.below(200), buf } }
    }
}
