//! One endpoint: packets to and from others, and a descriptor to wait on.

use std::ffi::{c_int, c_void};
use std::os::fd::RawFd;
use std::ptr;
use std::sync::Arc;

use crate::LibfabricError;
use crate::abi::*;
use crate::completions::{CompletionBacklog, Completions};
use crate::library::{Library, NetworkOffer};
use crate::provider_needs::{
    RXD_RECEIVES_SPARE, Sizes, completions, forgets_least, is_rxd, receive_slots, set_least, takes_in,
};
use crate::remote::{READS, Reads, attach};
use crate::slots::Slots;

/// Another process's endpoint, as this one knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RemoteEndpoint(pub(crate) u64);

/// What has happened.
#[derive(Debug)]
pub enum EndpointEvent<'a> {
    /// A packet has come. Its bytes are here during the call only.
    Received(&'a [u8]),
    /// The packet of a slot has left: the slot may be used again.
    Sent(usize),
    /// The packet of a slot did not arrive, and why; the slot may be used again.
    NotSent(usize, String),
    /// The read or write of a slot has ended: the bytes are there.
    Read(usize),
    /// A read or write has failed.
    NotRead {
        /// Its slot.
        slot: usize,
        /// The library's words.
        why: String,
        /// The peer is gone or cannot be reached. Otherwise it is its memory that cannot be read.
        is_cut: bool,
    },
}

/// What operations end with whose peer cannot be reached, or is gone.
const CUT: [c_int; 12] = [
    libc::ECANCELED,
    libc::ECONNABORTED,
    libc::ECONNREFUSED,
    libc::ECONNRESET,
    libc::EHOSTDOWN,
    libc::EHOSTUNREACH,
    libc::EIO,
    libc::ENETUNREACH,
    libc::ENOTCONN,
    libc::EPIPE,
    libc::ESHUTDOWN,
    libc::ETIMEDOUT,
];

/// Bytes of an address at most.
const ADDRESS_BYTES_MAX: usize = 256;

/// An endpoint for reliable datagrams, with memory of its own. All calls are made by one thread at a time.
pub struct Endpoint {
    library: Arc<Library>,
    provider: String,
    fabric: Owned<FidFabric>,
    pub(crate) domain: Owned<Domain>,
    av: Owned<Av>,
    cq: Owned<Cq>,
    pub(crate) ep: Owned<Ep>,
    /// Reads of others' memory, if the provider has them.
    pub(crate) reads: Option<Reads>,
    /// The provider's room for each read.
    pub(crate) read_contexts: Slots,
    memory: Vec<Owned<Mr>>,
    sends: Slots,
    receives: Slots,
    /// One receive serves many packets.
    is_multi: bool,
    packet_bytes_max: usize,
    inject_bytes_max: usize,
    address: Vec<u8>,
    fd: Option<RawFd>,
    /// Receives that the provider could not take, to be tried again.
    to_post: Vec<usize>,
    backlog: CompletionBacklog,
}

// SAFETY: the library's objects may be used from any thread, by one at a time.
unsafe impl Send for Endpoint {}

/// An object of the library's, which is closed at the end. Each begins with its `Fid`.
pub(crate) struct Owned<T>(pub(crate) *mut T);

impl<T> Owned<T> {
    pub(crate) fn fid(&self) -> *mut Fid {
        self.0.cast()
    }

    fn close(&mut self) {
        if !self.0.is_null() {
            // SAFETY: open, and nobody uses it after.
            unsafe { ((*(*self.fid()).ops).close)(self.fid()) };
            self.0 = ptr::null_mut();
        }
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        self.close();
    }
}

/// Makes the errors of calls.
pub(crate) struct CallErrors<'a> {
    library: &'a Library,
    provider: &'a str,
}

