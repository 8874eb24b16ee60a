//! An input that is taken apart into numbers and pieces.

#![allow(unreachable_pub, reason = "rooms include this file, and the fuzzer is a crate of its own")]

/// Bytes taken from the front of an input; zeros once it is used up.
pub struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    /// So many bytes, or what is left.
    pub fn take(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// The next bytes as an array.
    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut array = [0; N];
        let taken = self.take(N);
        array[..taken.len()].copy_from_slice(taken);
        array
    }

    /// A number from one byte.
    pub fn byte(&mut self) -> usize {
        self.array::<1>()[0].into()
    }

    /// A number from four bytes.
    pub fn word(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
