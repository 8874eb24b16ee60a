//! Requests: how a program completes what it has started (MPI 5.0 section 3.7).
//!
//! A plain message is a request of the engine, and its handle is the engine's number. Everything else (persistent,
//! generalized, of a collective, complete from the start) is an object that implements [`Request`], in the file of its topic.

use crate::core::error::{Error, Result, fail};
use crate::core::given;
use crate::core::handle::{self, HandleKind};
use crate::core::process::Process;
use crate::core::table::Table;
use crate::core::wait::waiting::Waiting;
use crate::p2p::ended::Ended;
use crate::p2p::fault::explain;
use crate::p2p::status::{self, StatusArray};
use std::any::Any;
use tern_abi::*;
use tern_engine::{ANY_SOURCE, ANY_TAG, MessageFault, StartedMessage, Status, engine::Description, slab::Id};

/// A request that is not simply one message.
///
/// While a method runs that may change it, the request is not among those of `process`.
pub(crate) trait Request: Any {
    /// Where it stands. One that has ended says so once: then it is dropped, or inactive if it [lasts](Request::is_persistent).
    fn progress(&mut self, process: &mut Process) -> Result<Progress>;

    /// Whether a completion call would end for it. It stays as it is.
    fn is_complete(&mut self, process: &mut Process) -> Result<bool>;

    /// Its status once it is complete; `None` if the program has to be asked.
    fn status(&self, _process: &Process) -> Option<MPI_Status> {
        Some(MPI_Status::EMPTY)
    }

    /// Whether `MPI_Start` can start it, again and again.
    fn is_persistent(&self) -> bool {
        false
    }

    /// Whether it is persistent, and not started.
    fn is_inactive(&self) -> bool {
        false
    }

    /// Starts it, if it is persistent (section 3.9).
    fn start(&mut self, _process: &mut Process, handle: MPI_Request) -> Result {
        Err(no_persistent(handle))
    }

    /// Asks to give it up (section 3.8.4). What is left to do without the lock is given back.
    fn cancel(&mut self, process: &mut Process) -> Result<Option<Callback>>;

    /// Why `MPI_Request_free` must not take it, if so.
    fn may_be_freed(&self) -> Result {
        Ok(())
    }

    /// Ends it without completing it; what it has started goes on (section 3.7.3). One that must stay puts itself back. What is left
    /// to do without the lock is given back.
    fn free(self: Box<Self>, process: &mut Process, handle: MPI_Request) -> Result<Option<Callback>>;

    /// Whether a completion call would wait for it; to be asked for a report only.
    fn is_pending(&self, process: &Process, handle: MPI_Request) -> bool;

    /// What `call` waits for, for a person.
    fn waiting(&self, process: &Process, call: &'static str) -> Waiting {
        waiting_for(process, call, self.described(process))
    }

    /// The message that it is or, of several, the one that is still under way.
    fn described(&self, _process: &Process) -> Option<Description> {
        None
    }

    /// The messages that it consists of.
    fn parts(&self) -> Vec<StartedMessage> {
        Vec::new()
    }

    /// What it is, for a list.
    fn named(&self, process: &Process) -> String;
}

/// What calls functions of the program's: to be done without the lock.
pub(crate) type Callback = Box<dyn FnOnce() -> Result>;

/// The request of something that has ended; it waits to be asked.
struct Complete(Option<Ended>);

impl Request for Complete {
    fn progress(&mut self, _process: &mut Process) -> Result<Progress> {
        Ok(self.0.take().map_or(Progress::Inactive, Progress::Ended))
    }

    fn is_complete(&mut self, _process: &mut Process) -> Result<bool> {
        Ok(true)
    }

    fn status(&self, _process: &Process) -> Option<MPI_Status> {
        Some(self.0.as_ref().map_or(MPI_Status::EMPTY, |ended| ended.status))
    }

    fn cancel(&mut self, _process: &mut Process) -> Result<Option<Callback>> {
        Ok(None)
    }

    fn free(self: Box<Self>, _process: &mut Process, _handle: MPI_Request) -> Result<Option<Callback>> {
        Ok(None)
    }

    fn is_pending(&self, _process: &Process, _handle: MPI_Request) -> bool {
        false
    }

    fn named(&self, _process: &Process) -> String {
        "a request that is complete".into()
    }
}

/// The objects.
pub(crate) struct Requests(Table<Box<dyn Request>>);