impl CallErrors<'_> {
    fn error(&self, call: &'static str, code: isize) -> LibfabricError {
        LibfabricError::Call { call, provider: self.provider.into(), why: self.library.words(code) }
    }

    pub(crate) fn check(&self, call: &'static str, code: c_int) -> Result<(), LibfabricError> {
        if code == 0 { Ok(()) } else { Err(self.error(call, code as isize)) }
    }

    /// Opens an object by a call that stores it.
    pub(crate) fn open<T>(
        &self,
        call: &'static str,
        open: impl FnOnce(*mut *mut T) -> c_int,
    ) -> Result<Owned<T>, LibfabricError> {
        let mut object = ptr::null_mut();
        self.check(call, open(&mut object))?;
        Ok(Owned(object))
    }
}

impl Endpoint {
    /// Opens what is offered.
    pub fn open(offer: &NetworkOffer, sizes: Sizes) -> Result<Endpoint, LibfabricError> {
        let library = offer.library.clone();
        let calls = CallErrors { library: &library, provider: &offer.provider };
        // SAFETY: the offer's description is whole, and each object is open while those made of it are.
        unsafe {
            let info = &mut *offer.info;
            let fabric =
                calls.open("fi_fabric", |to| (library.fabric)(info.fabric_attr, to, ptr::null_mut()))?;
            let domain = calls
                .open("fi_domain", |to| ((*(*fabric.0).ops).domain)(fabric.0, info, to, ptr::null_mut()))?;
            let av = open_av(&calls, &domain)?;
            let is_rxd = is_rxd(&offer.provider);
            let (cq, fd) = open_cq(&calls, &domain, completions(&offer.provider))?;
            let ep = calls.open("fi_endpoint", |to| {
                ((*(*domain.0).ops).endpoint)(domain.0, info, to, ptr::null_mut())
            })?;
            bind(&calls, &ep, av.fid(), 0)?;
            bind(&calls, &ep, cq.fid(), SEND | RECV)?;
            let wants_multi = (*info.rx_attr).caps & MULTI_RECV != 0 && !is_rxd;
            // Of provider shm, release 1 crashes if it is told before, and release 2 forgets it if it is told after.
            let is_told = wants_multi && library.major() > 1 && set_least(ep.0, sizes.packet_bytes_max);
            control(&calls, "fi_enable", ep.fid(), ENABLE, ptr::null_mut())?;
            let is_told = is_told || wants_multi && set_least(ep.0, sizes.packet_bytes_max);
            let is_multi = is_told && !forgets_least(ep.0, sizes.packet_bytes_max);
            let address = name_of(&calls, &ep)?;
            let mut endpoint = Endpoint {
                provider: offer.provider.clone(),
                packet_bytes_max: sizes.packet_bytes_max.min((*info.ep_attr).max_msg_size),
                inject_bytes_max: (*info.tx_attr).inject_size,
                sends: Slots::new(sizes.sends, sizes.packet_bytes_max),
                receives: receive_slots(&offer.provider, sizes, is_multi, (*info.rx_attr).size),
                reads: Reads::of(info),
                read_contexts: Slots::new(READS, 0),
                memory: Vec::new(),
                to_post: Vec::new(),
                backlog: CompletionBacklog::new(takes_in(&offer.provider, (*info.rx_attr).size)),
                library: library.clone(),
                fabric,
                domain,
                av,
                cq,
                ep,
                is_multi,
                address,
                fd,
            };
            if (*info.domain_attr).mr_mode & MR_LOCAL != 0 {
                endpoint.register(&calls, (*info.domain_attr).mr_mode & MR_ENDPOINT != 0)?;
            }
            endpoint.to_post.extend(0..endpoint.receives.count());
            endpoint.post();
            Ok(endpoint)
        }
    }

    /// The provider.
    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// Where others reach this endpoint: bytes for [`Endpoint::insert`].
    pub fn address(&self) -> &[u8] {
        &self.address
    }

    /// Bytes of the longest packet.
    pub fn packet_bytes_max(&self) -> usize {
        self.packet_bytes_max
    }

