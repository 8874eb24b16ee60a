//! A buffer in another rank's memory: checked against the window, and reached by its way.

use super::object::{Address, Way, Window};
use super::transfer::At;
use crate::core::arguments::count;
use crate::core::error::{Error, Result, fail};
use crate::core::process::Process;
use std::sync::Arc;
use tern_abi::*;
use tern_mem::{Basic, Datatype, IoVec, UserBuf};
use tern_transport::TransferError;
use tern_transport::shm::{read_from, write_to};

/// Pieces of a buffer that are looked at together.
const PIECES: usize = 64;

/// Elements in a target's memory.
pub struct Place {
    /// Where they are; of another process's memory, only the addresses are used.
    buffer: UserBuf,
    /// The process whose memory it is, if it is not mapped here.
    pid: Option<u32>,
}

impl Place {
    /// The elements that a call names at a target, all within its memory.
    ///
    /// # Safety
    /// The program follows the rules of the window: nobody frees or uses the elements in a conflicting way meanwhile.
    #[inline]
    pub unsafe fn of(process: &Process, win: MPI_Win, target: u32, at: At) -> Result<Place> {
        let At(_, displacement, elements, datatype) = at;
        let window = process.window(win)?;
        let elements = count("target_count", elements)?;
        let committed = match Basic::from_handle(datatype.0) {
            Some(basic) => Datatype::predefined(basic),
            None => process.types.committed(datatype)?,
        };
        let (base, pid) = locate(window, target, displacement, elements, committed)?;
        // SAFETY: by the caller, within the memory as just checked; of another process's, only addresses are computed.
        let buffer = unsafe { UserBuf::typed(base.0, elements, committed.layout()) };
        Ok(Place { buffer, pid })
    }

    /// How many bytes it has, gaps left out.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Whether it is mapped here.
    pub fn is_mapped(&self) -> bool {
        self.pid.is_none()
    }

    /// Copies a buffer of this process there.
    #[inline]
    pub fn write(&self, from: &UserBuf) -> std::result::Result<(), TransferError> {
        let Some(pid) = self.pid else {
            UserBuf::copy(from, 0, &self.buffer, 0, self.buffer.len());
            return Ok(());
        };
        self.pieces(|piece, at| write_to(pid, piece.base as u64, from, at, piece.len))
    }

    /// Copies it to a buffer of this process.
    #[inline]
    pub fn read(&self, to: &UserBuf) -> std::result::Result<(), TransferError> {
        let Some(pid) = self.pid else {
            UserBuf::copy(&self.buffer, 0, to, 0, self.buffer.len());
            return Ok(());
        };
        self.pieces(|piece, at| read_from(pid, piece.base as u64, to, at, piece.len))
    }

    /// Copies a run of bytes of another process's memory here.
    pub fn fetch(&self, there: *mut u8, to: &UserBuf) -> std::result::Result<(), TransferError> {
        self.pid.map_or(Ok(()), |pid| read_from(pid, there.addr() as u64, to, 0, to.len()))
    }

    /// Copies a run of bytes there.
    pub fn store(&self, there: *mut u8, from: &UserBuf) -> std::result::Result<(), TransferError> {
        self.pid.map_or(Ok(()), |pid| write_to(pid, there.addr() as u64, from, 0, from.len()))
    }

    /// Visits the runs of bytes, each with how many came before it.
    pub fn pieces<E>(
        &self,
        mut visit: impl FnMut(IoVec, usize) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let (mut pieces, mut done) = ([IoVec::default(); PIECES], 0);
        while done < self.buffer.len() {
            let (found, covered) = self.buffer.iovecs(done, self.buffer.len() - done, &mut pieces);
            if covered == 0 {
                break;
            }
            for piece in &pieces[..found] {
                visit(*piece, done)?;
                done += piece.len;
            }
        }
        Ok(())
    }

    /// The error of a copy that the kernel refused.
    #[cold]
    pub fn refused(&self, error: TransferError) -> Box<Error> {
        match error {
            TransferError::Os(libc::EPERM) => fail(
                MPI_ERR_UNSUPPORTED_OPERATION,
                "the system does not let ranks reach each other's memory (process_vm_readv is forbidden, as by a container \
                 or by Yama), and this version reaches such a window in no other way: use MPI_Win_allocate",
            ),
            TransferError::Os(libc::EFAULT) => fail(
                MPI_ERR_RMA_RANGE,
                format!(
                    "{} bytes of the target's memory, or of the origin's buffer, are not mapped",
                    self.buffer.len()
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
) -> Result<(Address, Option<u32>)> {
    let there = &window.targets[target as usize];
    // As wide as an address, so that nothing overflows.
    let first = displacement as i128 * i128::from(there.unit);
    let steps = i128::from(datatype.extent()) * (i128::from(elements) - 1);
    let low = first + i128::from(datatype.true_lb()) + steps.min(0);
    let high = first + i128::from(datatype.true_lb()) + i128::from(datatype.true_extent()) + steps.max(0);
    let is_empty = elements == 0 || datatype.size() == 0;
    let inside = match window.is_dynamic() {
        _ if is_empty => true,
        true => u64::try_from(low).is_ok_and(|low| {
            window.controls[target as usize].is_attached(low, (high - i128::from(low)).max(0) as u64)
        }),
        false => low >= 0 && high <= i128::from(there.bytes),
    };
    if !inside {
        return Err(outside(window, target, displacement, low, high));
    }
    let offset = first as isize;
    Ok(match there.way {
        Way::Direct(base) => (Address(base.0.wrapping_offset(offset)), None),
        Way::Kernel { pid, base } => {
            let address = std::ptr::with_exposed_provenance_mut::<u8>(base as usize);
            (Address(address.wrapping_offset(offset)), Some(pid))
        }
    })
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
