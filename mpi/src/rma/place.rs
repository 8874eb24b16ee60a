//! A buffer in another rank's memory: checked against the window, and reached by its way.

use super::call::At;
use super::object::{MemoryRoute, Window, WindowAddress};
use crate::core::arguments::count;
use crate::core::error::{Error, Result, fail};
use crate::core::process::Process;
use std::ops::Range;
use std::ptr::null_mut;
use std::sync::Arc;
use tern_abi::*;
use tern_engine::rma::{Far, GappedElements, WindowId};
use tern_mem::{Basic, Datatype, IoVec, UserBuf};
use tern_shm::{read_from, write_to};
use tern_transport::TransferError;

/// Pieces of a buffer that are looked at together.
const PIECES: usize = 64;

/// Elements in a target's memory.
pub(super) struct TargetElements {
    /// Where they are; of another process's memory, only the addresses are used.
    buffer: UserBuf,
    /// Which of its packed bytes are meant: the first, and how many.
    from: usize,
    bytes: usize,
    /// How they are reached.
    reach: ElementReach,
}

/// How elements are reached.
enum ElementReach {
    /// They are mapped here.
    Mapped,
    /// The kernel copies from and to this process.
    Kernel(u32),
    /// By messages.
    Message(Far),
}

impl TargetElements {
    /// The elements that a call names at a target, all within its memory.
    #[inline]
    pub(super) fn of(process: &Process, win: MPI_Win, target: u32, at: At) -> Result<TargetElements> {
        let At(_, displacement, elements, datatype) = at;
        let window = process.window(win)?;
        let elements = count("target_count", elements)?;
        let committed = match Basic::from_handle(datatype.0) {
            Some(basic) => Datatype::predefined(basic),
            None => process.objects.types.committed(datatype)?,
        };
        let (base, pid) = locate(window, target, displacement, elements, committed)?;
        // SAFETY: within the memory as just checked, and the program follows the rules of the window: nobody frees or uses the elements in
        // a conflicting way meanwhile. Of another process's memory, only addresses are computed.
        let buffer = unsafe { UserBuf::typed(base.0, elements, committed.layout()) };
        let reach = match (pid, window.far) {
            (Some(pid), _) => ElementReach::Kernel(pid),
            (None, Some(far)) if window.is_far(target) => {
                ElementReach::Message(aim((far, target), &buffer, base, elements, committed))
            }
            _ => ElementReach::Mapped,
        };
        Ok(TargetElements { from: 0, bytes: buffer.len(), buffer, reach })
    }

    /// Some packed bytes of elements that are mapped here.
    pub(super) fn part_of(buffer: UserBuf, from: usize, bytes: usize) -> TargetElements {
        TargetElements { buffer, from, bytes, reach: ElementReach::Mapped }
    }

    /// What messages say of it, if it is reached so.
    #[inline]
    pub(super) fn far(&self) -> Option<&Far> {
        if let ElementReach::Message(far) = &self.reach { Some(far) } else { None }
    }

    /// How many bytes it has, gaps left out.
    #[inline]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether it is mapped here.
    pub(super) fn is_mapped(&self) -> bool {
        matches!(self.reach, ElementReach::Mapped)
    }

    /// Where it is, if the kernel copies it and it is one run: its address in that process.
    pub(super) fn run_by_kernel(&self) -> Option<u64> {
        let ElementReach::Kernel(_) = self.reach else { return None };
        let (start, _) = self.buffer.as_contiguous()?;
        Some((start + self.from) as u64)
    }

    /// Some of its bytes, where no message carries them.
    pub(super) fn part(&self, range: Range<usize>) -> TargetElements {
        let reach = match self.reach {
            ElementReach::Kernel(pid) => ElementReach::Kernel(pid),
            ElementReach::Mapped | ElementReach::Message(_) => ElementReach::Mapped,
        };
        TargetElements {
            buffer: self.buffer.clone(),
            from: self.from + range.start,
            bytes: range.len(),
            reach,
        }
    }

    /// Copies these bytes of a buffer of this process there.
    #[inline]
    pub(super) fn write(
        &self,
        from: &UserBuf,
        range: Range<usize>,
    ) -> std::result::Result<(), TransferError> {
        let ElementReach::Kernel(pid) = self.reach else {
            UserBuf::copy(from, range.start, &self.buffer, self.from + range.start, range.len());
            return Ok(());
        };
        self.batches(range, |pieces, at| write_to(pid, pieces, from, at))
    }

    /// Copies these bytes of it to a buffer of this process.
    #[inline]
    pub(super) fn read(&self, to: &UserBuf, range: Range<usize>) -> std::result::Result<(), TransferError> {
        let ElementReach::Kernel(pid) = self.reach else {
            UserBuf::copy(&self.buffer, self.from + range.start, to, range.start, range.len());
            return Ok(());
        };
        self.batches(range, |pieces, at| read_from(pid, pieces, to, at))
    }

    /// Visits the runs of some bytes, many at a time, each time with how many of all bytes came before them.
    fn batches<E>(
        &self,
        range: Range<usize>,
        mut visit: impl FnMut(&mut [IoVec], usize) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let (mut pieces, mut done) = ([IoVec::default(); PIECES], range.start);
        while done < range.end {
            let (found, covered) = self.buffer.iovecs(self.from + done, range.end - done, &mut pieces);
            if covered == 0 {
                break;
            }
            visit(&mut pieces[..found], done)?;
            done += covered;
        }
        Ok(())
    }

