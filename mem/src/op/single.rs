//! One element that one atomic instruction combines, found by the handles of a call in one look-up: what most programs do with windows,
//! again and again. All else is for [`super::atomic`], whose rule this follows.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::PredefinedOp::{self, Band, Bor, Bxor, NoOp, Replace, Sum};
use super::{HANDLE_END as OP_END, HANDLE_FIRST as OP_FIRST};
use crate::basic::{Basic, Class, HANDLE_END as TYPE_END, HANDLE_FIRST as TYPE_FIRST, MachineType};

/// How one element is combined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SingleElement {
    step: SingleStep,
    is_long: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SingleStep {
    Load,
    Swap,
    Add,
    And,
    Or,
    Xor,
    /// Numbers that the processor adds in a register: swapped until nobody was faster.
    AddDouble,
}

/// By operation and type.
static STEPS: [[Option<SingleElement>; TYPE_END - TYPE_FIRST]; OP_END - OP_FIRST] = {
    let mut table = [[None; TYPE_END - TYPE_FIRST]; OP_END - OP_FIRST];
    let mut op = OP_FIRST;
    while op < OP_END {
        let mut basic = TYPE_FIRST;
        while basic < TYPE_END {
            if let (Some(known), Some(element)) = (PredefinedOp::from_handle(op), Basic::from_handle(basic)) {
                table[op - OP_FIRST][basic - TYPE_FIRST] = SingleElement::new(known, element);
            }
            basic += 1;
        }
        op += 1;
    }
    table
};

/// Bytes of types that can be compared (section 12.3.4.5), where an instruction does it here.
static COMPARED: [u8; TYPE_END - TYPE_FIRST] = {
    let mut table = [0; TYPE_END - TYPE_FIRST];
    let mut at = TYPE_FIRST;
    while at < TYPE_END {
        if let Some(basic) = Basic::from_handle(at)
            && is_of_processor(basic)
            && basic.is_comparable()
        {
            table[at - TYPE_FIRST] = basic.size() as u8;
        }
        at += 1;
    }
    table
};

/// Whether an element is one of 4 or 8 bytes, without padding.
const fn is_of_processor(basic: Basic) -> bool {
    matches!(basic.size(), 4 | 8) && basic.extent() == basic.size()
}

impl Basic {
    /// Whether `MPI_Compare_and_swap` takes it (section 12.3.4.5): integers, truth values, bytes.
    pub const fn is_comparable(self) -> bool {
        use Class::*;
        matches!(self.class(), CInteger | FortranInteger | Logical | MultiLanguage | Byte)
    }
}

impl SingleElement {
    const fn new(op: PredefinedOp, basic: Basic) -> Option<SingleElement> {
        let is_integer = matches!(
            basic.machine(),
            MachineType::I32 | MachineType::I64 | MachineType::U32 | MachineType::U64
        );
        let is_double = matches!(basic.machine(), MachineType::F64);
        let is_allowed = matches!(op, Replace | NoOp) || op.allows(basic);
        let step = match op {
            NoOp => SingleStep::Load,
            Replace => SingleStep::Swap,
            Sum if is_integer => SingleStep::Add,
            Sum if is_double => SingleStep::AddDouble,
            Band => SingleStep::And,
            Bor => SingleStep::Or,
            Bxor => SingleStep::Xor,
            _ => return None,
        };
        if !is_allowed || !is_of_processor(basic) {
            return None;
        }
        Some(SingleElement { step, is_long: basic.size() == 8 })
    }

    /// How the operation of a handle combines an element of the type of another one, if one instruction does it.
    #[inline(always)]
    pub fn of(op: usize, datatype: usize) -> Option<SingleElement> {
        *STEPS.get(op.wrapping_sub(OP_FIRST))?.get(datatype.wrapping_sub(TYPE_FIRST))?
    }

    /// Bytes of the element.
    #[inline(always)]
    pub fn bytes(self) -> usize {
        if self.is_long { 8 } else { 4 }
    }

