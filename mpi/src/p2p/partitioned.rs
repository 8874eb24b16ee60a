//! Partitioned communication (MPI 5.0 chapter 4): requests whose buffers become ready, and arrive, in parts.

use crate::comm::object::{Comm, Lane};
use crate::core::arguments;
use crate::core::boundary::{Array, ChoiceBuf, ChoiceBufMut, Handed, Out};
use crate::core::entry::entry;
use crate::core::error::{Error, Result, fail};
use crate::core::given;
use crate::core::process::{Process, enter};
use crate::core::wait::{self, Waiting};
use crate::limits::{PARTITIONS_CALM, PARTITIONS_HURRY_TICKS, PARTITIONS_UNCLOCKED};
use crate::p2p::request::{Callback, Progress, Request, no_request};
use crate::p2p::status;
use std::ffi::c_int;
use tern_abi::*;
use tern_engine::partitioned::{Division, Round};
use tern_engine::{PartitionedId, Pattern, ReadyError, Status};
use tern_transport::ticks::ticks;

/// A partitioned request.
#[derive(Debug)]
pub(crate) struct PartitionedRequest {
    side: PartitionedSide,
    partitions: u32,
    /// It was started, and not completed since.
    active: bool,
    /// When the program was last here with a partition of a send.
    last: u64,
    /// Partitions in a row before which it did not compute.
    calm: u32,
    comm: MPI_Comm,
    rank: c_int,
    tag: c_int,
    bytes: u64,
}

/// Which side of the communication a request is.
#[derive(Clone, Copy, Debug)]
enum PartitionedSide {
    Send(PartitionedId),
    Receive(PartitionedId),
    SendToNone,
    ReceiveFromNone,
}

/// The arguments of the two inits.
struct InitArguments {
    buf: ChoiceBuf,
    partitions: c_int,
    count: i64,
    datatype: MPI_Datatype,
    rank: c_int,
    tag: c_int,
    comm: MPI_Comm,
    info: MPI_Info,
}

entry! {
    /// A partitioned send (section 4.2.1). The count is `MPI_Count`; the second name is in the header of the Forum's ABI stubs alone.
    safe fn MPI_Psend_init, MPI_Psend_init_c<W>(buf: ChoiceBuf, partitions: c_int, count: i64, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, info: MPI_Info, request: Handed<'_, MPI_Request>) on comm {
        init(true, &InitArguments { buf, partitions, count, datatype, rank: dest, tag, comm, info }, request)
    }

    /// A partitioned receive (section 4.2.1), likewise. The rank is the source, which the standard's table calls `dest`.
    safe fn MPI_Precv_init, MPI_Precv_init_c<W>(buf: ChoiceBufMut, partitions: c_int, count: i64, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, info: MPI_Info, request: Handed<'_, MPI_Request>) on comm {
        init(false, &InitArguments { buf: buf.into(), partitions, count, datatype, rank: dest, tag, comm, info }, request)
    }

    /// One partition may be sent (section 4.2.2).
    safe fn MPI_Pready(partition: c_int, request: MPI_Request) {
        ready(request, |process, id, of, hurry| {
            let at = number(partition, of)?;
            Ok(process.engine()?.ready(id, at, at, hurry))
        })
    }

    /// Partitions `partition_low` to `partition_high`, both of them included, may be sent.
    safe fn MPI_Pready_range(partition_low: c_int, partition_high: c_int, request: MPI_Request) {
        ready(request, |process, id, of, hurry| {
            let (low, high) = (number(partition_low, of)?, number(partition_high, of)?);
            if low > high {
                return Err(fail(MPI_ERR_ARG, format!("partition_low is {low}, which is above partition_high, {high}")));
            }
            Ok(process.engine()?.ready(id, low, high, hurry))
        })
    }

    /// A list of partitions may be sent.
    safe fn MPI_Pready_list(length: c_int, array_of_partitions: Array<'_, c_int>, request: MPI_Request) {
        let length = arguments::count("length", length.into())? as usize;
        let list = array_of_partitions.of(length)?;
        ready(request, |process, id, of, hurry| {
            let list: Vec<u32> = list.iter().map(|&at| number(at, of)).collect::<Result<_>>()?;
            Ok(process.engine()?.ready_list(id, &list, hurry))
        })
    }

    /// Whether a partition of a receive has arrived (section 4.2.3).
    safe fn MPI_Parrived(request: MPI_Request, partition: c_int, flag: Out<'_, c_int>) {
        flag.set(1);
        if request != MPI_REQUEST_NULL {
            flag.set(c_int::from(arrived(request, partition)?));
        }
        Ok(())
    }
}