    /// Packets that may be on their way out.
    pub fn sends(&self) -> usize {
        self.sends.count()
    }

    /// Bytes of the longest packet that [`Endpoint::inject`] takes.
    pub fn inject_bytes_max(&self) -> usize {
        self.inject_bytes_max
    }

    /// Packets that may come before this process has looked at any, if the provider does not bear more.
    pub fn receives_max(&self) -> Option<usize> {
        is_rxd(&self.provider).then(|| self.receives.count() / RXD_RECEIVES_SPARE)
    }

    /// A descriptor that is readable when something may have happened, if the provider has one. Before waiting on it,
    /// [`Endpoint::may_wait`] is asked.
    pub fn fd(&self) -> Option<RawFd> {
        self.fd
    }

    /// Makes another endpoint known.
    pub fn insert(&mut self, address: &[u8]) -> Result<RemoteEndpoint, LibfabricError> {
        let mut padded = [0; ADDRESS_BYTES_MAX];
        let len = address.len().min(ADDRESS_BYTES_MAX);
        padded[..len].copy_from_slice(&address[..len]);
        let mut found = ADDR_UNSPEC;
        // SAFETY: one address, in more bytes than any has; one number to store to.
        let inserted = unsafe {
            ((*(*self.av.0).ops).insert)(self.av.0, padded.as_ptr().cast(), 1, &mut found, 0, ptr::null_mut())
        };
        if inserted == 1 && found != ADDR_UNSPEC {
            return Ok(RemoteEndpoint(found));
        }
        let code = if inserted < 0 { inserted as isize } else { libc::EINVAL as isize };
        Err(self.calls().error("fi_av_insert", code))
    }

    /// Sends a short packet; on return its memory may be reused. False: it cannot be taken now.
    pub fn inject(&mut self, to: RemoteEndpoint, packet: &[u8]) -> Result<bool, LibfabricError> {
        debug_assert!(packet.len() <= self.inject_bytes_max);
        // SAFETY: the packet lives during the call, which keeps nothing of it.
        let code =
            unsafe { ((*(*self.ep.0).msg).inject)(self.ep.0, packet.as_ptr().cast(), packet.len(), to.0) };
        self.taken("fi_inject", code)
    }

    /// The memory of a slot for a packet, of which no packet is on its way.
    ///
    /// # Panics
    /// If there is no such slot.
    pub fn slot(&mut self, slot: usize) -> &mut [u8] {
        // SAFETY: the slot's bytes are this endpoint's, and its caller says that no send reads them.
        unsafe { std::slice::from_raw_parts_mut(self.sends.at(slot), self.packet_bytes_max) }
    }

    /// Sends the first bytes of a slot, which stays as it is until [`EndpointEvent::Sent`] or
    /// [`EndpointEvent::NotSent`]. False: it cannot be taken now.
    ///
    /// # Panics
    /// If there is no such slot, or its packet is longer.
    pub fn send(&mut self, to: RemoteEndpoint, slot: usize, len: usize) -> Result<bool, LibfabricError> {
        assert!(len <= self.packet_bytes_max, "{len} bytes of {}", self.packet_bytes_max);
        let (start, context) = (self.sends.at(slot), self.sends.context(slot));
        // SAFETY: memory and room are this endpoint's, and stay until the completion.
        let code = unsafe {
            ((*(*self.ep.0).msg).send)(self.ep.0, start.cast(), len, self.sends.desc, to.0, context)
        };
        self.taken("fi_send", code)
    }

    pub(crate) fn taken(&self, call: &'static str, code: isize) -> Result<bool, LibfabricError> {
        match code {
            0 => Ok(true),
            _ if code == -(libc::EAGAIN as isize) => Ok(false),
            _ => Err(self.calls().error(call, code)),
        }
    }

