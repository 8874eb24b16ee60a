//! Reads and writes of other processes' memory, without their processors where the network can.

use std::ffi::{c_int, c_void};
use std::ptr;

use crate::LibfabricError;
use crate::abi::*;
use crate::endpoint::{CallErrors, Endpoint, Owned, RemoteEndpoint, control};

/// Reads and writes that may be under way.
pub(crate) const READS: usize = 64;

/// The first key that this process chooses for memory; the endpoint's own has those below.
const FIRST_KEY: u64 = 16;

/// Memory of this process that others may read until this is dropped.
pub struct Region {
    memory: Owned<Mr>,
    /// Where it begins for those others.
    start: u64,
}

// SAFETY: the library's objects may be used from any thread, by one at a time.
unsafe impl Send for Region {}

impl Region {
    /// What others have to know of it.
    pub fn place(&self) -> RemoteMemory {
        // SAFETY: open.
        RemoteMemory { start: self.start, key: unsafe { (*self.memory.0).key } }
    }
}

/// Memory of another process, as it has named it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RemoteMemory {
    /// Where it begins.
    pub start: u64,
    /// What allows to read it.
    pub key: u64,
}

/// What an endpoint needs for reads.
pub(crate) struct Reads {
    /// How memory is made known (`FI_MR_*`).
    modes: c_int,
    /// There are writes as well.
    can_write: bool,
    bytes_max: usize,
    next_key: u64,
    /// This process's memory of a read or write that is under way, by its slot, where the provider must know it.
    targets: [Option<Owned<Mr>>; READS],
}

impl Reads {
    /// As an offer promises; `None` if there are no reads, or keys are longer than a number.
    ///
    /// # Safety
    /// The description is whole.
    pub(crate) unsafe fn of(info: &FiInfo) -> Option<Reads> {
        // SAFETY: by the caller.
        let (domain, most) = unsafe { (&*info.domain_attr, (*info.ep_attr).max_msg_size) };
        let is_able = info.caps & RMA != 0 && domain.mr_key_size <= size_of::<u64>();
        is_able.then(|| Reads {
            modes: domain.mr_mode,
            can_write: info.caps & (WRITE | REMOTE_WRITE) == WRITE | REMOTE_WRITE,
            bytes_max: most,
            next_key: FIRST_KEY,
            targets: std::array::from_fn(|_| None),
        })
    }

    /// The read of a slot is over.
    pub(crate) fn end(&mut self, slot: usize) {
        self.targets[slot] = None;
    }
}

impl Endpoint {
    /// Bytes of the longest read of another process's memory; 0 if there are no reads.
    pub fn read_bytes_max(&self) -> usize {
        self.reads.as_ref().map_or(0, |reads| reads.bytes_max)
    }

    /// Bytes of the longest write to another process's memory; 0 if there are no writes.
    pub fn write_bytes_max(&self) -> usize {
        self.reads.as_ref().filter(|reads| reads.can_write).map_or(0, |reads| reads.bytes_max)
    }

    /// Reads and writes that may be under way at once.
    pub fn reads_max(&self) -> usize {
        READS
    }

    /// Lets others read memory.
    ///
    /// # Safety
    /// The memory stays what it is, and is not written, until the region is dropped, which comes before this endpoint is.
    pub unsafe fn expose(&mut self, start: *const u8, len: usize) -> Result<Region, LibfabricError> {
        // SAFETY: by the caller.
        unsafe { self.expose_for(start, len, REMOTE_READ) }
    }

    /// Lets others read and write memory.
    ///
    /// # Safety
    /// The memory may be read and written until the region is dropped, which comes before this endpoint is. Whoever else uses it bears
    /// with that.
    pub unsafe fn expose_window(&mut self, start: *mut u8, len: usize) -> Result<Region, LibfabricError> {
        // SAFETY: by the caller.
        unsafe { self.expose_for(start, len, REMOTE_READ | REMOTE_WRITE) }
    }

    /// # Safety
    /// As for [`Endpoint::expose_window`], by this kind of access.
    unsafe fn expose_for(
        &mut self,
        start: *const u8,
        len: usize,
        access: u64,
    ) -> Result<Region, LibfabricError> {
        let is_by_address = self.reads.as_ref().is_some_and(|reads| reads.modes & MR_VIRT_ADDR != 0);
        // SAFETY: by the caller.
        let memory = unsafe { self.register_one(start, len, access)? };
        Ok(Region { memory, start: if is_by_address { start.addr() as u64 } else { 0 } })
    }

