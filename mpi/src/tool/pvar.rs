//! Performance variables (section 15.3.7): what this rank has done and holds, see [`super::numbers`].
//!
//! Levels and peaks are continuous. A counter or timer belongs to its handle: it stands at zero until it is started, and each
//! session has its own. A read from a signal handler, or while another thread is in MPI for long, gives the value of the last
//! read: it does not wait for the state of MPI. What binds a variable or says from when on it counts does.

use std::collections::btree_map::Entry;
use std::ffi::{CStr, c_int};

use tern_abi::*;

use super::deliver::looking;
use super::numbers::{NUMBERS, Number, NumberKind};
use super::state::BoundPvar;
use super::text::{name_of, put_text};
use super::{ToolResult, Tools, enter, give, index, look, put, stay, tool_entry};
use crate::core::boundary::{ChoiceBuf, ChoiceBufMut, InOut, Out, OutText};
use crate::core::process::Process;

impl BoundPvar {
    fn number(&self) -> &'static Number {
        &NUMBERS[self.number]
    }

    /// Sees what there is now.
    fn refresh(&mut self, process: &Process) {
        self.number().read(process, self.comm, &mut self.seen);
    }

    /// The same, if MPI lets it.
    fn glance(&mut self) {
        looking(|| look().iter().for_each(|process| self.refresh(process)));
    }

    /// A value for the tool, as it was seen last.
    fn value(&self, at: usize) -> u64 {
        match &self.since {
            _ if self.number().kind.is_continuous() => self.seen[at],
            Some(since) => self.seen[at].wrapping_sub(since[at]).wrapping_add(self.before[at]),
            None => self.before[at],
        }
    }

    fn start(&mut self, process: &Process) {
        if self.since.is_none() {
            self.refresh(process);
            self.since = Some(self.seen.clone());
        }
    }

    fn stop(&mut self, process: &Process) {
        self.refresh(process);
        self.before = (0..self.seen.len()).map(|at| self.value(at)).collect();
        self.since = None;
    }

    fn reset(&mut self) {
        self.set(vec![0; self.seen.len()]);
    }

    /// It goes on from these values, from what was seen last.
    fn set(&mut self, values: Vec<u64>) {
        self.before = values;
        self.since = self.since.take().map(|_| self.seen.clone());
    }

    /// Writes the values that were seen last, for which there is room.
    fn store(&self, buf: ChoiceBufMut) {
        for at in 0..self.seen.len() {
            let value = self.value(at);
            match self.number().kind {
                NumberKind::Time => buf.store(at, value as f64 / 1e9),
                _ => buf.store(at, value),
            }
        }
    }

    /// Reads as many values.
    fn load(&mut self, process: &Process, buf: ChoiceBuf) {
        let kind = self.number().kind;
        let value = |at| match kind {
            NumberKind::Time => (buf.load::<f64>(at) * 1e9) as u64,
            _ => buf.load::<u64>(at),
        };
        let values = (0..self.seen.len()).map(value).collect();
        self.refresh(process);
        self.set(values);
    }
}

fn check(tools: &Tools, session: MPI_T_pvar_session) -> ToolResult {
    if tools.pvar_sessions.contains_key(&session.0) { Ok(()) } else { Err(MPI_T_ERR_INVALID_SESSION) }
}

/// Does something with one handle of a session.
fn with<T>(
    session: MPI_T_pvar_session,
    handle: MPI_T_pvar_handle,
    work: impl FnOnce(&mut BoundPvar) -> ToolResult<T>,
) -> ToolResult<T> {
    let mut tools = enter()?;
    check(&tools, session)?;
    let bound = tools.pvar_handles.get_mut(&handle.0).filter(|bound| bound.session == session.0);
    work(bound.ok_or(MPI_T_ERR_INVALID_HANDLE)?)
}

/// Does something with one handle, or with all of a session that allow it, by what MPI says now.
fn with_all(
    session: MPI_T_pvar_session,
    handle: MPI_T_pvar_handle,
    refusal: c_int,
    work: impl Fn(&mut BoundPvar, &Process),
) -> ToolResult {
    let process = stay();
    if handle != MPI_T_PVAR_ALL_HANDLES {
        return with(session, handle, |bound| {
            if bound.number().kind.is_continuous() {
                return Err(refusal);
            }
            work(bound, &process);
            Ok(())
        });
    }
    let mut tools = enter()?;
    check(&tools, session)?;
    let own = tools.pvar_handles.values_mut().filter(|bound| bound.session == session.0);
    own.filter(|bound| !bound.number().kind.is_continuous()).for_each(|bound| work(bound, &process));
    Ok(())
}

/// A buffer of the caller's.
fn present(buf: ChoiceBuf) -> ToolResult {
    if buf.is_null() { Err(MPI_T_ERR_INVALID) } else { Ok(()) }
}

