//! Accesses of one rank and of all (MPI 5.0 section 14.4): what all their forms have in common.

use super::agreement::agree;
use super::datarep::ConvertedTransfer;
use super::facts::FileFacts;
use super::fault::of_system;
use super::manage::compared;
use super::object::{File, Split};
use super::pending::{self, AccessOutcome, Completion};
use super::serve;
use super::together::{self, CollectiveTransfer};
use crate::core::arguments::{contiguous, contiguous_buffer};
use crate::core::boundary::{ChoiceBuf, Out};
use crate::core::error::{Error, Result, fail};
use crate::core::process::{Process, enter, enter_alone};
use crate::core::wait::{self, Waiting};
use crate::p2p::ended::Ended;
use crate::p2p::status::{self, StatusOut};
use std::sync::Arc;
use tern_abi::*;
use tern_io::access::StreamPart;
use tern_io::storage::{read_all, write_all};
use tern_io::{Moved, Storage, Tuning};
use tern_mem::UserBuf;

/// Where an access begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AccessPosition {
    /// At an offset, in elementary types (section 14.4.2).
    At(MPI_Offset),
    /// At this rank's pointer (section 14.4.3).
    Pointer,
    /// At the pointer of all (section 14.4.4).
    Shared,
}

/// One access, as its call says.
#[derive(Clone, Copy)]
pub(crate) struct FileCall {
    /// Its name.
    pub name: &'static str,
    /// The file.
    pub fh: MPI_File,
    /// Where it begins.
    pub place: AccessPosition,
    /// Address, count and datatype.
    pub buffer: (ChoiceBuf, i64, MPI_Datatype),
    /// Whether it writes.
    pub writes: bool,
}

/// An access whose arguments are right.
struct CheckedAccess {
    facts: Arc<FileFacts>,
    transfer: ConvertedTransfer,
    part: StreamPart,
    tuning: Tuning,
    is_atomic: bool,
}

/// One rank's, until it has ended.
#[inline(always)]
pub(crate) fn blocking(call: FileCall, status: StatusOut<'_>) -> Result {
    if let Some(bytes) = direct(&call) {
        status.store_bytes(bytes);
        return Ok(());
    }
    blocking_longer(call, status)
}

#[inline(never)]
fn blocking_longer(call: FileCall, status: StatusOut<'_>) -> Result {
    if let Some(ended) = plain(&call) {
        return hand_over(ended, status);
    }
    let ready = call.ready()?;
    let moved = together::alone(&ready.facts, &ready.part, (call.writes, ready.is_atomic), &ready.tuning);
    let ended = pending::ended(&ready.transfer, call.writes, outcome(&ready.facts, moved), call.fh);
    hand_over(ended, status)
}

/// One rank's, where one call of the system moves all of it: most of all accesses, and beside a call of some 250 ns each step is
/// seen. How many bytes; `None` if it is another kind, or if not all was moved. Then it is made once more, the longer way,
/// which finds the same error or end.
#[inline(always)]
fn direct(call: &FileCall) -> Option<u64> {
    let (base, count, datatype) = call.buffer;
    let buf = contiguous(base, count, datatype)?;
    let bytes = buf.len();
    let mut process = enter_alone()?;
    // Nobody else can come in meanwhile, so the file stays without being counted: that would be two locked instructions.
    let file = process.objects.files.table.find_mut(call.fh.0)?;
    let access = &file.direct;
    let position = match call.place {
        AccessPosition::At(offset) => u64::try_from(offset).ok()?,
        AccessPosition::Pointer => file.position,
        AccessPosition::Shared => return None,
    };
    let is_single = access.etype_bytes == 1;
    let from = if is_single { position } else { position.checked_mul(access.etype_bytes)? };
    let offset = from.checked_add(access.first)?;
    let end = offset.checked_add(bytes as u64)?;
    let may = if call.writes { access.writes } else { access.reads };
    if !may || bytes == 0 || end > MPI_Offset::MAX as u64 / 2 {
        return None;
    }
    let elements = if is_single { bytes as u64 } else { bytes as u64 / access.etype_bytes };
    if !is_single && elements * access.etype_bytes != bytes as u64 {
        return None;
    }
    let buf = UserBuf::from(buf);
    let moved = match call.writes {
        true => access.storage.write(&buf, 0, bytes, offset),
        false => access.storage.read(&buf, 0, bytes, offset),
    };
    if !moved.is_ok_and(|moved| moved == bytes) {
        return None;
    }
    if call.writes {
        file.facts.written(&(offset..end));
    }
    if call.place == AccessPosition::Pointer {
        file.position = position + elements;
    }
    Some(bytes as u64)
}