    /// Reads `len` bytes of another process's memory, from `offset` on, to `into`.
    /// [`EndpointEvent::Read`](crate::EndpointEvent) or `NotRead` follows with the slot. False: it cannot be taken now.
    ///
    /// # Safety
    /// So many bytes at `into` may be written until then. No other read or write is under way with this slot.
    pub unsafe fn read(
        &mut self,
        slot: usize,
        (from, place): (RemoteEndpoint, RemoteMemory),
        into: *mut u8,
        len: usize,
    ) -> Result<bool, LibfabricError> {
        // SAFETY: by the caller.
        let (target, desc) = unsafe { self.own_memory(into, len, READ)? };
        let context = self.read_contexts.context(slot);
        // SAFETY: memory by the caller, and the context is this endpoint's, until the completion.
        let code = unsafe {
            let rma = &*(*self.ep.0).rma;
            (rma.read)(self.ep.0, into.cast(), len, desc, from.0, place.start, place.key, context)
        };
        self.begun("fi_read", code, slot, target)
    }

    /// Writes `len` bytes at `from` to another process's memory. When [`EndpointEvent::Read`](crate::EndpointEvent) follows with the
    /// slot, they are there; or `NotRead` does. False: it cannot be taken now.
    ///
    /// # Safety
    /// So many bytes at `from` stay as they are until then. No other read or write is under way with this slot.
    pub unsafe fn write(
        &mut self,
        slot: usize,
        (to, place): (RemoteEndpoint, RemoteMemory),
        from: *const u8,
        len: usize,
    ) -> Result<bool, LibfabricError> {
        // SAFETY: by the caller.
        let (source, mut desc) = unsafe { self.own_memory(from, len, WRITE)? };
        let iov = libc::iovec { iov_base: from.cast_mut().cast(), iov_len: len };
        let there = RmaIov { addr: place.start, len, key: place.key };
        let message = MsgRma {
            iov: &iov,
            desc: &mut desc,
            iov_count: 1,
            addr: to.0,
            rma_iov: &there,
            rma_iov_count: 1,
            context: self.read_contexts.context(slot),
            data: 0,
        };
        // SAFETY: memory by the caller, and the context is this endpoint's, until the completion; the rest lives during the call.
        let code =
            unsafe { ((*(*self.ep.0).rma).writemsg)(self.ep.0, &message, COMPLETION | DELIVERY_COMPLETE) };
        self.begun("fi_writemsg", code, slot, source)
    }

    /// Makes memory of this process known for one read or write, where the provider must know it.
    ///
    /// # Safety
    /// The memory is there until the registration is dropped.
    unsafe fn own_memory(
        &mut self,
        start: *const u8,
        len: usize,
        access: u64,
    ) -> Result<(Option<Owned<Mr>>, *mut c_void), LibfabricError> {
        if self.reads.as_ref().is_none_or(|reads| reads.modes & MR_LOCAL == 0) {
            return Ok((None, ptr::null_mut()));
        }
        // SAFETY: by the caller.
        let memory = unsafe { self.register_one(start, len, access)? };
        // SAFETY: open.
        let desc = unsafe { (*memory.0).mem_desc };
        Ok((Some(memory), desc))
    }

    /// Keeps the memory of a read or write that the provider has taken.
    fn begun(
        &mut self,
        call: &'static str,
        code: isize,
        slot: usize,
        memory: Option<Owned<Mr>>,
    ) -> Result<bool, LibfabricError> {
        let taken = self.taken(call, code)?;
        if let Some(reads) = self.reads.as_mut().filter(|_| taken) {
            reads.targets[slot] = memory;
        }
        Ok(taken)
    }

    /// Makes memory known for one kind of access.
    ///
    /// # Safety
    /// The memory is there until the registration is dropped.
    unsafe fn register_one(
        &mut self,
        start: *const u8,
        len: usize,
        access: u64,
    ) -> Result<Owned<Mr>, LibfabricError> {
        let (modes, key) = match self.reads.as_mut() {
            Some(reads) => {
                reads.next_key += 1;
                (reads.modes, reads.next_key)
            }
            None => (0, FIRST_KEY),
        };
        let calls = self.calls();
        // SAFETY: all objects are open; memory by the caller.
        unsafe {
            let memory = calls.open("fi_mr_reg", |to| {
                let mr = &*(*self.domain.0).mr;
                (mr.reg)(self.domain.fid(), start.cast(), len, access, 0, key, 0, to, ptr::null_mut())
            })?;
            if modes & MR_ENDPOINT != 0 {
                attach(&calls, &memory, &self.ep)?;
            }
            Ok(memory)
        }
    }
}

/// Memory that is known to an endpoint alone.
///
/// # Safety
/// Both are open.
pub(crate) unsafe fn attach(
    calls: &CallErrors<'_>,
    memory: &Owned<Mr>,
    ep: &Owned<Ep>,
) -> Result<(), LibfabricError> {
    // SAFETY: by the caller.
    unsafe {
        calls.check("fi_mr_bind", ((*(*memory.fid()).ops).bind)(memory.fid(), ep.fid(), 0))?;
        control(calls, "fi_mr_enable", memory.fid(), ENABLE, ptr::null_mut())
    }
}