impl Requests {
    /// None yet.
    pub(crate) const fn new() -> Self {
        Requests(Table::new(HandleKind::Request))
    }

    /// Any request, to look at.
    pub(crate) fn get(&self, request: MPI_Request) -> Option<&dyn Request> {
        self.0.get(request.0).map(|object| &**object)
    }

    /// A request of one kind.
    pub(crate) fn find<T: Request>(&self, request: MPI_Request) -> Option<&T> {
        (self.get(request)? as &dyn Any).downcast_ref()
    }

    /// The same, to change it.
    #[inline]
    pub(crate) fn find_mut<T: Request>(&mut self, request: MPI_Request) -> Option<&mut T> {
        let object: &mut dyn Any = &mut **self.0.get_mut(request.0)?;
        object.downcast_mut()
    }

    /// All requests of one kind.
    pub(crate) fn all<T: Request>(&self) -> impl Iterator<Item = &T> {
        self.0.iter().filter_map(|(_, object)| (&**object as &dyn Any).downcast_ref())
    }

    /// Takes a request out for good.
    pub(crate) fn remove(&mut self, request: MPI_Request) -> Option<Box<dyn Request>> {
        self.0.remove(request.0)
    }

    /// Takes a request out for a while, see [`Table::lift`].
    #[inline]
    pub(crate) fn lift(&mut self, request: MPI_Request) -> Option<Box<dyn Request>> {
        self.0.lift(request.0)
    }

    /// Puts back what was lifted.
    #[inline]
    pub(crate) fn put_back(&mut self, request: MPI_Request, object: Box<dyn Request>) {
        self.0.put_back(request.0, object);
    }

    /// What was lifted does not come back.
    pub(crate) fn release(&mut self, request: MPI_Request) {
        self.0.release(request.0);
    }
}

/// The state of a request as a completion call sees it.
#[derive(Debug)]
pub(crate) enum Progress {
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
    pub(crate) fn request(&mut self, started: StartedMessage) -> Result<MPI_Request> {
        match started {
            StartedMessage::Pending(id) => Ok(handle_of(id)),
            StartedMessage::Done(status) => Ok(handle_of(self.engine()?.ended(status))),
        }
    }

    /// Takes from the front the messages that have ended well, and writes their statuses: the usual case of every
    /// completion call. How many those were.
    #[inline(always)]
    pub(crate) fn take_well(&mut self, requests: &mut [MPI_Request], statuses: StatusArray<'_>) -> usize {
        let Some(engine) = self.engine_mut() else { return 0 };
        for (at, request) in requests.iter_mut().enumerate() {
            let Some(raw) = handle::decode_request(request.0) else { return at };
            let store = |ended: &Status| statuses.at(at).store_from(ended);
            if !engine.test_if_successful(Id::from_raw(raw), store) {
                return at;
            }
            *request = MPI_REQUEST_NULL;
        }
        requests.len()
    }

    /// The handle of something that has ended already.
    pub(crate) fn ended_request(&mut self, ended: Ended) -> Result<MPI_Request> {
        self.new_request(Complete(Some(ended)))
    }

    /// How the engine says that a message ended.
    #[inline]
    pub(crate) fn ended(&self, status: &Status) -> Ended {
        let error = status.fault.map(|fault| self.explain(fault, status));
        Ended { status: status::from_engine(status), error }
    }

    #[cold]
    fn explain(&self, fault: MessageFault, status: &Status) -> Box<Error> {
        self.placed(explain(fault, status), status)
    }

    /// Sends the error of a message to its communicator.
    #[cold]
    pub(crate) fn placed(&self, error: Box<Error>, status: &Status) -> Box<Error> {
        if let Some(win) = self.window_of_context(status.context) {
            return error.at(win);
        }
        self.of_communicator(error, status.context)
    }

    /// Sends an error to the communicator of a context, though it may have been freed since.
    #[cold]
    pub(crate) fn of_communicator(&self, error: Box<Error>, context: u64) -> Box<Error> {
        let comms = &self.objects.comms;
        match (comms.handle_of_context(context), comms.handler_of_freed(context)) {
            (Some(comm), _) => error.at(comm),
            (None, Some(errhandler)) => error.at(errhandler),
            (None, None) => error,
        }
    }

    /// Takes a request in.
    pub(crate) fn new_request(&mut self, object: impl Request) -> Result<MPI_Request> {
        let handle = self.objects.requests.0.insert(Box::new(object));
        handle.map(MPI_Request).ok_or_else(|| fail(MPI_ERR_NO_MEM, "2^18 requests exist: complete some"))
    }

