//! Requests: how a program completes what it has started (MPI 5.0 section 3.7).
//!
//! A plain message is a request of the engine, and its handle is the engine's number. Everything else
//! (persistent, generalized, of a collective, complete from the start) is an object in [`Requests`].

use crate::core::error::{Error, Result, fail};
use crate::core::handle::{self, Kind};
use crate::core::process::Process;
use crate::core::table::Table;
use crate::p2p::status;
use tern_abi::*;
use tern_engine::{Fault, Started, Status, engine::Description, slab::Id};
use tern_mem::Basic;
use tern_transport::TransferError;

/// A request that is not simply one message.
pub enum Object {
    /// Complete from the start, or completed; waits to be asked.
    Ended(Ended),
    /// Persistent (section 3.9).
    Persistent(crate::p2p::persistent::Persistent),
    /// Generalized (section 13.2).
    Generalized(crate::p2p::generalized::Generalized),
    /// A collective under way.
    Collective(crate::coll::Collective),
    /// A send and a receive that are one request (section 3.11).
    Pair(crate::p2p::sendrecv::Pair),
    /// Waits until a buffer is empty of what was in it (section 3.6).
    Flush(crate::p2p::buffered::Flush),
}

/// How something ended.
#[derive(Debug)]
pub struct Ended {
    /// Its status, without the error field.
    pub status: MPI_Status,
    /// Its error.
    pub error: Option<Box<Error>>,
}

impl Ended {
    /// Well, with this status.
    pub fn well(status: MPI_Status) -> Self {
        Ended { status, error: None }
    }
}

/// The objects.
pub struct Requests(pub Table<Object>);

impl Requests {
    /// None yet.
    pub const fn new() -> Self {
        Requests(Table::new(Kind::Request))
    }
}

/// The state of a request as a completion call sees it.
#[derive(Debug)]
pub enum Progress {
    /// It goes on.
    Pending,
    /// It has ended; it is gone, unless it is persistent, which is inactive now.
    Ended(Ended),
    /// The handle was null, or the request is persistent and inactive: an empty status.
    Inactive,
    /// Generalized: the program's functions have to be called, without the lock.
    Ask,
}

impl Process {
    /// The handle of what has just been started.
    #[inline]
    pub fn request(&mut self, started: Started) -> Result<MPI_Request> {
        match started {
            Started::Pending(id) => Ok(handle_of(id)),
            Started::Done(status) => Ok(handle_of(self.engine()?.ended(status))),
        }
    }

    /// Takes from the front the messages that have ended well, and writes their statuses: the usual case of every
    /// completion call. How many those were.
    ///
    /// # Safety
    /// `statuses` is `MPI_STATUSES_IGNORE` or points to as many statuses.
    #[inline(always)]
    pub unsafe fn take_well(&mut self, requests: &mut [MPI_Request], statuses: *mut MPI_Status) -> usize {
        let Some(engine) = self.engine_mut() else { return 0 };
        for (at, request) in requests.iter_mut().enumerate() {
            let Some(raw) = handle::decode_request(request.0) else { return at };
            let to = if statuses.is_null() { statuses } else { statuses.wrapping_add(at) };
            // SAFETY: by the caller.
            let store = |ended: &Status| unsafe { status::store_from(to, ended) };
            if !engine.test_well(Id::from_raw(raw), store) {
                return at;
            }
            *request = MPI_REQUEST_NULL;
        }
        requests.len()
    }

    /// The handle of something that has ended already.
    pub fn ended_request(&mut self, ended: Ended) -> Result<MPI_Request> {
        self.new_request(Object::Ended(ended))
    }

    /// How the engine says that a message ended.
    #[inline]
    pub fn ended(&self, status: &Status) -> Ended {
        let error = status.fault.map(|fault| self.explain(fault, status));
        Ended { status: status::from_engine(status), error }
    }

    #[cold]
    fn explain(&self, fault: Fault, status: &Status) -> Box<Error> {
        self.placed(explain(fault, status), status)
    }

    /// Sends the error of a message to its communicator.
    #[cold]
    pub fn placed(&self, error: Box<Error>, status: &Status) -> Box<Error> {
        match self.comms.handle_of_context(status.context) {
            Some(comm) => error.at(comm),
            None => error,
        }
    }

    /// Takes a request in.
    pub fn new_request(&mut self, object: Object) -> Result<MPI_Request> {
        let handle = self.requests.0.insert(object);
        handle.map(MPI_Request).ok_or_else(|| fail(MPI_ERR_NO_MEM, "2^18 requests exist: complete some"))
    }

    /// Where a request stands; one that has ended is taken, and `request` becomes null unless it is persistent.
    #[inline]
    pub fn progress(&mut self, request: &mut MPI_Request) -> Result<Progress> {
        if let Some(raw) = handle::decode_request(request.0) {
            let id = Id::from_raw(raw);
            let engine = self.engine()?;
            if let Some(status) = engine.test(id) {
                *request = MPI_REQUEST_NULL;
                return Ok(Progress::Ended(self.ended(&status)));
            }
            return if engine.exists(id) { Ok(Progress::Pending) } else { Err(no_request(*request)) };
        }
        if *request == MPI_REQUEST_NULL {
            return Ok(Progress::Inactive);
        }
        self.progress_object(request)
    }