    /// Lets the provider work, and reads what it has completed. Whether there may be anything, which [`Endpoint::take`] then tells.
    ///
    /// Waits call this again and again: finding nothing is the usual case, and costs little beside the provider's own work.
    #[inline]
    pub fn poll(&mut self, completions: &mut Completions) -> Result<bool, LibfabricError> {
        if !self.to_post.is_empty() {
            self.post();
        }
        let (entries, room) = match self.backlog.is_needed {
            true => completions.room_in(&mut self.backlog),
            false => completions.room(),
        };
        // SAFETY: room for so many entries of the format that the queue was opened with.
        let count = unsafe { ((*(*self.cq.0).ops).read)(self.cq.0, entries.cast(), room) };
        // SAFETY: the provider has written so many.
        unsafe { completions.found(count) };
        match count {
            1.. => {
                self.backlog.found(count as usize == room);
                Ok(true)
            }
            _ if count == -(libc::EAGAIN as isize) || count == 0 => Ok(false),
            _ if count == -EAVAIL => Ok(true),
            _ => Err(self.calls().error("fi_cq_read", count)),
        }
    }

    /// Tells what a poll has found; whether there was anything. Memory that packets came into is given to the provider by the next
    /// poll: who has waited for a packet may be about to answer.
    pub fn take(&mut self, completions: &Completions, mut take: impl FnMut(EndpointEvent<'_>)) -> bool {
        if completions.code() == -EAVAIL {
            return self.failed(&mut take);
        }
        if completions.is_backlog() {
            for at in 0..completions.code().max(0) as usize {
                // SAFETY: the last poll was of the backlog, and the provider has written so many.
                let entry = unsafe { self.backlog.entry(at) };
                self.ended(&entry, &mut take);
            }
            return true;
        }
        completions.entries().iter().for_each(|entry| self.ended(entry, &mut take));
        true
    }

    fn ended(&mut self, entry: &CqEntry, take: &mut impl FnMut(EndpointEvent<'_>)) {
        if let Some(slot) = self.sends.of_context(entry.context) {
            return take(EndpointEvent::Sent(slot));
        }
        if let Some(slot) = self.end_read(entry.context) {
            return take(EndpointEvent::Read(slot));
        }
        let Some(slot) = self.receives.of_context(entry.context) else { return };
        if entry.flags & RECV != 0 {
            let start = if self.is_multi { entry.buf.cast() } else { self.receives.at(slot) };
            if let Some(start) = self.receives.within(slot, start, entry.len) {
                // SAFETY: so many bytes of this endpoint's, which the provider has written and now leaves alone.
                take(EndpointEvent::Received(unsafe { std::slice::from_raw_parts(start, entry.len) }));
            }
        }
        if !self.is_multi || entry.flags & MULTI_RECV != 0 {
            self.to_post.push(slot);
        }
    }

    /// An operation has failed.
    #[cold]
    fn failed(&mut self, take: &mut impl FnMut(EndpointEvent<'_>)) -> bool {
        // SAFETY: numbers and pointers, of which zero is each one's empty value.
        let mut error: CqError = unsafe { std::mem::zeroed() };
        // SAFETY: room for one error.
        let count = unsafe { ((*(*self.cq.0).ops).readerr)(self.cq.0, &mut error, 0) };
        if count != 1 {
            return false;
        }
        let why = self.library.words(error.err as isize);
        if let Some(slot) = self.sends.of_context(error.context) {
            take(EndpointEvent::NotSent(slot, why));
        } else if let Some(slot) = self.end_read(error.context) {
            take(EndpointEvent::NotRead { slot, why, is_cut: CUT.contains(&error.err) });
        } else if let Some(slot) = self.receives.of_context(error.context) {
            // A packet that was longer than any of ours, for example. Others still come.
            if !self.is_multi || error.flags & MULTI_RECV != 0 {
                self.to_post.push(slot);
            }
        }
        true
    }

    /// The slot of a read that is over, if it is one.
    fn end_read(&mut self, context: *mut c_void) -> Option<usize> {
        let slot = self.read_contexts.of_context(context)?;
        self.reads.iter_mut().for_each(|reads| reads.end(slot));
        Some(slot)
    }

    /// Gives the provider memory to receive into.
    fn post(&mut self) {
        while let Some(slot) = self.to_post.pop() {
            if !self.post_one(slot) {
                self.to_post.push(slot);
                return;
            }
        }
    }

    fn post_one(&mut self, slot: usize) -> bool {
        let (start, len) = (self.receives.at(slot), self.receives.slot_bytes());
        let context = self.receives.context(slot);
        let iov = libc::iovec { iov_base: start.cast(), iov_len: len };
        let mut desc = self.receives.desc;
        let message = Msg { iov: &iov, desc: &mut desc, iov_count: 1, addr: ADDR_UNSPEC, context, data: 0 };
        // SAFETY: memory and room are this endpoint's, and are not touched until the provider gives them back.
        unsafe {
            let messages = &*(*self.ep.0).msg;
            match self.is_multi {
                true => (messages.recvmsg)(self.ep.0, &message, MULTI_RECV) == 0,
                false => (messages.recv)(self.ep.0, start.cast(), len, desc, ADDR_UNSPEC, context) == 0,
            }
        }
    }

    /// Whether a wait on [`Endpoint::fd`] would wake for whatever comes: nothing has come already.
    pub fn may_wait(&mut self) -> bool {
        // SAFETY: one queue, which is open. A table that is too short for the function has none.
        unsafe {
            let ops = &*(*self.fabric.0).ops;
            let is_there = ops.size > std::mem::offset_of!(FabricOps, trywait);
            let mut fid = self.cq.fid();
            match ops.trywait.filter(|_| is_there) {
                Some(trywait) => trywait(self.fabric.0, &mut fid, 1) == 0,
                None => false,
            }
        }
    }

    pub(crate) fn calls(&self) -> CallErrors<'_> {
        CallErrors { library: &self.library, provider: &self.provider }
    }

    /// Makes the memory known to a provider that must know it.
    ///
    /// # Safety
    /// The endpoint is whole.
    unsafe fn register(&mut self, calls: &CallErrors<'_>, binds: bool) -> Result<(), LibfabricError> {
        for (key, is_send) in [(1, true), (2, false)] {
            let slots = if is_send { &mut self.sends } else { &mut self.receives };
            let (start, len) = slots.all();
            // SAFETY: all of the memory, which outlives the registration (see `drop`).
            let memory = unsafe {
                calls.open("fi_mr_reg", |to| {
                    let access = if is_send { SEND } else { RECV };
                    let mr = &*(*self.domain.0).mr;
                    (mr.reg)(self.domain.fid(), start.cast(), len, access, 0, key, 0, to, ptr::null_mut())
                })?
            };
            if binds {
                // SAFETY: both are open.
                unsafe { attach(calls, &memory, &self.ep)? };
            }
            // SAFETY: open.
            slots.desc = unsafe { (*memory.0).mem_desc };
            self.memory.push(memory);
        }
        Ok(())
    }
}

impl Drop for Endpoint {
    /// Each before what it was made of, and all before the memory that they use.
    fn drop(&mut self) {
        self.ep.close();
        self.reads = None;
        self.memory.clear();
        self.cq.close();
        self.av.close();
        self.domain.close();
        self.fabric.close();
    }
}

unsafe fn open_av(calls: &CallErrors<'_>, domain: &Owned<Domain>) -> Result<Owned<Av>, LibfabricError> {
    let mut attr = AvAttr {
        kind: AV_TABLE,
        rx_ctx_bits: 0,
        count: 0,
        ep_per_node: 0,
        name: ptr::null(),
        map_addr: ptr::null_mut(),
        flags: 0,
    };
    // SAFETY: the domain is open.
    unsafe {
        calls.open("fi_av_open", |to| ((*(*domain.0).ops).av_open)(domain.0, &mut attr, to, ptr::null_mut()))
    }
}

/// A queue of completions, with a descriptor where the provider has one. It holds so many, or as many as the provider likes if 0.
unsafe fn open_cq(
    calls: &CallErrors<'_>,
    domain: &Owned<Domain>,
    size: usize,
) -> Result<(Owned<Cq>, Option<RawFd>), LibfabricError> {
    let open = |wait_obj| {
        let mut attr = CqAttr {
            size,
            flags: 0,
            format: CQ_FORMAT_DATA,
            wait_obj,
            signaling_vector: 0,
            wait_cond: 0,
            wait_set: ptr::null_mut(),
        };
        // SAFETY: the domain is open.
        unsafe {
            calls.open("fi_cq_open", |to| {
                ((*(*domain.0).ops).cq_open)(domain.0, &mut attr, to, ptr::null_mut())
            })
        }
    };
    if let Ok(cq) = open(WAIT_FD) {
        let mut fd: RawFd = -1;
        // SAFETY: the queue is open, and stores a descriptor.
        let told = unsafe { control(calls, "fi_control", cq.fid(), GETWAIT, (&raw mut fd).cast()) };
        if told.is_ok() && fd >= 0 {
            return Ok((cq, Some(fd)));
        }
    }
    open(WAIT_NONE).map(|cq| (cq, None))
}

unsafe fn bind(
    calls: &CallErrors<'_>,
    ep: &Owned<Ep>,
    to: *mut Fid,
    flags: u64,
) -> Result<(), LibfabricError> {
    // SAFETY: both are open.
    calls.check("fi_ep_bind", unsafe { ((*(*ep.fid()).ops).bind)(ep.fid(), to, flags) })
}

pub(crate) unsafe fn control(
    calls: &CallErrors<'_>,
    call: &'static str,
    fid: *mut Fid,
    command: c_int,
    argument: *mut c_void,
) -> Result<(), LibfabricError> {
    // SAFETY: open, and by the caller the argument is the command's.
    calls.check(call, unsafe { ((*(*fid).ops).control)(fid, command, argument) })
}

unsafe fn name_of(calls: &CallErrors<'_>, ep: &Owned<Ep>) -> Result<Vec<u8>, LibfabricError> {
    let mut name = vec![0; ADDRESS_BYTES_MAX];
    let mut len = name.len();
    // SAFETY: so many bytes, and their number.
    let code = unsafe { ((*(*ep.0).cm).getname)(ep.fid(), name.as_mut_ptr().cast(), &mut len) };
    calls.check("fi_getname", code)?;
    name.truncate(len);
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::{MemoryRegistration, OfferHints};
    use crate::remote::RemoteMemory;
    use std::time::{Duration, Instant};

    const SIZES: Sizes = Sizes { packet_bytes_max: 4096, sends: 8, receive_bytes: 1 << 18 };

    /// Two endpoints of a provider, if it is there.
    fn pair(provider: &str, registration: MemoryRegistration) -> Option<[Endpoint; 2]> {
        let library = Library::open().ok()?;
        let offers = library
            .offers(OfferHints { provider: Some(provider), registration, ..OfferHints::default() })
            .ok()?;
        let offer = offers.iter().find(|offer| offer.is_ipv4).or(offers.first())?;
        Some([Endpoint::open(offer, SIZES).unwrap(), Endpoint::open(offer, SIZES).unwrap()])
    }

    /// Polls once, and tells what has happened.
    fn poll(endpoint: &mut Endpoint, take: impl FnMut(EndpointEvent<'_>)) {
        let mut completions = Completions::new();
        if endpoint.poll(&mut completions).unwrap() {
            endpoint.take(&completions, take);
        }
    }

    fn exchange(provider: &str) {
        let Some([mut a, mut b]) = pair(provider, MemoryRegistration::Any) else { return };
        let to_b = a.insert(b.address()).unwrap();
        let (mut sent, mut freed, mut received) = (0u32, 0, Vec::new());
        let until = Instant::now() + Duration::from_secs(20);
        while received.len() < 100 || freed < 100 {
            assert!(Instant::now() < until, "{provider}: {sent} sent, {freed} gone, {} here", received.len());
            if sent < 100 && sent - freed < 8 {
                let (slot, len) = (sent as usize % 8, 4 + sent as usize * 40);
                a.slot(slot)[..len].fill(sent as u8);
                a.slot(slot)[..4].copy_from_slice(&sent.to_le_bytes());
                sent += u32::from(a.send(to_b, slot, len).unwrap());
            }
            poll(&mut a, |event| freed += u32::from(matches!(event, EndpointEvent::Sent(_))));
            poll(&mut b, |event| {
                if let EndpointEvent::Received(packet) = event {
                    received.push(packet.to_vec());
                }
            });
        }
        for (at, packet) in received.iter().enumerate() {
            assert_eq!((packet.len(), packet[..4].to_vec()), (4 + at * 40, (at as u32).to_le_bytes().into()));
            assert!(packet[4..].iter().all(|&byte| byte == at as u8), "{provider}, packet {at}");
        }
    }

    #[test]
    fn packets_arrive_in_order() {
        for provider in ["tcp;ofi_rxm", "sockets", "udp;ofi_rxd", "tcp", "shm"] {
            exchange(provider);
        }
    }

    /// The sender fills the receiver's queue before each look at it, and a look takes in more than it tells.
    fn flood(provider: &str) {
        const PACKETS: u32 = 40_000;
        let Some([mut a, mut b]) = pair(provider, MemoryRegistration::Any) else { return };
        let to_b = a.insert(b.address()).unwrap();
        let (mut sent, mut received, mut packet) = (0_u32, 0_u32, [0; 3000]);
        let until = Instant::now() + Duration::from_secs(20);
        while received < PACKETS {
            assert!(Instant::now() < until, "{provider}: {sent} sent, {received} here");
            while sent < PACKETS && {
                packet[..4].copy_from_slice(&sent.to_le_bytes());
                a.inject(to_b, &packet).unwrap()
            } {
                sent += 1;
            }
            poll(&mut a, |_| ());
            poll(&mut b, |event| {
                if let EndpointEvent::Received(packet) = event {
                    assert_eq!(packet[..4], received.to_le_bytes(), "{provider}");
                    received += 1;
                }
            });
        }
    }

    #[test]
    fn a_flood_arrives() {
        flood("shm");
    }

    /// The second endpoint reads memory of the first. False where there is no such way.
    fn is_read(provider: &str, registration: MemoryRegistration) -> bool {
        let Some([mut a, mut b]) = pair(provider, registration).filter(|pair| pair[1].read_bytes_max() > 0)
        else {
            return false;
        };
        let to_a = b.insert(a.address()).unwrap();
        let data: Vec<u8> = (0..300_000).map(|at| (at * 7 % 251) as u8).collect();
        // SAFETY: the data lives longer than the region, and the region is dropped before its endpoint.
        let region = unsafe { a.expose(data.as_ptr(), data.len()) }.unwrap();
        let mut into = vec![0_u8; 200_000];
        let place = RemoteMemory { start: region.place().start + 1000, ..region.place() };
        let until = Instant::now() + Duration::from_secs(20);
        let (mut is_taken, mut has_ended) = (false, false);
        while !has_ended {
            assert!(Instant::now() < until, "{provider}, {registration:?}: taken is {is_taken}");
            if !is_taken {
                // SAFETY: the place for it lives until the loop has ended, or the test.
                is_taken = unsafe { b.read(3, (to_a, place), into.as_mut_ptr(), into.len()) }.unwrap();
            }
            poll(&mut a, |_| ());
            poll(&mut b, |event| match event {
                EndpointEvent::Read(3) => has_ended = true,
                other => panic!("{provider}, {registration:?}: {other:?}"),
            });
        }
        assert!(into == data[1000..201_000], "{provider}, {registration:?}");
        drop(region);
        true
    }

    /// The second endpoint writes into memory of the first, and reads it back. False where there is no such way.
    fn is_written(provider: &str, registration: MemoryRegistration) -> bool {
        let Some([mut a, mut b]) = pair(provider, registration).filter(|pair| pair[1].write_bytes_max() > 0)
        else {
            return false;
        };
        let to_a = b.insert(a.address()).unwrap();
        let (mut window, data) = (vec![0_u8; 100_000], vec![7_u8; 60_000]);
        // SAFETY: the window lives longer than the region, and the region is dropped before its endpoint.
        let region = unsafe { a.expose_window(window.as_mut_ptr(), window.len()) }.unwrap();
        let place = RemoteMemory { start: region.place().start + 500, ..region.place() };
        let mut back = vec![0_u8; data.len()];
        let until = Instant::now() + Duration::from_secs(20);
        let mut ended = 0;
        let (mut writes, mut reads) = (false, false);
        while ended < 2 {
            assert!(Instant::now() < until, "{provider}, {registration:?}: {ended} ended");
            // SAFETY: both places live until the loop has ended, or the test.
            unsafe {
                if !writes {
                    writes = b.write(3, (to_a, place), data.as_ptr(), data.len()).unwrap();
                } else if ended == 1 && !reads {
                    reads = b.read(4, (to_a, place), back.as_mut_ptr(), back.len()).unwrap();
                }
            }
            poll(&mut a, |_| ());
            poll(&mut b, |event| match event {
                EndpointEvent::Read(3 | 4) => ended += 1,
                other => panic!("{provider}, {registration:?}: {other:?}"),
            });
        }
        drop(region);
        assert!(window[..500].iter().all(|&byte| byte == 0) && window[500..60_500] == data);
        assert!(back == data && window[60_500..].iter().all(|&byte| byte == 0), "{provider}");
        true
    }

    #[test]
    fn memory_of_others_can_be_read() {
        let providers = ["tcp;ofi_rxm", "sockets", "tcp", "udp;ofi_rxd", "shm"];
        let ways = [MemoryRegistration::Any, MemoryRegistration::Offsets, MemoryRegistration::Addresses];
        let mut tried = 0;
        for provider in providers {
            tried += ways.iter().filter(|way| is_read(provider, **way)).count();
        }
        assert!(tried > 0 || pair("sockets", MemoryRegistration::Any).is_none(), "no provider can read");
        println!("{tried} ways to read");
    }

    #[test]
    fn memory_of_others_can_be_written() {
        let ways = [MemoryRegistration::Any, MemoryRegistration::Offsets, MemoryRegistration::Addresses];
        let mut tried = 0;
        for provider in ["tcp;ofi_rxm", "sockets", "tcp", "shm"] {
            tried += ways.iter().filter(|way| is_written(provider, **way)).count();
        }
        assert!(tried > 0 || pair("sockets", MemoryRegistration::Any).is_none(), "no provider can write");
        println!("{tried} ways to write");
    }

    #[test]
    fn a_wait_ends_when_a_packet_comes() {
        let Some([mut a, mut b]) = pair("tcp;ofi_rxm", MemoryRegistration::Any) else { return };
        let to_b = a.insert(b.address()).unwrap();
        let fd = b.fd().expect("this provider has a descriptor");
        let until = Instant::now() + Duration::from_secs(20);
        let (mut sent, mut came) = (false, false);
        while !came {
            assert!(Instant::now() < until, "it never comes");
            sent = sent || a.inject(to_b, b"hello").unwrap();
            poll(&mut a, |_| ());
            let waits = b.may_wait();
            let mut look = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
            // SAFETY: one descriptor.
            unsafe { libc::poll(&mut look, 1, if waits { 10 } else { 0 }) };
            poll(&mut b, |event| came |= matches!(event, EndpointEvent::Received(b"hello")));
        }
    }
}