fn init(sends: bool, arguments: &InitArguments, request: Handed<'_, MPI_Request>) -> Result {
    let (comm, rank, tag) = (arguments.comm, arguments.rank, arguments.tag);
    let mut process = enter();
    check_ends(process.comm(comm)?, arguments, sends)?;
    process.hints(arguments.info)?;
    let (what, partitions) = division(&process, arguments, sends)?;
    let bytes = what.buf.len() as u64;
    let side = if sends {
        send_side(&mut process, arguments, what)?
    } else {
        receive_side(&mut process, arguments, what)?
    };
    let object =
        PartitionedRequest { side, partitions, active: false, last: 0, calm: 0, comm, rank, tag, bytes };
    request.set(process.new_request(object)?);
    Ok(())
}

/// Nothing wild: a partitioned receive is matched by its init.
fn check_ends(comm: &Comm, arguments: &InitArguments, sends: bool) -> Result {
    let InitArguments { rank, tag, .. } = *arguments;
    if !sends && rank == MPI_ANY_SOURCE {
        return Err(fail(
            MPI_ERR_RANK,
            "source is MPI_ANY_SOURCE, but a partitioned receive names its source (section 4.2)",
        ));
    }
    if !sends && tag == MPI_ANY_TAG {
        return Err(fail(
            MPI_ERR_TAG,
            "tag is MPI_ANY_TAG, but a partitioned receive names its tag (section 4.2)",
        ));
    }
    match sends {
        true => arguments::destination(comm, rank, tag).map(|_| ()),
        false => arguments::receive_pattern(comm, rank, tag).map(|_| ()),
    }
}

/// The buffer of all partitions.
fn division(process: &Process, arguments: &InitArguments, sends: bool) -> Result<(Division, u32)> {
    let InitArguments { buf, partitions, count, datatype, .. } = *arguments;
    let negative = |_| fail(MPI_ERR_ARG, format!("partitions is {partitions}, but must not be negative"));
    let partitions = u32::try_from(partitions).map_err(negative)?;
    let each = arguments::count("count", count)?;
    let is_empty = || process.objects.types.committed(datatype).is_ok_and(|of| of.layout().size() == 0);
    let all = match i64::try_from(u128::from(each) * u128::from(partitions)) {
        Ok(all) => all,
        // Any number of nothing is none.
        Err(_) if is_empty() => 0,
        Err(_) => {
            let what =
                format!("{partitions} partitions of {each} elements are more than an address space has");
            return Err(fail(MPI_ERR_COUNT, what));
        }
    };
    let buf = arguments::buffer(process, buf, all, datatype)?;
    let signature = process.signature(datatype, if sends { all as u64 } else { 1 });
    Ok((Division { buf, partitions, signature }, partitions))
}

fn send_side(process: &mut Process, arguments: &InitArguments, what: Division) -> Result<PartitionedSide> {
    let comm = process.comm(arguments.comm)?;
    let Some((peer, envelope)) = arguments::destination(comm, arguments.rank, arguments.tag)? else {
        return Ok(PartitionedSide::SendToNone);
    };
    Ok(PartitionedSide::Send(process.engine()?.partitioned_send(peer, envelope, what)))
}

fn receive_side(process: &mut Process, arguments: &InitArguments, what: Division) -> Result<PartitionedSide> {
    let comm = process.comm(arguments.comm)?;
    let Some(pattern) = arguments::receive_pattern(comm, arguments.rank, arguments.tag)? else {
        return Ok(PartitionedSide::ReceiveFromNone);
    };
    let Pattern { source, tag, .. } = pattern;
    let own = comm.envelope(Lane::P2p, tag).source;
    let peer = comm.peers().peer(source).ok_or_else(|| fail(MPI_ERR_RANK, "no such source"))?;
    Ok(PartitionedSide::Receive(process.engine()?.partitioned_receive(peer, pattern, own, what)))
}

/// A partition's number, of so many.
fn number(partition: c_int, of: u32) -> Result<u32> {
    u32::try_from(partition).ok().filter(|&at| at < of).ok_or_else(|| out_of_range(partition, of))
}

#[cold]
fn out_of_range(partition: c_int, of: u32) -> Box<Error> {
    let valid = if of == 0 { "it has none".into() } else { format!("it has 0 to {}", of - 1) };
    fail(MPI_ERR_ARG, format!("partition {partition} is not one of the request's: {valid}"))
}