    fn progress_object(&mut self, request: &mut MPI_Request) -> Result<Progress> {
        match self.requests.0.get_mut(request.0) {
            None => Err(no_request(*request)),
            Some(Object::Ended(_)) => {
                let Some(Object::Ended(ended)) = self.requests.0.remove(request.0) else { unreachable!() };
                *request = MPI_REQUEST_NULL;
                Ok(Progress::Ended(ended))
            }
            Some(Object::Persistent(_)) => crate::p2p::persistent::progress(self, *request),
            Some(Object::Generalized(generalized)) => {
                Ok(if generalized.complete { Progress::Ask } else { Progress::Pending })
            }
            Some(Object::Collective(_)) => crate::coll::progress(self, request),
            Some(Object::Pair(_)) => crate::p2p::sendrecv::progress(self, request),
            Some(Object::Flush(_)) => crate::p2p::buffered::progress(self, request),
        }
    }
}

/// The handle of a request of the engine.
#[inline]
pub fn handle_of(id: Id) -> MPI_Request {
    MPI_Request(handle::encode_request(id.raw()))
}

/// The handle of what the engine has started, if it goes on by itself.
pub fn handle_of_started(started: Started) -> Option<MPI_Request> {
    if let Started::Pending(id) = started { Some(handle_of(id)) } else { None }
}

/// What an object has started in the engine, or what the engine did at once.
impl Process {
    /// How it ended, if it has; it is gone then.
    #[inline]
    pub fn take_started(&mut self, started: Started) -> Option<Status> {
        match started {
            Started::Done(status) => Some(status),
            Started::Pending(id) => self.engine_mut()?.test(id),
        }
    }

    /// How it ended, if it has; it stays.
    pub fn peek_started(&self, started: Started) -> Option<Status> {
        match started {
            Started::Done(status) => Some(status),
            Started::Pending(id) => self.engine_ref()?.peek(id),
        }
    }

    /// It completes by itself, and nobody will ask.
    pub fn detach_started(&mut self, started: Started) {
        if let (Started::Pending(id), Some(engine)) = (started, self.engine_mut()) {
            engine.detach(id);
        }
    }

    /// Tries to cancel it.
    pub fn cancel_started(&mut self, started: Started) {
        if let (Started::Pending(id), Some(engine)) = (started, self.engine_mut()) {
            engine.cancel(id);
        }
    }

    /// What it is, for a person.
    pub fn describe_started(&self, started: Started) -> Option<Description> {
        match started {
            Started::Done(_) => None,
            Started::Pending(id) => self.engine_ref()?.describe(id),
        }
    }
}

/// An error for what went wrong with a message.
#[cold]
pub fn explain(fault: Fault, status: &Status) -> Box<Error> {
    let from = format!("message from rank {} with tag {}", status.source, status.tag);
    match fault {
        Fault::Truncated { sent, room } => fail(
            MPI_ERR_TRUNCATE,
            format!("the {from} has {sent} bytes, but the receive buffer only {room}: it was cut"),
        ),
        Fault::NotReady => fail(
            MPI_ERR_OTHER,
            format!(
                "the {from} was sent in ready mode, but this rank had not posted its receive (section 3.4)"
            ),
        ),
        Fault::Signature { theirs, ours } => {
            let (sent, wanted) = (Basic::with_signature(theirs, status.bytes), one_of(ours));
            let sent = sent.map_or("a mix of basic types", Basic::name);
            let wanted = wanted.map_or("another sequence of basic types", Basic::name);
            let bytes = status.bytes;
            let why = "TERN_CHECK=types, section 3.3.1";
            fail(
                MPI_ERR_TYPE,
                format!("the {from} has {bytes} bytes of {sent}, but the receive is for {wanted} ({why})"),
            )
        }
        Fault::Transfer(TransferError::Os(number)) => fail(
            MPI_ERR_BUFFER,
            format!(
                "the {from} could not be copied: {}; is one of the two buffers not mapped?",
                std::io::Error::from_raw_os_error(number)
            ),
        ),
        Fault::Transfer(TransferError::OwnMemory { base, len }) => fail(
            MPI_ERR_BUFFER,
            format!(
                "this process cannot use the memory of its buffer, {len} bytes at {base:#x}: is it memory of a device, was it \
                 freed, or may it only be read?"
            ),
        ),
        Fault::Transfer(TransferError::PeersMemory) => fail(
            MPI_ERR_BUFFER,
            "the message did not come over, since the other rank cannot use the memory of its buffer; its own call says \
             where that lies",
        ),
        Fault::Transfer(TransferError::BadKey) => {
            fail(MPI_ERR_INTERN, format!("the {from} named a shared copy that does not exist"))
        }
    }
}

/// The basic type that a receive is for, if it is one.
fn one_of(signature: u64) -> Option<Basic> {
    Basic::ALL.into_iter().find_map(|basic| Basic::with_signature(signature, basic.size() as u64))
}

#[cold]
pub(crate) fn no_request(request: MPI_Request) -> Box<Error> {
    fail(
        MPI_ERR_REQUEST,
        format!("{:#x} is no request: it was completed or freed, or never was one", request.0),
    )
}