    /// Whether nothing is combined: what is there is only read.
    #[inline(always)]
    pub fn reads_only(self) -> bool {
        self.step == SingleStep::Load
    }

    /// Combines the element at `target` with that at `origin`; `fetched` gets what was there, unless it is null.
    ///
    /// # Safety
    /// As [`super::atomic::accumulate`], for one element of [`SingleElement::bytes`] at an address that is a multiple of that.
    #[inline(always)]
    pub unsafe fn combine(self, origin: *const u8, target: *mut u8, fetched: *mut u8) {
        // SAFETY: by the caller.
        unsafe {
            if self.is_long {
                let old = self.combine_long(origin.cast(), AtomicU64::from_ptr(target.cast()));
                if !fetched.is_null() {
                    fetched.cast::<u64>().write_unaligned(old);
                }
            } else {
                let old = self.combine_short(origin.cast(), AtomicU32::from_ptr(target.cast()));
                if !fetched.is_null() {
                    fetched.cast::<u32>().write_unaligned(old);
                }
            }
        }
    }

    /// # Safety
    /// A word can be read at `origin`, unless the element is only read.
    #[inline(always)]
    unsafe fn combine_long(self, origin: *const u64, cell: &AtomicU64) -> u64 {
        use Ordering::SeqCst;
        if self.step == SingleStep::Load {
            return cell.load(SeqCst);
        }
        // SAFETY: by the caller.
        let mine = unsafe { origin.read_unaligned() };
        match self.step {
            SingleStep::Load => unreachable!("it has been read"),
            SingleStep::Swap => cell.swap(mine, SeqCst),
            SingleStep::Add => cell.fetch_add(mine, SeqCst),
            SingleStep::And => cell.fetch_and(mine, SeqCst),
            SingleStep::Or => cell.fetch_or(mine, SeqCst),
            SingleStep::Xor => cell.fetch_xor(mine, SeqCst),
            SingleStep::AddDouble => add_double(cell, f64::from_bits(mine)),
        }
    }

    /// # Safety
    /// Half a word can be read at `origin`, unless the element is only read.
    #[inline(always)]
    unsafe fn combine_short(self, origin: *const u32, cell: &AtomicU32) -> u32 {
        use Ordering::SeqCst;
        if self.step == SingleStep::Load {
            return cell.load(SeqCst);
        }
        // SAFETY: by the caller.
        let mine = unsafe { origin.read_unaligned() };
        match self.step {
            SingleStep::Swap => cell.swap(mine, SeqCst),
            SingleStep::Add => cell.fetch_add(mine, SeqCst),
            SingleStep::And => cell.fetch_and(mine, SeqCst),
            SingleStep::Or => cell.fetch_or(mine, SeqCst),
            SingleStep::Xor => cell.fetch_xor(mine, SeqCst),
            SingleStep::Load | SingleStep::AddDouble => unreachable!("no step of elements of four bytes"),
        }
    }
}

#[inline(always)]
fn add_double(cell: &AtomicU64, mine: f64) -> u64 {
    let mut old = cell.load(Ordering::Relaxed);
    loop {
        let new = (mine + f64::from_bits(old)).to_bits();
        match cell.compare_exchange_weak(old, new, Ordering::SeqCst, Ordering::Relaxed) {
            Ok(old) => return old,
            Err(other) => old = other,
        }
    }
}

/// Bytes of the type of a handle, if an instruction compares and swaps its elements; 0 otherwise.
#[inline(always)]
pub fn compared_bytes(datatype: usize) -> usize {
    COMPARED.get(datatype.wrapping_sub(TYPE_FIRST)).copied().unwrap_or(0).into()
}