tool_entry! {
    /// Number of performance variables.
    fn MPI_T_pvar_get_num(num_pvar: Option<Out<'_, c_int>>) {
        let _tools = enter()?;
        give(num_pvar, NUMBERS.len() as c_int)
    }

    /// What a performance variable is.
    fn MPI_T_pvar_get_info(
        pvar_index: c_int, name: Option<OutText<'_>>, name_len: Option<InOut<'_, c_int>>, verbosity: Option<Out<'_, c_int>>, var_class: Option<Out<'_, c_int>>,
        datatype: Option<Out<'_, MPI_Datatype>>, enumtype: Option<Out<'_, MPI_T_enum>>, desc: Option<OutText<'_>>, desc_len: Option<InOut<'_, c_int>>,
        bind: Option<Out<'_, c_int>>, readonly: Option<Out<'_, c_int>>, continuous: Option<Out<'_, c_int>>, atomic: Option<Out<'_, c_int>>,
    ) {
        let _tools = enter()?;
        let number = &NUMBERS[index(pvar_index, NUMBERS.len())?];
        put_text(name, name_len, number.name);
        put_text(desc, desc_len, number.meaning);
        put(verbosity, MPI_T_VERBOSITY_USER_BASIC);
        put(var_class, number.kind.class());
        put(datatype, number.kind.datatype());
        put(enumtype, MPI_T_ENUM_NULL);
        put(bind, if number.is_of_comm() { MPI_T_BIND_MPI_COMM } else { MPI_T_BIND_NO_OBJECT });
        put(readonly, number.kind.is_continuous().into());
        put(continuous, number.kind.is_continuous().into());
        put(atomic, (!number.kind.is_continuous()).into());
        Ok(())
    }

    /// Index of the performance variable of a name and class.
    fn MPI_T_pvar_get_index(name: Option<&CStr>, var_class: c_int, pvar_index: Option<Out<'_, c_int>>) {
        let _tools = enter()?;
        let name = name_of(name)?;
        let is = |number: &Number| number.name == name && number.kind.class() == var_class;
        give(pvar_index, NUMBERS.iter().position(is).ok_or(MPI_T_ERR_INVALID_NAME)? as c_int)
    }

    /// Starts a session of performance variables.
    fn MPI_T_pvar_session_create(session: Option<Out<'_, MPI_T_pvar_session>>) {
        let mut tools = enter()?;
        let value = tools.fresh_handle();
        give(session, MPI_T_pvar_session(value))?;
        tools.pvar_sessions.insert(value, ());
        Ok(())
    }

    /// Ends a session, and its handles.
    fn MPI_T_pvar_session_free(session: Option<&mut MPI_T_pvar_session>) {
        let mut tools = enter()?;
        let open = session.ok_or(MPI_T_ERR_INVALID_SESSION)?;
        tools.pvar_sessions.remove(&open.0).ok_or(MPI_T_ERR_INVALID_SESSION)?;
        tools.pvar_handles.retain(|_, bound| bound.session != open.0);
        *open = MPI_T_PVAR_SESSION_NULL;
        Ok(())
    }

    /// Binds a performance variable, to a communicator if it is one of those.
    fn MPI_T_pvar_handle_alloc(
        session: MPI_T_pvar_session, pvar_index: c_int, obj_handle: ChoiceBufMut, handle: Option<Out<'_, MPI_T_pvar_handle>>,
        count: Option<Out<'_, c_int>>,
    ) {
        let process = stay();
        let mut tools = enter()?;
        check(&tools, session)?;
        let at = index(pvar_index, NUMBERS.len())?;
        let number = &NUMBERS[at];
        let mut comm = MPI_COMM_NULL;
        if number.is_of_comm() {
            if obj_handle.is_null() {
                return Err(MPI_T_ERR_INVALID_HANDLE);
            }
            comm = ChoiceBuf::from(obj_handle).load(0);
        }
        if number.is_of_comm() && process.objects.comms.get(comm).is_none() {
            return Err(MPI_T_ERR_INVALID_HANDLE);
        }
        let values = number.count(&process, comm);
        let value = tools.fresh_handle();
        give(handle, MPI_T_pvar_handle(value))?;
        let zeros = vec![0; values];
        let (before, seen) = (zeros.clone(), zeros);
        tools.pvar_handles.insert(value, BoundPvar { session: session.0, number: at, comm, since: None, before, seen });
        put(count, values as c_int);
        Ok(())
    }

    /// Frees a handle of a performance variable.
    fn MPI_T_pvar_handle_free(session: MPI_T_pvar_session, handle: Option<&mut MPI_T_pvar_handle>) {
        let mut tools = enter()?;
        check(&tools, session)?;
        let bound = handle.ok_or(MPI_T_ERR_INVALID_HANDLE)?;
        match tools.pvar_handles.entry(bound.0) {
            Entry::Occupied(found) if found.get().session == session.0 => found.remove(),
            _ => return Err(MPI_T_ERR_INVALID_HANDLE),
        };
        *bound = MPI_T_PVAR_HANDLE_NULL;
        Ok(())
    }

    /// Starts a variable, or all of a session.
    fn MPI_T_pvar_start(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) {
        with_all(session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP, BoundPvar::start)
    }

    /// Stops a variable, or all of a session.
    fn MPI_T_pvar_stop(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) {
        with_all(session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP, BoundPvar::stop)
    }

    /// Reads the value of a performance variable.
    fn MPI_T_pvar_read(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle, buf: ChoiceBufMut) {
        with(session, handle, |bound| {
            present(buf.into())?;
            bound.glance();
            bound.store(buf);
            Ok(())
        })
    }

    /// Sets a performance variable.
    fn MPI_T_pvar_write(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle, buf: ChoiceBuf) {
        let process = stay();
        with(session, handle, |bound| {
            if bound.number().kind.is_continuous() {
                return Err(MPI_T_ERR_PVAR_NO_WRITE);
            }
            present(buf)?;
            bound.load(&process, buf);
            Ok(())
        })
    }

    /// Sets a variable, or all of a session, to the initial value.
    fn MPI_T_pvar_reset(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) {
        with_all(session, handle, MPI_T_ERR_PVAR_NO_WRITE, |bound, process| {
            bound.refresh(process);
            bound.reset();
        })
    }

    /// Reads and resets a variable at once.
    fn MPI_T_pvar_readreset(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle, buf: ChoiceBufMut) {
        with(session, handle, |bound| {
            if bound.number().kind.is_continuous() {
                return Err(MPI_T_ERR_PVAR_NO_WRITE);
            }
            present(buf.into())?;
            bound.glance();
            bound.store(buf);
            bound.reset();
            Ok(())
        })
    }
}
