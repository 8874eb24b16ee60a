//! Files: the object behind a handle (MPI 5.0 chapter 14).

use super::datarep::{ConvertedTransfer, Representation};
use super::facts::FileFacts;
use super::pending::{Completion, PendingAccess};
use crate::core::error::{Result, fail};
use crate::core::handle::HandleKind;
use crate::core::table::Table;
use std::sync::Arc;
use tern_abi::*;
use tern_io::access::StreamPart;
use tern_io::{Hints, PosixFile, Switch, Tuning, View};
use tern_mem::{Datatype, UserBuf};

/// A file.
pub(crate) struct File {
    /// What stays as it was when the file was opened.
    pub facts: Arc<FileFacts>,
    /// A communicator of its own, which the program does not know.
    pub comm: MPI_Comm,
    /// Its error handler.
    pub errhandler: MPI_Errhandler,
    /// Hints in use.
    pub hints: Hints,
    /// The view of this rank.
    pub view: Arc<FileView>,
    /// What most accesses need of all this.
    pub direct: DirectAccess,
    /// This rank's pointer, in elementary types of the view.
    pub position: u64,
    /// `MPI_File_set_atomicity`.
    pub is_atomic: bool,
    /// What takes a lock.
    pub locks: LockedAccesses,
    /// A split collective that has begun and not ended (section 14.4.5).
    pub split: Option<Split>,
}

/// A view as the program set it.
pub(crate) struct FileView {
    /// Where the bytes of the stream lie.
    pub view: View,
    /// The elementary type.
    pub etype: Arc<Datatype>,
    /// The file type.
    pub filetype: Arc<Datatype>,
    /// How data look in the file.
    pub representation: Representation,
}

/// What an access needs that is one call of the system: beside that each look at an object elsewhere in memory would be seen.
pub(crate) struct DirectAccess {
    /// The system's file.
    pub storage: Arc<PosixFile>,
    /// Where the view begins in the file, and the bytes of its elementary type.
    pub first: u64,
    /// See there.
    pub etype_bytes: u64,
    /// Whether reads and writes are made so: the view has no gaps, nothing is converted or locked, and the mode allows it.
    pub reads: bool,
    /// See there.
    pub writes: bool,
}

impl DirectAccess {
    /// Of a file to whose view this is, and what takes a lock.
    pub(crate) fn of(facts: &FileFacts, view: &FileView, locks: LockedAccesses) -> Self {
        let first = view.view.contiguous_from();
        let usual = first.is_some() && view.view.etype_bytes() > 0;
        let can = usual && view.representation.is_plain();
        DirectAccess {
            storage: facts.storage.clone(),
            first: first.unwrap_or_default(),
            etype_bytes: view.view.etype_bytes(),
            reads: can && !locks.reads && facts.allows(false, true),
            writes: can && !locks.writes && facts.allows(true, true),
        }
    }
}

/// Which accesses take a lock: all in atomic mode, and writes where ranks sieve what they write.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct LockedAccesses {
    pub(super) reads: bool,
    pub(super) writes: bool,
}

/// A split collective that has begun.
pub(crate) struct Split {
    /// The call that began it.
    pub began: &'static str,
    /// Whether it writes.
    pub writes: bool,
    /// Its buffer.
    pub transfer: ConvertedTransfer,
    /// How it ends.
    pub completion: Arc<Completion>,
}

impl File {
    /// Sets the view, and the pointer to its begin.
    pub(crate) fn set_view(&mut self, view: FileView) {
        (self.view, self.position) = (Arc::new(view), 0);
        self.settle_locks();
    }

    /// Sets the atomicity.
    pub(crate) fn set_atomic(&mut self, is_atomic: bool) {
        self.is_atomic = is_atomic;
        self.settle_locks();
    }

    /// Sets the hints.
    pub(crate) fn set_hints(&mut self, hints: Hints) {
        self.hints = hints;
        self.settle_locks();
    }

    /// What takes a lock from now on.
    pub(crate) fn settle_locks(&mut self) {
        let sieves = self.tuning().sieve_write > 0;
        self.locks = LockedAccesses { reads: self.is_atomic, writes: self.is_atomic || sieves };
        self.direct = DirectAccess::of(&self.facts, &self.view, self.locks);
    }

