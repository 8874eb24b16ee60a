//! Sessions (MPI 5.0 section 11.3): MPI without `MPI_COMM_WORLD`, from process sets to groups to communicators
//! (`comm/from_group.rs`).

mod object;

pub(crate) use object::{Session, Sessions};

use crate::comm::object::Comm;
use crate::comm::sets::{PROCESS_SETS, members};
use crate::core::boundary::{Out, OutText};
use crate::core::entry::entry;
use crate::core::error::{Error, Result, fail};
use crate::core::given;
use crate::core::process::{Phase, Process, Threads, allow, enter, phase};
use crate::env::hints::Info;
use crate::env::{init, memory_kinds};
use std::borrow::Cow;
use std::ffi::c_int;
use tern_abi::*;

impl Process {
    /// The kinds of memory that buffers in a communicator may be of: what its session asks for, or the job.
    pub(crate) fn memory_kinds(&self, comm: MPI_Comm) -> String {
        let session = self.objects.sessions.origin(comm.0).and_then(|session| self.session(session).ok());
        let requested = session.map_or_else(memory_kinds::of_world, |session| session.memory_kinds.clone());
        memory_kinds::supported(&requested)
    }

    /// Takes away the communicator that a window or a file has for itself.
    pub(crate) fn remove_own_comm(&mut self, comm: MPI_Comm) -> Option<Box<Comm>> {
        self.objects.sessions.forget(comm.0);
        self.objects.comms.remove(comm)
    }

    /// The session of a handle.
    pub(crate) fn session(&self, session: MPI_Session) -> Result<&Session> {
        self.objects.sessions.table.get(session.0).ok_or_else(|| no_session(session))
    }

    /// The session of a handle, to change it.
    pub(crate) fn session_mut(&mut self, session: MPI_Session) -> Result<&mut Session> {
        self.objects.sessions.table.get_mut(session.0).ok_or_else(|| no_session(session))
    }
}

#[cold]
fn no_session(session: MPI_Session) -> Box<Error> {
    if session == MPI_SESSION_NULL {
        return fail(MPI_ERR_SESSION, "the session is MPI_SESSION_NULL");
    }
    fail(
        MPI_ERR_SESSION,
        format!("{:#x} is no session: it was finalized or never was one", given::handle(session.0)),
    )
}

entry! {
    /// Starts a session, before, beside or without `MPI_Init`.
    safe fn MPI_Session_init(info: MPI_Info, errhandler: MPI_Errhandler, session: Result<Out<'_, MPI_Session>>) {
        let made = || {
            let session = session?;
            session.set(start(info, errhandler)?);
            Ok(())
        };
        made().map_err(|error: Box<Error>| error.at(errhandler))
    }

    /// Ends a session; with the last, and without `MPI_COMM_WORLD`, MPI.
    safe fn MPI_Session_finalize(session: &mut MPI_Session) {
        finish(*session)?;
        *session = MPI_SESSION_NULL;
        Ok(())
    }

    /// The hints given to a session that are in use.
    safe fn MPI_Session_get_info(session: MPI_Session, info_used: Out<'_, MPI_Info>) on session {
        let mut process = enter();
        let kinds = memory_kinds::supported(&process.session(session)?.memory_kinds);
        let mut used = Info::default();
        used.set("thread_level", "MPI_THREAD_MULTIPLE");
        used.set(memory_kinds::KEY, &kinds);
        info_used.set(process.new_info(used)?);
        Ok(())
    }

    /// How many process sets there are.
    safe fn MPI_Session_get_num_psets(session: MPI_Session, _info: MPI_Info, npset_names: Out<'_, c_int>) on session {
        enter().session(session)?;
        npset_names.set(PROCESS_SETS.len() as c_int);
        Ok(())
    }

    /// The name of a process set, and how many bytes it takes with its zero; a buffer of no bytes is not touched.
    safe fn MPI_Session_get_nth_pset(session: MPI_Session, _info: MPI_Info, n: c_int, pset_len: &mut c_int, pset_name: Option<OutText<'_>>) on session {
        enter().session(session)?;
        let set = usize::try_from(n).ok().and_then(|n| PROCESS_SETS.get(n)).ok_or_else(|| {
            fail(MPI_ERR_ARG, format!("n is {n}, but there are {} process sets, counted from 0", PROCESS_SETS.len()))
        })?;
        if let Some(room) = usize::try_from(*pset_len).ok().filter(|&room| room > 0) {
            let text = pset_name.ok_or_else(|| fail(MPI_ERR_ARG, "pset_name is a null pointer"))?;
            text.store(set.name, room);
        }
        *pset_len = set.name.len() as c_int + 1;
        Ok(())
    }

    /// What is known of a process set: its size.
    safe fn MPI_Session_get_pset_info(session: MPI_Session, pset_name: Cow<'_, str>, info: Out<'_, MPI_Info>) on session {
        let mut process = enter();
        process.session(session)?;
        let group = members(&process, &pset_name)?;
        let mut facts = Info::default();
        facts.set("mpi_size", &group.size().to_string());
        info.set(process.new_info(facts)?);
        Ok(())
    }

    /// The group of a process set.
    safe fn MPI_Group_from_session_pset(session: MPI_Session, pset_name: Cow<'_, str>, newgroup: Out<'_, MPI_Group>) on session {
        let mut process = enter();
        process.session(session)?;
        // What is returned if there is no such set (section 11.3.2).
        newgroup.set(MPI_GROUP_NULL);
        let group = members(&process, &pset_name)?;
        let made = process.new_group(group)?;
        newgroup.set(made);
        process.objects.sessions.origins.insert(made.0, session);
        Ok(())
    }
}

fn start(info: MPI_Info, errhandler: MPI_Errhandler) -> Result<MPI_Session> {
    let mut process = enter();
    let memory_kinds = memory_kinds::requested(&process.hints(info)?);
    init::attach(&mut process)?;
    process.objects.errhandlers.use_for(MPI_SESSION_NULL.into(), errhandler)?;
    drop(process);
    // Each session may be used by a thread of its own, whatever MPI_Init_thread was told. From now on all come by the lock.
    allow(Threads::Several);
    let handle = enter().objects.sessions.table.insert(Session { errhandler, memory_kinds });
    handle.map(MPI_Session).ok_or_else(|| fail(MPI_ERR_NO_MEM, "2^18 sessions exist: finalize some"))
}

fn finish(session: MPI_Session) -> Result {
    if phase() == Phase::Forked {
        return Err(crate::core::process::outside());
    }
    enter().session(session)?;
    crate::p2p::buffered::release_all("MPI_Session_finalize", Some(session))?;
    if is_last_user(session) {
        init::send_what_is_left("MPI_Session_finalize");
        crate::spawn::leave_together("MPI_Session_finalize")?;
    }
    let mut process = enter();
    let Some(gone) = process.objects.sessions.table.remove(session.0) else {
        return Err(no_session(session));
    };
    process.objects.errhandlers.release(gone.errhandler);
    process.objects.sessions.origins.retain(|_, origin| *origin != session);
    if process.objects.sessions.is_empty() && phase() != Phase::Running {
        init::leave(&mut process);
    }
    drop(process);
    init::wait_for_acknowledgements("MPI_Session_finalize");
    Ok(())
}

/// Whether nothing but this session keeps MPI alive.
fn is_last_user(session: MPI_Session) -> bool {
    phase() != Phase::Running && enter().objects.sessions.table.iter().all(|(handle, _)| handle == session.0)
}