/// Makes partitions ready by `call`.
#[inline]
fn ready(
    request: MPI_Request,
    call: impl FnOnce(&mut Process, PartitionedId, u32, bool) -> Result<std::result::Result<(), ReadyError>>,
) -> Result {
    let mut process = enter();
    let Some(partitioned) = process.objects.requests.find_mut::<PartitionedRequest>(request) else {
        return Err(not_partitioned(&process, request));
    };
    let (of, comm) = (partitioned.partitions, partitioned.comm);
    match partitioned.side {
        PartitionedSide::Send(id) => {
            let hurry = partitioned.hurries();
            let made = call(&mut process, id, of, hurry).map_err(|error| error.at(comm))?;
            made.map_err(|error| explain(error).at(comm))
        }
        // Nothing has to be sent; only the numbers are looked at.
        PartitionedSide::SendToNone => Ok(()),
        PartitionedSide::Receive(_) | PartitionedSide::ReceiveFromNone => Err(fail(
            MPI_ERR_REQUEST,
            "the request is a partitioned receive: only partitions of a send become ready",
        )
        .at(comm)),
    }
}

impl PartitionedRequest {
    /// Whether the program computes between its partitions: then each leaves at once.
    #[inline]
    fn hurries(&mut self) -> bool {
        self.calm = self.calm.wrapping_add(1);
        if self.calm > PARTITIONS_CALM && !self.calm.is_multiple_of(PARTITIONS_UNCLOCKED) {
            return false;
        }
        let now = ticks();
        let hurries = now.wrapping_sub(std::mem::replace(&mut self.last, now)) > PARTITIONS_HURRY_TICKS;
        if hurries {
            self.calm = 0;
        }
        hurries
    }

    #[cold]
    fn still_active(&self, before: &str) -> Box<Error> {
        let text = format!(
            "the partitioned request is active: complete it by MPI_Wait or MPI_Test before it is {before}"
        );
        fail(MPI_ERR_REQUEST, text).at(self.comm)
    }

    /// Where it stands.
    fn round(&self, process: &Process) -> Round {
        let Some(engine) = process.engine_ref() else { return Round::None };
        match self.side {
            PartitionedSide::Send(id) => engine.peek_partitioned_send(id),
            PartitionedSide::Receive(id) => engine.peek_partitioned_receive(id),
            PartitionedSide::SendToNone | PartitionedSide::ReceiveFromNone if !self.active => Round::None,
            PartitionedSide::SendToNone => Round::Over(Status::EMPTY),
            PartitionedSide::ReceiveFromNone => Round::Over(from_none()),
        }
    }
}

fn from_none() -> Status {
    match crate::p2p::messages::FROM_NO_PROCESS {
        tern_engine::StartedMessage::Done(status) => status,
        tern_engine::StartedMessage::Pending(_) => Status::EMPTY,
    }
}

#[cold]
fn explain(error: ReadyError) -> Box<Error> {
    match error {
        ReadyError::Inactive => fail(
            MPI_ERR_REQUEST,
            "the partitioned send is not active: call MPI_Start before its partitions become ready",
        ),
        ReadyError::OutOfRange(of) => fail(MPI_ERR_ARG, format!("the request has {of} partitions")),
        ReadyError::Twice(at) => fail(
            MPI_ERR_ARG,
            format!(
                "partition {at} has been made ready already since the last MPI_Start: once is all that is allowed"
            ),
        ),
    }
}

#[cold]
fn not_partitioned(process: &Process, request: MPI_Request) -> Box<Error> {
    if request == MPI_REQUEST_NULL {
        return fail(MPI_ERR_REQUEST, "the request is MPI_REQUEST_NULL");
    }
    if process.objects.requests.get(request).is_none()
        && crate::core::handle::decode_request(request.0).is_none()
    {
        return no_request(request);
    }
    fail(
        MPI_ERR_REQUEST,
        format!("{:#x} is not a partitioned request (section 4.2)", given::handle(request.0)),
    )
}

fn arrived(request: MPI_Request, partition: c_int) -> Result<bool> {
    let mut process = enter();
    if has_arrived(&process, request, partition)? {
        return Ok(true);
    }
    process = wait::look_again(process, |process| {
        match process.objects.requests.find::<PartitionedRequest>(request) {
            Some(partitioned) => partitioned.waiting(process, "MPI_Parrived"),
            _ => Waiting::on("MPI_Parrived"),
        }
    });
    has_arrived(&process, request, partition)
}

