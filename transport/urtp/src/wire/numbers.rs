//! The numbers of a packet's members: the paper's sequence number for every processor of the hardware group (section 3.2.1),
//! in few bytes.
//!
//! Members are consecutive ones of the group, `count` from `first` on. A bitmap says which of them are addressed: a bit that
//! is 0 is the paper's invalid number. The head's number is that of most members. Then follows one of two forms:
//!
//! - form n < 128: n exceptions of 6 bytes, a member's place and its number, in ascending order. Where a sender has only
//!   multicast to the group there is none, and the numbers take `count`/8 bytes.
//! - form 129, 130 or 132: for each of the `count` members 1, 2 or 4 bytes, to be added to the head's number.

use super::{MalformedPacket, half, word};
use crate::limits::{MEMBERS_PER_PACKET_MAX, NUMBERS_BYTES_MAX};

const EACH: u8 = 128;
const EXCEPTION_BYTES: usize = 6;

/// The numbers in a packet that came.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacketNumbers<'a> {
    base: u32,
    form: u8,
    first: u16,
    count: u16,
    bitmap: &'a [u8],
    list: &'a [u8],
}

impl<'a> PacketNumbers<'a> {
    /// Reads them from the front of `rest`, and returns what is behind.
    pub(crate) fn parse(
        base: u32,
        form: u8,
        first: u16,
        count: u16,
        rest: &'a [u8],
    ) -> Result<(PacketNumbers<'a>, &'a [u8]), MalformedPacket> {
        let members = usize::from(count);
        if members == 0 || members > MEMBERS_PER_PACKET_MAX || usize::from(first) + members > 1 << 16 {
            return Err(MalformedPacket::Range);
        }
        let (bitmap, rest) = rest.split_at_checked(members.div_ceil(8)).ok_or(MalformedPacket::Short)?;
        let bytes = match form {
            exceptions if exceptions < EACH => usize::from(exceptions) * EXCEPTION_BYTES,
            129 | 130 | 132 => usize::from(form - EACH) * members,
            _ => return Err(MalformedPacket::Unknown),
        };
        let (list, rest) = rest.split_at_checked(bytes).ok_or(MalformedPacket::Short)?;
        let numbers = PacketNumbers { base, form, first, count, bitmap, list };
        let surplus = members % 8 != 0 && bitmap[members / 8] >> (members % 8) != 0;
        if surplus || !numbers.exceptions_ascend() || bitmap.len() + bytes > NUMBERS_BYTES_MAX {
            return Err(MalformedPacket::Range);
        }
        Ok((numbers, rest))
    }

    fn exceptions_ascend(&self) -> bool {
        let places = || self.list.chunks_exact(EXCEPTION_BYTES).map(|entry| half(entry, 0));
        self.form >= EACH
            || (places().zip(places().skip(1)).all(|(one, next)| one < next)
                && places().all(|at| at < self.count))
    }

    /// The first of the members, and how many there are.
    pub fn range(&self) -> (u16, u16) {
        (self.first, self.count)
    }

    /// The number of the member with this index in the group; `None` if it is not addressed.
    pub fn get(&self, index: u32) -> Option<u32> {
        let at = index.checked_sub(self.first.into()).filter(|at| *at < self.count.into())? as usize;
        if self.bitmap[at / 8] >> (at % 8) & 1 == 0 {
            return None;
        }
        let delta = match self.form {
            129 => u32::from(self.list[at]),
            130 => half(self.list, 2 * at).into(),
            132 => word(self.list, 4 * at),
            _ => return Some(self.exception(at).unwrap_or(self.base)),
        };
        Some(self.base.wrapping_add(delta))
    }

    fn exception(&self, at: usize) -> Option<u32> {
        let entries = self.list.chunks_exact(EXCEPTION_BYTES);
        entries.into_iter().find(|entry| usize::from(half(entry, 0)) == at).map(|entry| word(entry, 2))
    }

    /// All members that are addressed, with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let first = u32::from(self.first);
        (first..first + u32::from(self.count)).filter_map(|index| Some((index, self.get(index)?)))
    }
}

/// How numbers will be written: the members `first..first + count` of `all`, which has a number for each addressed member.
#[derive(Debug)]
pub struct NumbersPlan<'a> {
    all: &'a [Option<u32>],
    pub(crate) first: u16,
    pub(crate) count: u16,
    pub(crate) base: u32,
    exceptions: usize,
    width: usize,
}