    /// How an access of this rank alone is made.
    pub(crate) fn tuning(&self) -> Tuning {
        let bytes = |switch: Switch, bytes, automatic| match switch {
            Switch::Enable => bytes,
            Switch::Disable => 0,
            Switch::Automatic => automatic,
        };
        let hints = &self.hints;
        Tuning {
            sieve_read: bytes(hints.ds_read, hints.ind_rd_buffer_size, hints.ind_rd_buffer_size),
            // It needs locks and writes what is not in the request, so only who asks for it gets it; and it reads.
            sieve_write: match self.facts.may(MPI_MODE_RDWR) {
                true => bytes(hints.ds_write, hints.ind_wr_buffer_size, 0),
                false => 0,
            },
            sieve_always: false,
        }
    }

    /// The part of this rank's stream from an elementary type on, for a buffer to be written or read.
    pub(crate) fn part(&self, position: u64, buf: UserBuf, writes: bool) -> Result<StreamPart> {
        let view = &self.view.view;
        let from = position.checked_mul(view.etype_bytes());
        let to = from.and_then(|from| from.checked_add(buf.len() as u64));
        match (from, to) {
            (Some(from), Some(to)) if buf.is_empty() || view.reaches(to) => {
                match writes.then(|| view.overlap(from, to)).flatten() {
                    None => Ok(StreamPart { view: view.clone(), from, buf }),
                    Some(byte) => Err(fail(
                        MPI_ERR_ARG,
                        format!(
                            "the access writes byte {byte} of the file twice: filetypes that follow each other overlap there"
                        ),
                    )),
                }
            }
            _ if view.is_empty() => Err(fail(MPI_ERR_IO, "the filetype of the view has no bytes to access")),
            _ if view.is_single() => Err(fail(
                MPI_ERR_ARG,
                "the access goes beyond one filetype, and the next one would not lie behind it: its extent is not positive",
            )),
            _ => Err(fail(
                MPI_ERR_ARG,
                format!("{} bytes from offset {position} are beyond the largest file", buf.len()),
            )),
        }
    }

    /// Refuses a buffer that is no whole number of elementary types.
    pub(crate) fn expect_whole(&self, buf: &UserBuf) -> Result<u64> {
        let (bytes, etype) = (buf.len() as u64, self.view.view.etype_bytes());
        if bytes.is_multiple_of(etype) {
            return Ok(bytes / etype);
        }
        Err(fail(
            MPI_ERR_IO,
            format!("{bytes} bytes are no whole number of the view's elementary types of {etype} bytes"),
        ))
    }
}

/// Something in files that goes on while any call waits. `State` is the process's, which has these objects.
pub(crate) trait Served<State> {
    /// Goes as far as it can; whether it goes on later.
    fn serve(&mut self, state: &mut State) -> bool;

    /// A file is closed: whether this was for it, and has ended.
    fn end(&mut self, _state: &mut State, _facts: &Arc<FileFacts>) -> bool {
        false
    }
}

/// All files, and what is under way in them.
pub(crate) struct OpenFiles<State> {
    /// By handle.
    pub table: Table<Box<File>>,
    /// Collective accesses that are requests, and other things to be served while any call waits.
    pub served: Vec<Box<dyn Served<State>>>,
    /// What does non-blocking accesses.
    pub workers: Option<tern_io::Workers>,
    /// Settings.
    pub settings: tern_settings::FileSettings,
    /// Requests that were freed while they were under way.
    pub freed: Vec<PendingAccess>,
    /// Representations that the program has registered.
    pub representations: Vec<Arc<super::datarep::Registered>>,
}

impl<State> OpenFiles<State> {
    /// None.
    pub(crate) const fn new() -> Self {
        OpenFiles {
            table: Table::new(HandleKind::File),
            served: Vec::new(),
            workers: None,
            settings: tern_settings::FileSettings::DEFAULT,
            freed: Vec::new(),
            representations: Vec::new(),
        }
    }

    /// MPI ends: files that are still open are gone.
    pub(crate) fn forget(&mut self) {
        self.workers.take().iter().for_each(tern_io::Workers::end);
        self.table = Table::new(HandleKind::File);
        self.served.clear();
    }

    /// Forgets requests that were freed and have ended since.
    pub(crate) fn sweep(&mut self) {
        self.freed.retain_mut(|access| !access.look());
    }

    /// The threads that do non-blocking accesses.
    pub(crate) fn workers(&mut self) -> tern_io::Workers {
        self.workers.get_or_insert_with(|| tern_io::Workers::new(self.settings.backend)).clone()
    }
}
