//! Sessions (MPI 5.0 section 11.3): MPI without `MPI_COMM_WORLD`, from process sets to groups to communicators
//! (`comm_from_group.rs`).

use crate::core::arguments::{out, store_string, string};
use crate::core::entry::entry;
use crate::core::error::{Error, Result, fail};
use crate::core::handle::Kind;
use crate::core::process::{Phase, Process, enter, phase, set_threaded};
use crate::core::table::Table;
use crate::env::info::Info;
use crate::env::init;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int};
use tern_abi::*;
use tern_engine::Group;

/// A session.
#[derive(Clone, Copy, Debug)]
pub struct Session {
    /// Its error handler.
    pub errhandler: MPI_Errhandler,
}

/// All sessions.
pub struct Sessions {
    table: Table<Session>,
    /// The groups and communicators that come from sessions, by handle.
    origins: BTreeMap<usize, MPI_Session>,
}

impl Sessions {
    /// None.
    pub const fn new() -> Self {
        Sessions { table: Table::new(Kind::Session), origins: BTreeMap::new() }
    }

    /// The error handler of a session.
    pub fn errhandler(&self, session: MPI_Session) -> Option<MPI_Errhandler> {
        self.table.get(session.0).map(|session| session.errhandler)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.table.iter().next().is_none()
    }

    /// The session that a group or communicator comes from; none if it comes from the world.
    pub fn origin(&self, handle: usize) -> Option<MPI_Session> {
        self.origins.get(&handle).copied()
    }

    /// A group or communicator `child` was made from `parent`. The empty group is everybody's.
    pub fn inherit(&mut self, parent: usize, child: usize) {
        if child != MPI_GROUP_EMPTY.0
            && let Some(session) = self.origin(parent)
        {
            self.origins.insert(child, session);
        }
    }

    /// A group or communicator is gone.
    pub fn forget(&mut self, handle: usize) {
        self.origins.remove(&handle);
    }
}

impl Process {
    /// The session of a handle.
    pub fn session(&self, session: MPI_Session) -> Result<&Session> {
        self.sessions.table.get(session.0).ok_or_else(|| no_session(session))
    }

    /// The session of a handle, to change it.
    pub fn session_mut(&mut self, session: MPI_Session) -> Result<&mut Session> {
        self.sessions.table.get_mut(session.0).ok_or_else(|| no_session(session))
    }
}

#[cold]
fn no_session(session: MPI_Session) -> Box<Error> {
    if session == MPI_SESSION_NULL {
        return fail(MPI_ERR_SESSION, "the session is MPI_SESSION_NULL");
    }
    fail(MPI_ERR_SESSION, format!("{:#x} is no session: it was finalized or never was one", session.0))
}