    /// Visits the runs of bytes, each with how many came before it.
    pub(super) fn pieces<E>(
        &self,
        mut visit: impl FnMut(IoVec, usize) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        self.batches(0..self.bytes, |pieces, mut before| {
            for piece in pieces {
                visit(*piece, before)?;
                before += piece.len;
            }
            Ok(())
        })
    }

    /// The error of a copy that the kernel refused.
    #[cold]
    pub(super) fn refused(&self, error: TransferError, At(rank, displacement, ..): At) -> Box<Error> {
        match error {
            TransferError::Os(libc::EPERM) => fail(
                MPI_ERR_UNSUPPORTED_OPERATION,
                "the system does not let this rank reach the other one's memory (process_vm_readv is forbidden, as by a container, by \
                 Yama, or since one of them has changed its user), but lets others: with TERN_CMA=0 messages reach all windows; \
                 MPI_Win_allocate needs neither",
            ),
            TransferError::Os(libc::EFAULT) => fail(
                MPI_ERR_RMA_RANGE,
                format!(
                    "not all of the {} bytes at displacement {displacement:#x} of rank {rank}, or not all of the origin's buffer, are \
                     memory of their processes",
                    self.bytes
                ),
            ),
            TransferError::Os(number) => fail(
                MPI_ERR_OTHER,
                format!(
                    "the target's memory cannot be reached: {}",
                    std::io::Error::from_raw_os_error(number)
                ),
            ),
            other => fail(MPI_ERR_OTHER, format!("the target's memory cannot be reached: {other:?}")),
        }
    }
}

/// The address of displacement zero of some elements, all of which lie in the target's memory.
#[inline]
fn locate(
    window: &Window,
    target: u32,
    displacement: MPI_Aint,
    elements: u64,
    datatype: &Arc<Datatype>,
) -> Result<(WindowAddress, Option<u32>)> {
    let there = &window.targets[target as usize];
    // As wide as an address, so that nothing overflows.
    let first = displacement as i128 * i128::from(there.unit);
    let steps = i128::from(datatype.extent()) * (i128::from(elements) - 1);
    let low = first + i128::from(datatype.true_lb()) + steps.min(0);
    let high = first + i128::from(datatype.true_lb()) + i128::from(datatype.true_extent()) + steps.max(0);
    let is_empty = elements == 0 || datatype.size() == 0;
    let inside = match window.is_dynamic() {
        _ if is_empty => true,
        // The target alone knows what it has attached.
        true if window.is_far(target) => low >= 0,
        true => u64::try_from(low).is_ok_and(|low| {
            let control = &window.controls[target as usize];
            control.is_attached(low, (high - i128::from(low)).max(0) as u64)
                || control.are_attached(&elements_at(first as usize, elements, datatype))
        }),
        false => low >= 0 && high <= i128::from(there.bytes),
    };
    if !inside {
        return Err(outside(window, target, displacement, low, high));
    }
    let offset = first as isize;
    Ok(match there.route {
        MemoryRoute::Direct(base) | MemoryRoute::Watched(base) => {
            (WindowAddress(base.0.wrapping_offset(offset)), None)
        }
        MemoryRoute::Kernel { pid, base } => {
            let address = std::ptr::with_exposed_provenance_mut::<u8>(base as usize);
            (WindowAddress(address.wrapping_offset(offset)), Some(pid))
        }
        MemoryRoute::Message => (WindowAddress(null_mut::<u8>().wrapping_offset(offset)), None),
    })
}

/// Elements at an address of another process, which are not used.
#[cold]
fn elements_at(address: usize, count: u64, datatype: &Datatype) -> UserBuf {
    // SAFETY: addresses are computed, and no memory is touched.
    unsafe { UserBuf::typed(std::ptr::with_exposed_provenance_mut(address), count, datatype.layout()) }
}

/// What messages say of elements at `base`, the bytes of which are at `buffer`'s addresses.
fn aim(
    (window, rank): (WindowId, u32),
    buffer: &UserBuf,
    base: WindowAddress,
    count: u64,
    datatype: &Arc<Datatype>,
) -> Far {
    match buffer.as_contiguous() {
        Some((at, _)) => Far { window, rank, at: at as i64, shape: None },
        None => {
            let shape = GappedElements { count, layout: datatype.layout().clone() };
            Far { window, rank, at: base.0.addr() as i64, shape: Some(shape) }
        }
    }
}

#[cold]
fn outside(window: &Window, target: u32, displacement: MPI_Aint, low: i128, high: i128) -> Box<Error> {
    let there = &window.targets[target as usize];
    if window.is_dynamic() {
        return fail(
            MPI_ERR_RMA_RANGE,
            format!(
                "the {} bytes at {low:#x} of rank {target} are not all attached to {}",
                high - low,
                window.named()
            ),
        );
    }
    fail(
        MPI_ERR_RMA_RANGE,
        format!(
            "displacement {displacement} (in units of {} bytes) leads to bytes {low} to {high} of rank {target}, whose part of {} \
             has {} bytes",
            there.unit,
            window.named(),
            there.bytes
        ),
    )
}