    /// Where a request stands; one that has ended is taken, and `request` becomes null unless it is persistent.
    #[inline]
    pub(crate) fn progress(&mut self, request: &mut MPI_Request) -> Result<Progress> {
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
        let handle = *request;
        let mut object = self.objects.requests.lift(handle).ok_or_else(|| no_request(handle))?;
        let progress = object.progress(self);
        if matches!(progress, Ok(Progress::Ended(_))) && !object.is_persistent() {
            self.objects.requests.release(handle);
            *request = MPI_REQUEST_NULL;
        } else {
            self.objects.requests.put_back(handle, object);
        }
        progress
    }

    /// Does something with a request, which is not among the others meanwhile.
    pub(crate) fn with_request<T>(
        &mut self,
        request: MPI_Request,
        work: impl FnOnce(&mut dyn Request, &mut Process) -> Result<T>,
    ) -> Result<T> {
        let mut object = self.objects.requests.lift(request).ok_or_else(|| no_request(request))?;
        let done = work(&mut *object, self);
        self.objects.requests.put_back(request, object);
        done
    }
}

/// The handle of a request of the engine.
#[inline]
pub(crate) fn handle_of(id: Id) -> MPI_Request {
    MPI_Request(handle::encode_request(id.raw()))
}

/// The handle of what the engine has started, if it goes on by itself.
pub(crate) fn handle_of_started(started: StartedMessage) -> Option<MPI_Request> {
    if let StartedMessage::Pending(id) = started { Some(handle_of(id)) } else { None }
}

/// What an object has started in the engine, or what the engine did at once.
impl Process {
    /// How it ended, if it has; it is gone then.
    #[inline]
    pub(crate) fn take_started(&mut self, started: StartedMessage) -> Option<Status> {
        match started {
            StartedMessage::Done(status) => Some(status),
            StartedMessage::Pending(id) => self.engine_mut()?.test(id),
        }
    }

    /// How it ended, if it has; it stays.
    pub(crate) fn peek_started(&self, started: StartedMessage) -> Option<Status> {
        match started {
            StartedMessage::Done(status) => Some(status),
            StartedMessage::Pending(id) => self.engine_ref()?.peek(id),
        }
    }

    /// It completes by itself, and nobody will ask.
    pub(crate) fn detach_started(&mut self, started: StartedMessage) {
        if let (StartedMessage::Pending(id), Some(engine)) = (started, self.engine_mut()) {
            engine.detach(id);
        }
    }

    /// Tries to cancel it.
    pub(crate) fn cancel_started(&mut self, started: StartedMessage) {
        if let (StartedMessage::Pending(id), Some(engine)) = (started, self.engine_mut()) {
            engine.cancel(id);
        }
    }

    /// What it is, for a person.
    pub(crate) fn describe_started(&self, started: StartedMessage) -> Option<Description> {
        match started {
            StartedMessage::Done(_) => None,
            StartedMessage::Pending(id) => self.engine_ref()?.describe(id),
        }
    }
}

#[cold]
pub(crate) fn no_request(request: MPI_Request) -> Box<Error> {
    fail(
        MPI_ERR_REQUEST,
        format!("{:#x} is no request: it was completed or freed, or never was one", given::handle(request.0)),
    )
}

pub(crate) fn no_persistent(request: MPI_Request) -> Box<Error> {
    fail(
        MPI_ERR_REQUEST,
        format!("{:#x} is not a persistent request: only those can be started", given::handle(request.0)),
    )
}

/// What a message that goes on waits for.
pub(crate) fn waiting_for(process: &Process, call: &'static str, what: Option<Description>) -> Waiting {
    let Some(what) = what else { return Waiting::on(call) };
    let comm = process.objects.comms.of_context(what.context);
    let in_comm = |peer| comm.and_then(|comm| comm.peers().rank_of(peer)).map_or(-1, |rank| rank as i32);
    let peer = match (what.receive, what.peer) {
        (true, ANY_SOURCE) => MPI_ANY_SOURCE,
        (true, rank) => rank as i32,
        (false, peer) => in_comm(peer),
    };
    let tag = if what.tag == ANY_TAG { MPI_ANY_TAG } else { what.tag };
    let detail = if what.receive { "receiving" } else { "sending" };
    let waiting = Waiting::message(call, what.context, peer, tag, what.bytes);
    Waiting { detail: detail.into(), receives: what.receive, ..waiting }
}