entry! {
    /// Starts a session, before, beside or without `MPI_Init`.
    fn MPI_Session_init(info: MPI_Info, errhandler: MPI_Errhandler, session: *mut MPI_Session) {
        let made = || {
            let session = out("session", session)?;
            *session = start(info, errhandler)?;
            Ok(())
        };
        made().map_err(|error: Box<Error>| error.at(errhandler))
    }

    /// Ends a session; with the last, and without `MPI_COMM_WORLD`, MPI.
    fn MPI_Session_finalize(session: *mut MPI_Session) {
        let session = out("session", session)?;
        finish(*session)?;
        *session = MPI_SESSION_NULL;
        Ok(())
    }

    /// What is in use of the hints given at the start.
    fn MPI_Session_get_info(session: MPI_Session, info_used: *mut MPI_Info) on session {
        let info_used = out("info_used", info_used)?;
        let mut process = enter();
        process.session(session)?;
        let mut used = Info::default();
        used.set("thread_level", "MPI_THREAD_MULTIPLE");
        used.set("mpi_memory_alloc_kinds", "mpi,system");
        *info_used = process.new_info(used)?;
        Ok(())
    }

    /// How many process sets there are.
    fn MPI_Session_get_num_psets(session: MPI_Session, _info: MPI_Info, npset_names: *mut c_int) on session {
        let npset_names = out("npset_names", npset_names)?;
        enter().session(session)?;
        *npset_names = PROCESS_SETS.len() as c_int;
        Ok(())
    }

    /// The name of a process set, and how many bytes it takes with its zero; a buffer of no bytes is not touched.
    fn MPI_Session_get_nth_pset(session: MPI_Session, _info: MPI_Info, n: c_int, pset_len: *mut c_int, pset_name: *mut c_char) on session {
        let pset_len = out("pset_len", pset_len)?;
        enter().session(session)?;
        let set = usize::try_from(n).ok().and_then(|n| PROCESS_SETS.get(n)).ok_or_else(|| {
            fail(MPI_ERR_ARG, format!("n is {n}, but there are {} process sets, counted from 0", PROCESS_SETS.len()))
        })?;
        if let Some(room) = usize::try_from(*pset_len).ok().filter(|&room| room > 0) {
            store_string(out("pset_name", pset_name)?, set.name, room);
        }
        *pset_len = set.name.len() as c_int + 1;
        Ok(())
    }

    /// What is known of a process set: its size.
    fn MPI_Session_get_pset_info(session: MPI_Session, pset_name: *const c_char, info: *mut MPI_Info) on session {
        let (name, info) = (string("pset_name", pset_name)?, out("info", info)?);
        let mut process = enter();
        process.session(session)?;
        let group = members(&process, &name)?;
        let mut facts = Info::default();
        facts.set("mpi_size", &group.size().to_string());
        *info = process.new_info(facts)?;
        Ok(())
    }

    /// The processes of a set.
    fn MPI_Group_from_session_pset(session: MPI_Session, pset_name: *const c_char, newgroup: *mut MPI_Group) on session {
        let (name, newgroup) = (string("pset_name", pset_name)?, out("newgroup", newgroup)?);
        let mut process = enter();
        process.session(session)?;
        // What is returned if there is no such set (section 11.3.2).
        *newgroup = MPI_GROUP_NULL;
        let group = members(&process, &name)?;
        *newgroup = process.new_group(group)?;
        process.sessions.origins.insert((*newgroup).0, session);
        Ok(())
    }
}

/// A process set that every session has (section 11.3.2).
struct ProcessSet {
    name: &'static str,
    /// From this process's rank and the number of processes.
    members: fn(u32, u32) -> Group,
}

const PROCESS_SETS: [ProcessSet; 2] = [
    ProcessSet { name: "mpi://WORLD", members: |_, size| Group::range(0, size) },
    ProcessSet { name: "mpi://SELF", members: |rank, _| Group::range(rank, 1) },
];

fn members(process: &Process, name: &str) -> Result<Group> {
    let job = process.job.as_ref().ok_or_else(crate::core::process::outside)?;
    match PROCESS_SETS.iter().find(|set| set.name.eq_ignore_ascii_case(name)) {
        Some(set) => Ok((set.members)(job.rank, job.size)),
        None => Err(fail(MPI_ERR_ARG, format!("there is no process set '{name}'"))),
    }
}

fn start(info: MPI_Info, errhandler: MPI_Errhandler) -> Result<MPI_Session> {
    let mut process = enter();
    process.hints(info)?;
    init::attach(&mut process)?;
    process.errhandlers.use_for(MPI_SESSION_NULL.into(), errhandler)?;
    // Each session may be used by a thread of its own, whatever MPI_Init_thread was told.
    set_threaded(true);
    let handle = process.sessions.table.insert(Session { errhandler });
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
    }
    let mut process = enter();
    let Some(gone) = process.sessions.table.remove(session.0) else { return Err(no_session(session)) };
    process.errhandlers.release(gone.errhandler);
    process.sessions.origins.retain(|_, origin| *origin != session);
    if process.sessions.is_empty() && phase() != Phase::Running {
        init::leave(&mut process);
    }
    Ok(())
}

/// Whether nothing but this session keeps MPI alive.
fn is_last_user(session: MPI_Session) -> bool {
    phase() != Phase::Running && enter().sessions.table.iter().all(|(handle, _)| handle == session.0)
}