fn has_arrived(process: &Process, request: MPI_Request, partition: c_int) -> Result<bool> {
    let Some(partitioned) = process.objects.requests.find::<PartitionedRequest>(request) else {
        return Err(not_partitioned(process, request));
    };
    let at = number(partition, partitioned.partitions).map_err(|error| error.at(partitioned.comm))?;
    match partitioned.side {
        PartitionedSide::Receive(id) => {
            Ok(process.engine_ref().and_then(|engine| engine.has_arrived(id, at)).unwrap_or(true))
        }
        PartitionedSide::ReceiveFromNone => Ok(true),
        PartitionedSide::Send(_) | PartitionedSide::SendToNone => {
            let error = fail(
                MPI_ERR_REQUEST,
                "the request is a partitioned send: only partitions of a receive arrive",
            );
            Err(error.at(partitioned.comm))
        }
    }
}

impl Request for PartitionedRequest {
    fn progress(&mut self, process: &mut Process) -> Result<Progress> {
        let round = match self.side {
            PartitionedSide::Send(id) => process.engine()?.test_partitioned_send(id),
            PartitionedSide::Receive(id) => process.engine()?.test_partitioned_receive(id),
            PartitionedSide::SendToNone | PartitionedSide::ReceiveFromNone => self.round(process),
        };
        Ok(match round {
            Round::None => Progress::Inactive,
            Round::Pending => Progress::Pending,
            Round::Over(status) => {
                self.active = false;
                Progress::Ended(process.ended(&status))
            }
        })
    }

    fn is_complete(&mut self, process: &mut Process) -> Result<bool> {
        Ok(self.round(process) != Round::Pending)
    }

    fn status(&self, process: &Process) -> Option<MPI_Status> {
        Some(match self.round(process) {
            Round::Over(ended) => status::from_engine(&ended),
            Round::None | Round::Pending => MPI_Status::EMPTY,
        })
    }

    fn is_persistent(&self) -> bool {
        true
    }

    fn is_inactive(&self) -> bool {
        !self.active
    }

    fn start(&mut self, process: &mut Process, _handle: MPI_Request) -> Result {
        let engine = process.engine()?;
        let started = match self.side {
            PartitionedSide::Send(id) => engine.start_partitioned_send(id),
            PartitionedSide::Receive(id) => engine.start_partitioned_receive(id),
            PartitionedSide::SendToNone | PartitionedSide::ReceiveFromNone => !self.active,
        };
        if !started {
            return Err(self.still_active("started again"));
        }
        (self.active, self.last) = (true, ticks());
        Ok(())
    }

    fn cancel(&mut self, _process: &mut Process) -> Result<Option<Callback>> {
        let error = fail(MPI_ERR_REQUEST, "a partitioned communication cannot be cancelled (section 4.2)");
        Err(error.at(self.comm))
    }

    fn may_be_freed(&self) -> Result {
        if self.active { Err(self.still_active("freed (section 4.2)")) } else { Ok(()) }
    }

    fn free(self: Box<Self>, process: &mut Process, _handle: MPI_Request) -> Result<Option<Callback>> {
        if let Some(engine) = process.engine_mut() {
            match self.side {
                PartitionedSide::Send(id) => engine.free_partitioned_send(id),
                PartitionedSide::Receive(id) => engine.free_partitioned_receive(id),
                PartitionedSide::SendToNone | PartitionedSide::ReceiveFromNone => true,
            };
            // The peer is told, and tells this rank: a program that only makes and frees requests would have more and more of that wait.
            engine.poll();
            engine.poll();
        }
        Ok(None)
    }

    fn is_pending(&self, process: &Process, _handle: MPI_Request) -> bool {
        self.round(process) == Round::Pending
    }

    fn waiting(&self, process: &Process, call: &'static str) -> Waiting {
        let context = process.objects.comms.get(self.comm).map_or(0, |comm| comm.context);
        let waiting = Waiting::message(call, context, self.rank, self.tag, self.bytes);
        let engine = process.engine_ref();
        let (receives, detail) = match self.side {
            PartitionedSide::Receive(id) => {
                let arrived = engine.and_then(|engine| engine.arrived_partitions(id));
                (
                    true,
                    arrived
                        .map(|(arrived, of)| format!("receiving, {arrived} of {of} partitions have arrived")),
                )
            }
            PartitionedSide::Send(id) => {
                let ready = engine.and_then(|engine| engine.ready_partitions(id));
                (false, ready.map(|(ready, of)| format!("sending, {ready} of {of} partitions are ready")))
            }
            PartitionedSide::SendToNone | PartitionedSide::ReceiveFromNone => (false, None),
        };
        Waiting { receives, detail: detail.unwrap_or_default(), ..waiting }
    }

    fn named(&self, _process: &Process) -> String {
        match self.side {
            PartitionedSide::Send(_) | PartitionedSide::SendToNone => "a partitioned send".into(),
            PartitionedSide::Receive(_) | PartitionedSide::ReceiveFromNone => "a partitioned receive".into(),
        }
    }
}
