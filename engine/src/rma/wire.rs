//! What the messages of windows say, beside their header's kind.
//!
//! | kind | source | context | tag | payload |
//! |---|---|---|---|---|
//! | put | window | first byte | | data |
//! | get | window | first byte | | receiver's request, bytes |
//! | combine | window | first byte | operation, type | elements |
//! | fetch | window | first byte | operation, type | receiver's request, offset in its result, then elements or their bytes |
//! | swap | window | first byte | type | receiver's request, what is compared, what is new |
//! | open | window | | 1 to write | displacement, elements, place of the layout |
//! | layout | place, bytes in all | offset | | a part of the description |
//! | sync | window | | what | the sender's number of the window, then that of an epoch if there is one |
//! | told | window | | what | what it is about |
//!
//! The window is the receiver's number of it. With [`FLAG_OPENED`], the first byte is one of the packed bytes that the last open
//! message names. All of this is checked by whoever receives it.

use super::access::{Combination, LockKind, RefusedAccess, Sync, TargetRefusal};
use crate::wire::{ExtendedHeader, ExtendedHeaderReader};
use tern_mem::Basic;
use tern_mem::op::PredefinedOp;

/// Header flag: the access is to what the last open message names.
pub const FLAG_OPENED: u8 = 4;
/// Header flag of a fetch: the payload holds the number of bytes in place of elements.
pub const FLAG_BARE: u8 = 8;

/// Numbers before a fetch's elements: the request, and where in its result they belong.
pub const FETCH_NUMBERS_BYTES: usize = 16;
/// The request before a swap's elements.
pub const SWAP_NUMBERS_BYTES: usize = 8;

/// A told message: all accesses until the question are done. It holds what was refused, if anything was.
pub const TOLD_DONE: i32 = 1;
/// A told message: the lock is held now. It has the newest epoch that has had it.
pub const TOLD_GRANTED: i32 = 2;
/// A told message: begins with the request that gets nothing. What was refused follows.
pub const TOLD_REFUSED: i32 = 3;

/// Bits of a tag that hold the handle of an operation; that of the type is above.
const OP_BITS: u32 = 10;

impl Combination {
    /// As a tag.
    pub fn tag(self) -> i32 {
        i32::from(self.op.handle_value()) | i32::from(self.basic.handle_value()) << OP_BITS
    }

    /// From a tag, if the operation is one of the type's.
    pub fn from_tag(tag: i32) -> Option<Combination> {
        let tag = usize::try_from(tag).ok()?;
        let op = PredefinedOp::from_handle(tag & ((1 << OP_BITS) - 1))?;
        let basic = Basic::from_handle(tag >> OP_BITS)?;
        let fits = matches!(op, PredefinedOp::Replace | PredefinedOp::NoOp) || op.allows(basic);
        fits.then_some(Combination { op, basic })
    }
}

impl RefusedAccess {
    /// Appends it to an extended header.
    pub fn append_to(self, extended: ExtendedHeader) -> ExtendedHeader {
        extended.with(self.why as u64).with(self.at)
    }

    /// Reads what may be one.
    pub fn read(reader: &mut ExtendedHeaderReader<'_>) -> Option<RefusedAccess> {
        let why = TargetRefusal::from_number(reader.number()?)?;
        Some(RefusedAccess { why, at: reader.number()? })
    }
}

impl TargetRefusal {
    /// From a number, which may be anything.
    fn from_number(number: u64) -> Option<TargetRefusal> {
        [TargetRefusal::Outside, TargetRefusal::Unmapped, TargetRefusal::Malformed]
            .into_iter()
            .find(|refusal| *refusal as u64 == number)
    }
}

impl Sync {
    /// As a tag.
    pub fn tag(self) -> i32 {
        match self {
            Sync::Flush => 1,
            Sync::Post => 2,
            Sync::Complete => 3,
            Sync::Lock(LockKind::Shared) => 4,
            Sync::Lock(LockKind::Exclusive) => 5,
            Sync::Unlock(LockKind::Shared) => 6,
            Sync::Unlock(LockKind::Exclusive) => 7,
            Sync::Lock(LockKind::All(_)) => 8,
            Sync::Unlock(LockKind::All(_)) => 9,
        }
    }

    /// Appends to an extended header what the tag does not say.
    pub fn append_to(self, extended: ExtendedHeader) -> ExtendedHeader {
        match self {
            Sync::Lock(LockKind::All(epoch)) | Sync::Unlock(LockKind::All(epoch)) => extended.with(epoch),
            _ => extended,
        }
    }

    /// From a tag and what follows.
    pub fn read(tag: i32, reader: &mut ExtendedHeaderReader<'_>) -> Option<Sync> {
        Some(match tag {
            1 => Sync::Flush,
            2 => Sync::Post,
            3 => Sync::Complete,
            4 => Sync::Lock(LockKind::Shared),
            5 => Sync::Lock(LockKind::Exclusive),
            6 => Sync::Unlock(LockKind::Shared),
            7 => Sync::Unlock(LockKind::Exclusive),
            8 => Sync::Lock(LockKind::All(reader.number()?)),
            9 => Sync::Unlock(LockKind::All(reader.number()?)),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for op in [PredefinedOp::Sum, PredefinedOp::Replace, PredefinedOp::NoOp, PredefinedOp::Bxor] {
            for basic in Basic::ALL {
                let fits = matches!(op, PredefinedOp::Replace | PredefinedOp::NoOp) || op.allows(basic);
                let both = Combination { op, basic };
                assert_eq!(Combination::from_tag(both.tag()), fits.then_some(both), "{op} of {basic}");
            }
        }
        let epoch = ExtendedHeader::EMPTY.with(5);
        let all = (0..12).filter_map(|tag| Sync::read(tag, &mut ExtendedHeaderReader(epoch.bytes())));
        assert_eq!(all.clone().count(), 9);
        for sync in all {
            let extended = sync.append_to(ExtendedHeader::EMPTY);
            assert_eq!(Sync::read(sync.tag(), &mut ExtendedHeaderReader(extended.bytes())), Some(sync));
        }
        assert_eq!(Sync::read(8, &mut ExtendedHeaderReader(&[])), None);
        let read = |numbers: [u64; 2]| {
            let extended = numbers.into_iter().fold(ExtendedHeader::EMPTY, ExtendedHeader::with);
            RefusedAccess::read(&mut ExtendedHeaderReader(extended.bytes()))
        };
        let refused: Vec<RefusedAccess> = (0..5).filter_map(|why| read([why, 7])).collect();
        assert!(refused.len() == 3 && refused.iter().all(|refused| refused.at == 7));
        for refused in refused {
            assert_eq!(read([refused.why as u64, refused.at]), Some(refused));
            let extended = refused.append_to(ExtendedHeader::EMPTY);
            assert_eq!(RefusedAccess::read(&mut ExtendedHeaderReader(extended.bytes())), Some(refused));
        }
        assert_eq!(RefusedAccess::read(&mut ExtendedHeaderReader(&[])), None);
        assert_eq!((Combination::from_tag(-1), Combination::from_tag(i32::MAX)), (None, None));
    }
}