/// Puts the element at `origin` in the place of that at `target` if this equals that at `compared`; `fetched` gets what was there.
///
/// # Safety
/// As [`super::atomic::compare_and_swap`], for elements of `bytes` bytes: 4 or 8, as [`compared_bytes`] says.
#[inline(always)]
pub unsafe fn swap_single(
    bytes: usize,
    origin: *const u8,
    compared: *const u8,
    target: *mut u8,
    fetched: *mut u8,
) {
    use Ordering::SeqCst;
    // SAFETY: by the caller.
    unsafe {
        if bytes == 8 {
            let (new, wanted) =
                (origin.cast::<u64>().read_unaligned(), compared.cast::<u64>().read_unaligned());
            let swapped = AtomicU64::from_ptr(target.cast()).compare_exchange(wanted, new, SeqCst, SeqCst);
            fetched.cast::<u64>().write_unaligned(swapped.unwrap_or_else(|other| other));
        } else {
            let (new, wanted) =
                (origin.cast::<u32>().read_unaligned(), compared.cast::<u32>().read_unaligned());
            let swapped = AtomicU32::from_ptr(target.cast()).compare_exchange(wanted, new, SeqCst, SeqCst);
            fetched.cast::<u32>().write_unaligned(swapped.unwrap_or_else(|other| other));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::atomic;
    use super::*;

    /// Of all handles, known and not: what is found gives what the general way gives.
    #[test]
    fn it_does_what_the_general_way_does() {
        let mut found = 0;
        for (op, datatype) in (0..0x50).flat_map(|op| (0x1f0..0x310).map(move |datatype| (op, datatype))) {
            let Some(single) = SingleElement::of(op, datatype) else { continue };
            let (known, basic) =
                (PredefinedOp::from_handle(op).unwrap(), Basic::from_handle(datatype).unwrap());
            assert_eq!(single.bytes(), basic.size());
            let origin = [0x4009_21fb_5444_2d18u64];
            let (mut one, mut other, mut fetched, mut expected) =
                ([0x3ff8_0000_0000_0007u64], [0], [0u64], [0u64]);
            other[0] = one[0];
            let from = origin.as_ptr().cast();
            // SAFETY: all have a word.
            unsafe {
                single.combine(from, one.as_mut_ptr().cast(), fetched.as_mut_ptr().cast());
                let (to, old) = (other.as_mut_ptr().cast(), expected.as_mut_ptr().cast());
                atomic::accumulate(known, basic, from, to, old, 1);
            }
            assert_eq!((one, fetched), (other, expected), "{known} of {basic}");
            found += 1;
        }
        assert!(found > 100, "only {found}");
    }

    #[test]
    fn what_is_compared_is_what_the_standard_lets_be_compared() {
        for basic in Basic::ALL {
            let bytes = compared_bytes(usize::from(basic.handle_value()));
            let is_one = basic.is_comparable() && matches!(basic.size(), 4 | 8);
            assert_eq!(bytes, if is_one { basic.size() } else { 0 }, "{basic}");
        }
        assert_eq!((compared_bytes(0), compared_bytes(usize::MAX), compared_bytes(TYPE_END)), (0, 0, 0));
        for (wanted, after) in [(7u32, 9u32), (8, 7)] {
            let (mut target, mut fetched) = ([7u32], [0u32]);
            let (new, wanted) = ([9u32], [wanted]);
            let (new, wanted) = (new.as_ptr().cast(), wanted.as_ptr().cast());
            // SAFETY: all are elements of four bytes.
            unsafe { swap_single(4, new, wanted, target.as_mut_ptr().cast(), fetched.as_mut_ptr().cast()) };
            assert_eq!((target[0], fetched[0]), (after, 7));
        }
    }

    /// An operation that only reads touches no buffer of the origin.
    #[test]
    fn no_operation_reads_no_origin() {
        let (op, datatype) = (NoOp.handle_value(), Basic::Int64.handle_value());
        let single = SingleElement::of(op.into(), datatype.into()).unwrap();
        let (mut target, mut fetched) = ([5u64], [0u64]);
        assert!(single.reads_only());
        // SAFETY: target and result have a word.
        unsafe { single.combine(std::ptr::null(), target.as_mut_ptr().cast(), fetched.as_mut_ptr().cast()) };
        assert_eq!((target[0], fetched[0]), (5, 5));
    }
}