/// One rank's, where neither the memory nor the view has gaps, and nothing is wrong. `None` if nothing was done.
fn plain(call: &FileCall) -> Option<Ended> {
    let (base, count, datatype) = call.buffer;
    let buf = contiguous_buffer(base, count, datatype)?;
    if let Some(mut process) = enter_alone() {
        // Nobody else can come in meanwhile, so the file stays without being counted: that would be two locked instructions.
        let file = process.objects.files.table.find_mut(call.fh.0)?;
        let offset = file.plain_place(call, buf.len() as u64)?;
        return Some(plain_move(call, &file.facts, &buf, offset));
    }
    let (facts, offset) = {
        let mut process = enter();
        let file = process.file_mut(call.fh).ok()?;
        let offset = file.plain_place(call, buf.len() as u64)?;
        (file.facts.clone(), offset)
    };
    Some(plain_move(call, &facts, &buf, offset))
}

#[inline(always)]
fn plain_move(call: &FileCall, facts: &FileFacts, buf: &UserBuf, offset: u64) -> Ended {
    let (bytes, outcome) = match call.writes {
        true => {
            let written = write_all(&*facts.storage, buf, 0, buf.len(), offset);
            facts.written(&(offset..offset + buf.len() as u64));
            written
        }
        false => read_all(&*facts.storage, buf, 0, buf.len(), offset),
    };
    let mut status = MPI_Status::EMPTY;
    status::set_bytes(&mut status, bytes as u64);
    let error = outcome.err().map(|error| of_system(&error, &facts.path).at(call.fh));
    Ended { status, error }
}

impl File {
    /// Where in the file an access of so many bytes without gaps begins, and moves the pointer on; `None` if it takes more than one call of the
    /// system, or is wrong.
    #[inline(always)]
    fn plain_place(&mut self, call: &FileCall, bytes: u64) -> Option<u64> {
        let (facts, view) = (&self.facts, &self.view.view);
        let first = view.contiguous_from()?;
        let etype = view.etype_bytes();
        let (elements, rest) = if etype == 1 { (bytes, 0) } else { (bytes / etype, bytes % etype) };
        let locks = if call.writes { self.locks.writes } else { self.locks.reads };
        let is_usual = rest == 0 && bytes > 0 && self.view.representation.is_plain() && !locks;
        if !is_usual || !facts.allows(call.writes, call.place != AccessPosition::Shared) {
            return None;
        }
        let position = match call.place {
            AccessPosition::At(offset) => u64::try_from(offset).ok()?,
            AccessPosition::Pointer => self.position,
            AccessPosition::Shared => facts.shared.peek()?,
        };
        let end = position.checked_mul(etype)?.checked_add(first)?.checked_add(bytes)?;
        if end > MPI_Offset::MAX as u64 / 2 {
            return None;
        }
        let position = match call.place {
            AccessPosition::At(_) => position,
            AccessPosition::Pointer => std::mem::replace(&mut self.position, position + elements),
            AccessPosition::Shared => facts.shared.advance_here(elements),
        };
        Some(first + position * etype)
    }
}

/// One rank's, as a request.
pub(crate) fn nonblocking(call: FileCall, request: Out<'_, MPI_Request>) -> Result {
    let ready = call.ready()?;
    let CheckedAccess { facts, transfer, part, tuning, is_atomic } = ready;
    if transfer.is_converted_by_program() {
        let moved = together::alone(&facts, &part, (call.writes, is_atomic), &tuning);
        let ended = pending::ended(&transfer, call.writes, outcome(&facts, moved), call.fh);
        request.set(enter().ended_request(ended)?);
        return Ok(());
    }
    let completion = Completion::new(&facts);
    let mut process = enter();
    process.objects.files.sweep();
    let (workers, bell) = (process.objects.files.workers(), process.waiting.bell.clone());
    let access = pending::PendingAccess {
        call: call.name,
        fh: call.fh,
        completion: completion.clone(),
        transfer,
        writes: call.writes,
        ended: None,
    };
    let handle = process.new_request(access)?;
    drop(process);
    let storage = facts.storage.clone();
    let done = move |facts: &FileFacts, moved: Moved| {
        completion.complete(outcome(facts, moved));
        bell.iter().for_each(|bell| bell.ring());
    };
    let writes = call.writes;
    if is_atomic {
        workers.call(move || done(&facts, together::alone(&facts, &part, (writes, true), &tuning)));
    } else {
        let range = part.span();
        workers.access(storage, (part, writes), tuning, move |moved| {
            done(&facts, moved);
            if writes {
                facts.written(&range);
            }
        });
    }
    request.set(handle);
    Ok(())
}