impl<'a> NumbersPlan<'a> {
    /// As many members as fit, from the first addressed one at or after `from` on. `None`: none is left.
    pub fn new(all: &'a [Option<u32>], from: usize) -> Option<NumbersPlan<'a>> {
        let first = from + all.get(from..)?.iter().position(Option::is_some)?;
        let last = all.iter().rposition(Option::is_some)?;
        let mut count = (last + 1 - first).min(MEMBERS_PER_PACKET_MAX);
        loop {
            let plan = NumbersPlan::of(all, first, count);
            if plan.bytes() <= NUMBERS_BYTES_MAX {
                return Some(plan);
            }
            count = count.div_ceil(2);
        }
    }

    fn of(all: &'a [Option<u32>], first: usize, count: usize) -> NumbersPlan<'a> {
        let part = || all[first..first + count].iter().flatten().copied();
        let most = majority(part());
        let exceptions = part().filter(|number| *number != most).count();
        // The least one, counted from the most usual: numbers may have passed 2^32.
        let least = part().map(|number| number.wrapping_sub(most) as i32).min().unwrap_or(0);
        let base = most.wrapping_add(least as u32);
        let span = part().map(|number| number.wrapping_sub(base)).max().unwrap_or(0);
        let width = if span <= 0xFF {
            1
        } else if span <= 0xFFFF {
            2
        } else {
            4
        };
        let (first, count) = (first as u16, count as u16);
        let short = exceptions < EACH.into() && exceptions * EXCEPTION_BYTES <= width * usize::from(count);
        if short {
            NumbersPlan { all, first, count, base: most, exceptions, width: 0 }
        } else {
            NumbersPlan { all, first, count, base, exceptions: 0, width }
        }
    }

    /// The index of the first member that is not covered.
    pub fn end(&self) -> usize {
        usize::from(self.first) + usize::from(self.count)
    }

    /// Bytes that will be written.
    pub fn bytes(&self) -> usize {
        let members = usize::from(self.count);
        members.div_ceil(8) + self.exceptions * EXCEPTION_BYTES + self.width * members
    }

    /// Bytes of the bitmap alone.
    pub(crate) fn bitmap_bytes(&self) -> usize {
        usize::from(self.count).div_ceil(8)
    }

    pub(crate) fn form(&self) -> u8 {
        if self.width == 0 { self.exceptions as u8 } else { EACH + self.width as u8 }
    }

    /// The indices of the members that are addressed.
    pub(crate) fn addressed(&self) -> impl Iterator<Item = usize> + use<'a> {
        let (first, part) = (usize::from(self.first), self.part());
        part.iter().enumerate().filter(|(_, number)| number.is_some()).map(move |(at, _)| first + at)
    }

    fn part(&self) -> &'a [Option<u32>] {
        &self.all[usize::from(self.first)..self.end()]
    }

    /// Writes bitmap and list, and returns how long they are.
    pub(crate) fn emit(&self, out: &mut [u8]) -> usize {
        let (bitmap, mut list) = out[..self.bytes()].split_at_mut(usize::from(self.count).div_ceil(8));
        bitmap.fill(0);
        for (at, number) in self.part().iter().enumerate() {
            let Some(number) = number else {
                if self.width > 0 {
                    list = fill(list, &[0; 4][..self.width]);
                }
                continue;
            };
            bitmap[at / 8] |= 1 << (at % 8);
            if self.width > 0 {
                list = fill(list, &number.wrapping_sub(self.base).to_le_bytes()[..self.width]);
            } else if *number != self.base {
                list = fill(list, &(at as u16).to_le_bytes());
                list = fill(list, &number.to_le_bytes());
            }
        }
        self.bytes()
    }
}

fn fill<'o>(out: &'o mut [u8], bytes: &[u8]) -> &'o mut [u8] {
    let (now, rest) = out.split_at_mut(bytes.len());
    now.copy_from_slice(bytes);
    rest
}

/// The number that more than half of them are, if there is one; else one of them (Boyer and Moore, "MJRTY", 1981).
fn majority(numbers: impl Iterator<Item = u32>) -> u32 {
    let vote = |(candidate, votes): (u32, usize), number| match votes {
        0 => (number, 1),
        votes if number == candidate => (candidate, votes + 1),
        votes => (candidate, votes - 1),
    };
    numbers.fold((0, 0), vote).0
}