/// All ranks', until it has ended.
pub(crate) fn collective(call: FileCall, status: StatusOut<'_>) -> Result {
    let (transfer, operation) = call.together()?;
    hand_over(call.ended(&transfer, operation), status)
}

/// All ranks', as a request.
pub(crate) fn collective_nonblocking(call: FileCall, request: Out<'_, MPI_Request>) -> Result {
    let (facts, converts) = {
        let process = enter();
        let file = process.file(call.fh)?;
        let plain = file.view.representation.is_plain();
        (file.facts.clone(), !plain && file.view.representation.name() != "external32")
    };
    if converts {
        // The program's functions are called here, so each rank moves its data by itself.
        return nonblocking(call, request);
    }
    let (transfer, part) = call.parts();
    let operation = CollectiveTransfer::new(call.access(&facts)?, part);
    let completion = Completion::new(&facts);
    let mut process = enter();
    let access = pending::PendingAccess {
        call: call.name,
        fh: call.fh,
        completion: completion.clone(),
        transfer: transfer.unwrap_or_default(),
        writes: call.writes,
        ended: None,
    };
    let handle = process.new_request(access)?;
    serve::add_operation(&mut process, operation, completion);
    request.set(handle);
    Ok(())
}

/// All ranks', one behind the other at the shared pointer.
pub(crate) fn ordered(call: FileCall, status: StatusOut<'_>) -> Result {
    let (transfer, operation) = call.in_order()?;
    hand_over(call.ended(&transfer, operation), status)
}

/// The first half of a split collective (section 14.4.5): it starts the access, which goes on while the program does something else.
pub(crate) fn begin(call: FileCall, in_order: bool) -> Result {
    let split = enter().file(call.fh)?.split.as_ref().map(|split| split.began);
    if let Some(began) = split {
        return Err(fail(
            MPI_ERR_OTHER,
            format!("{began} has begun a split collective on this file: end it first"),
        ));
    }
    let (mut transfer, operation) = if in_order { call.in_order()? } else { call.together()? };
    if operation.is_refused() {
        // Nothing of this rank's is left to end; it stays until the others know.
        return operation.run().1.map_or(Ok(()), Err);
    }
    let completion = Completion::new(operation.facts());
    let mut process = enter();
    transfer.keep_handle(&mut process);
    let file = process.file_mut(call.fh)?;
    file.split =
        Some(Split { began: call.name, writes: call.writes, transfer, completion: completion.clone() });
    serve::add_operation(&mut process, operation, completion);
    Ok(())
}

/// The second half: it waits until the access has ended.
pub(crate) fn end(name: &'static str, fh: MPI_File, status: StatusOut<'_>) -> Result {
    let began = name.replace("_end", "_begin");
    let (split, context) = {
        let mut process = enter();
        let file = process.file_mut(fh)?;
        match &file.split {
            Some(split) if split.began == began => {}
            Some(split) => {
                let text = format!("{} has begun a split collective on this file, not {began}", split.began);
                return Err(fail(MPI_ERR_OTHER, text));
            }
            None => return Err(fail(MPI_ERR_OTHER, format!("{began} was not called before"))),
        }
        (file.split.take(), file.facts.context)
    };
    let Some(Split { writes, transfer, completion, .. }) = split else { return Ok(()) };
    let waiting = |_: &Process| Waiting::collective(name, context);
    let outcome = wait::until(enter(), waiting, |_| completion.take());
    let ended = pending::ended(&transfer, writes, outcome, fh);
    transfer.forget_handle(&mut enter());
    hand_over(ended, status)
}

impl FileCall {
    /// Buffer and place, or what is wrong.
    fn ready(&self) -> Result<CheckedAccess> {
        let (facts, is_atomic, tuning) = {
            let process = enter();
            let file = process.file(self.fh)?;
            (file.facts.clone(), file.is_atomic, file.tuning())
        };
        facts.expect(self.writes)?;
        if self.place != AccessPosition::Shared {
            facts.expect_places()?;
        }
        let transfer = ConvertedTransfer::new(self.fh, self.buffer, self.writes)?;
        let part = self.part(&facts, &transfer.buf)?;
        Ok(CheckedAccess { facts, transfer, part, tuning, is_atomic })
    }

    /// Where the buffer's bytes are, and moves the pointer on.
    fn part(&self, facts: &FileFacts, buf: &UserBuf) -> Result<StreamPart> {
        let mut process = enter();
        let file = process.file_mut(self.fh)?;
        let elements = file.expect_whole(buf)?;
        let position = match self.place {
            AccessPosition::At(offset) => u64::try_from(offset)
                .map_err(|_| fail(MPI_ERR_ARG, format!("offset is {offset}, but must not be negative")))?,
            AccessPosition::Pointer => file.position,
            AccessPosition::Shared => {
                drop(process);
                let position = facts.shared.advance(self.name, facts, elements)?;
                let part = enter().file(self.fh)?.part(position, buf.clone(), self.writes);
                if part.is_err() {
                    facts.shared.refuse(facts, position, elements);
                }
                return part;
            }
        };
        let part = file.part(position, buf.clone(), self.writes)?;
        if self.place == AccessPosition::Pointer {
            file.position += elements;
        }
        Ok(part)
    }

    /// What its ranks do together.
    fn access(&self, facts: &Arc<FileFacts>) -> Result<together::CollectiveAccess> {
        let process = enter();
        let file = process.file(self.fh)?;
        Ok(together::CollectiveAccess {
            call: self.name,
            facts: facts.clone(),
            writes: self.writes,
            tuning: file.tuning(),
            collective: if self.writes { file.hints.cb_write } else { file.hints.cb_read },
            is_atomic: file.is_atomic,
        })
    }

    /// The buffer if it is right, and the part or what is wrong.
    fn parts(&self) -> (Option<ConvertedTransfer>, Result<StreamPart>) {
        match self.ready() {
            Ok(ready) => (Some(ready.transfer), Ok(ready.part)),
            Err(error) => (None, Err(error)),
        }
    }

    /// Makes an access of all ranks, and waits until it is over.
    fn ended(&self, transfer: &ConvertedTransfer, operation: CollectiveTransfer) -> Ended {
        pending::ended(transfer, self.writes, operation.run(), self.fh)
    }

    /// What all ranks make together; all learn of an error.
    fn together(&self) -> Result<(ConvertedTransfer, CollectiveTransfer)> {
        let (facts, comm) = {
            let process = enter();
            let file = process.file(self.fh)?;
            (file.facts.clone(), file.comm)
        };
        let (transfer, part) = self.parts();
        let part = compared(self.name, comm, part)?;
        Ok((transfer.unwrap_or_default(), CollectiveTransfer::new(self.access(&facts)?, part)))
    }

    /// What all ranks make together, each behind those of lower ranks.
    fn in_order(&self) -> Result<(ConvertedTransfer, CollectiveTransfer)> {
        let (facts, comm) = {
            let process = enter();
            let file = process.file(self.fh)?;
            (file.facts.clone(), file.comm)
        };
        let transfer = facts.expect(self.writes).and_then(|()| {
            let transfer = ConvertedTransfer::new(self.fh, self.buffer, self.writes)?;
            let elements = enter().file(self.fh)?.expect_whole(&transfer.buf)?;
            Ok((transfer, elements))
        });
        let transfer = compared(self.name, comm, transfer)?;
        let participants = facts.participants(self.name);
        let elements = transfer.as_ref().map_or(0, |(_, elements)| *elements);
        let ((transfer, _), told) = agree(&participants, transfer, &[elements])?;
        let all: u64 = told.iter().map(|words| words[0]).sum();
        let old = if facts.me == 0 { facts.shared.advance(self.name, &facts, all)? } else { 0 };
        let (_, olds) = agree(&participants, Ok(()), &[old])?;
        let before: u64 = told[..facts.me as usize].iter().map(|words| words[0]).sum();
        let part = enter().file(self.fh)?.part(olds[0][0] + before, transfer.buf.clone(), self.writes);
        Ok((transfer, CollectiveTransfer::new(self.access(&facts)?, part)))
    }
}

fn outcome(facts: &FileFacts, moved: Moved) -> AccessOutcome {
    let error: Option<Box<Error>> = moved.error.map(|error| of_system(&error, &facts.path));
    (moved.bytes, error)
}

fn hand_over(ended: Ended, to: StatusOut<'_>) -> Result {
    to.store(&ended.status);
    ended.error.map_or(Ok(()), Err)
}
