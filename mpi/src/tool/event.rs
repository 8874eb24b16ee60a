//! Events and their source (section 15.3.8): entry points and registrations.

use std::ffi::{CStr, c_int, c_void};

use tern_abi::*;

use super::happening::{EVENT_TYPES, Happening, collect, forget, now, set_heard};
use super::state::{EventRegistration, LEVELS, ToolCallback, ToolsGuard};
use super::text::{name_of, put_text};
use super::{ToolResult, enter, give, index, put, stay, tool_entry};
use crate::core::boundary::{ChoiceBufMut, InOut, Out, OutArray, OutText};
use crate::core::process::{Process, enter_anyway};
use crate::env::hints::Info;

/// Lets the library note what happens while somebody listens. Who comes after the last one has gone hears of nothing earlier.
pub(super) fn listen(process: &mut Process, tools: ToolsGuard) {
    let heard = !tools.registrations.is_empty();
    drop(tools);
    set_heard(heard);
    let Some(engine) = process.engine_mut() else { return };
    engine.listen_for_tool(heard);
    if !heard {
        collect(engine);
        forget();
    }
}

fn level(cb_safety: MPI_T_cb_safety) -> ToolResult<usize> {
    LEVELS.iter().position(|level| *level == cb_safety).ok_or(MPI_T_ERR_INVALID)
}

/// Does something with a registration.
fn with<T>(
    registration: MPI_T_event_registration,
    work: impl FnOnce(&mut EventRegistration) -> ToolResult<T>,
) -> ToolResult<T> {
    work(enter()?.registrations.get_mut(&registration.0).ok_or(MPI_T_ERR_INVALID_HANDLE)?)
}

/// Tells the tool that nothing more comes for a registration.
fn call_freed(
    function: MPI_T_event_free_cb_function,
    registration: MPI_T_event_registration,
    user_data: *mut c_void,
) {
    // SAFETY: the tool gave the function and its data to be called like this; no lock is held.
    unsafe { function(registration, MPI_T_CB_REQUIRE_NONE, user_data) }
}

/// The event that a callback is being told of.
fn happening(instance: MPI_T_event_instance) -> ToolResult<Happening> {
    enter()?.instances.get(&instance.0).copied().ok_or(MPI_T_ERR_INVALID_HANDLE)
}

fn source(at: c_int) -> ToolResult {
    index(at, 1).map(|_| ())
}

/// No hints are known: an empty object.
fn give_hints(info_used: Option<Out<'_, MPI_Info>>) -> ToolResult {
    let made = enter_anyway().new_info(Info::default()).map_err(|_| MPI_T_ERR_MEMORY)?;
    give(info_used, made)
}

/// Bytes of an element in a caller's buffer, and where it begins in the whole.
fn place(event: usize, element: usize) -> (usize, usize) {
    let size = |datatype| if datatype == MPI_INT { size_of::<c_int>() } else { size_of::<u64>() };
    let elements = EVENT_TYPES[event].elements;
    let before = elements[..element].iter().map(|(_, datatype)| size(*datatype)).sum();
    (size(elements[element].1), before)
}

/// Writes an element, so many bytes into a buffer that has room for it.
fn store(happening: &Happening, element: usize, buffer: ChoiceBufMut, at: usize) {
    // Little-endian: the low half of a number is its first bytes.
    let bytes = happening.elements[element].to_le_bytes();
    let bytes = bytes.into_iter().take(place(happening.kind, element).0);
    bytes.enumerate().for_each(|(index, byte)| buffer.store(at + index, byte));
}

/// Fills an array, if the caller wants it.
fn give_all<T: Copy>(array: Option<OutArray<'_, T>>, values: impl Iterator<Item = T>) -> ToolResult {
    array.map_or(Ok(()), |array| array.store(values)).map_err(|_| MPI_T_ERR_INVALID)
}

tool_entry! {
    /// Number of event sources: the library is one.
    fn MPI_T_source_get_num(num_sources: Option<Out<'_, c_int>>) {
        let _tools = enter()?;
        give(num_sources, 1)
    }

    /// What a source is.
    fn MPI_T_source_get_info(
        source_index: c_int, name: Option<OutText<'_>>, name_len: Option<InOut<'_, c_int>>, desc: Option<OutText<'_>>, desc_len: Option<InOut<'_, c_int>>,
        ordering: Option<Out<'_, MPI_T_source_order>>, ticks_per_second: Option<Out<'_, MPI_Count>>, max_ticks: Option<Out<'_, MPI_Count>>,
        info: Option<Out<'_, MPI_Info>>,
    ) {
        drop(enter()?);
        source(source_index)?;
        put_text(name, name_len, "tern");
        put_text(desc, desc_len, "What happens in this process's part of the library.");
        put(ordering, MPI_T_SOURCE_ORDERED);
        put(ticks_per_second, 1_000_000_000);
        put(max_ticks, MPI_Count::MAX);
        if info.is_some() {
            give_hints(info)?;
        }
        Ok(())
    }

    /// The time of a source.
    fn MPI_T_source_get_timestamp(source_index: c_int, timestamp: Option<Out<'_, MPI_Count>>) {
        let _tools = enter()?;
        source(source_index)?;
        give(timestamp, now() as MPI_Count)
    }

    /// Number of event types.
    fn MPI_T_event_get_num(num_events: Option<Out<'_, c_int>>) {
        let _tools = enter()?;
        give(num_events, EVENT_TYPES.len() as c_int)
    }

    /// What an event type is.
    fn MPI_T_event_get_info(
        event_index: c_int, name: Option<OutText<'_>>, name_len: Option<InOut<'_, c_int>>, verbosity: Option<Out<'_, c_int>>,
        array_of_datatypes: Option<OutArray<'_, MPI_Datatype>>, array_of_displacements: Option<OutArray<'_, MPI_Aint>>, num_elements: Option<InOut<'_, c_int>>,
        enumtype: Option<Out<'_, MPI_T_enum>>, info: Option<Out<'_, MPI_Info>>, desc: Option<OutText<'_>>, desc_len: Option<InOut<'_, c_int>>, bind: Option<Out<'_, c_int>>,
    ) {
        drop(enter()?);
        let at = index(event_index, EVENT_TYPES.len())?;
        let event = &EVENT_TYPES[at];
        put_text(name, name_len, event.name);
        put_text(desc, desc_len, event.meaning);
        put(verbosity, MPI_T_VERBOSITY_USER_BASIC);
        if let Some(num_elements) = num_elements {
            let elements = event.elements.len().min(usize::try_from(num_elements.get()).unwrap_or(0));
            let datatypes = event.elements.iter().map(|(_, datatype)| *datatype);
            let displacements = (0..elements).map(|element| place(at, element).1 as MPI_Aint);
            give_all(array_of_datatypes, datatypes.take(elements))?;
            give_all(array_of_displacements, displacements)?;
            num_elements.set(event.elements.len() as c_int);
        }
        put(enumtype, MPI_T_ENUM_NULL);
        if info.is_some() {
            give_hints(info)?;
        }
        put(bind, MPI_T_BIND_NO_OBJECT);
        Ok(())
    }

    /// Index of the event type of a name.
    fn MPI_T_event_get_index(name: Option<&CStr>, event_index: Option<Out<'_, c_int>>) {
        let _tools = enter()?;
        let name = name_of(name)?;
        let at = EVENT_TYPES.iter().position(|event| event.name == name).ok_or(MPI_T_ERR_INVALID_NAME)?;
        give(event_index, at as c_int)
    }

    /// Registers for an event type; none belongs to an object.
    fn MPI_T_event_handle_alloc(
        event_index: c_int, obj_handle: *mut c_void, info: MPI_Info,
        event_registration: Option<Out<'_, MPI_T_event_registration>>,
    ) {
        let _ = (obj_handle, info);
        let mut process = stay();
        let mut tools = enter()?;
        let event = index(event_index, EVENT_TYPES.len())?;
        let value = tools.fresh_handle();
        give(event_registration, MPI_T_event_registration(value))?;
        tools.registrations.insert(value, EventRegistration { event, callbacks: [None; 4], dropped: None });
        listen(&mut process, tools);
        Ok(())
    }

    /// Ends a registration; its function hears that nothing more comes.
    fn MPI_T_event_handle_free(
        event_registration: MPI_T_event_registration, user_data: *mut c_void,
        free_cb_function: Option<MPI_T_event_free_cb_function>,
    ) {
        let mut process = stay();
        let mut tools = enter()?;
        tools.registrations.remove(&event_registration.0).ok_or(MPI_T_ERR_INVALID_HANDLE)?;
        listen(&mut process, tools);
        drop(process);
        if let Some(function) = free_cb_function {
            call_freed(function, event_registration, user_data);
        }
        Ok(())
    }

    /// Hints of a registration: none are known.
    fn MPI_T_event_handle_get_info(event_registration: MPI_T_event_registration, info_used: Option<Out<'_, MPI_Info>>) {
        with(event_registration, |_| Ok(()))?;
        give_hints(info_used)
    }

    /// Sets hints of a registration: none are known, so they change nothing.
    fn MPI_T_event_handle_set_info(event_registration: MPI_T_event_registration, info: MPI_Info) {
        let _ = info;
        with(event_registration, |_| Ok(()))
    }

    /// Hints of a callback: none are known.
    fn MPI_T_event_callback_get_info(
        event_registration: MPI_T_event_registration, cb_safety: MPI_T_cb_safety, info_used: Option<Out<'_, MPI_Info>>,
    ) {
        let level = level(cb_safety)?;
        with(event_registration, |known| known.callbacks[level].map(|_| ()).ok_or(MPI_T_ERR_INVALID_HANDLE))?;
        give_hints(info_used)
    }

    /// Sets hints of a callback: none are known, so they change nothing.
    fn MPI_T_event_callback_set_info(
        event_registration: MPI_T_event_registration, cb_safety: MPI_T_cb_safety, info: MPI_Info,
    ) {
        let _ = info;
        let level = level(cb_safety)?;
        with(event_registration, |known| known.callbacks[level].map(|_| ()).ok_or(MPI_T_ERR_INVALID_HANDLE))
    }

    /// Registers a callback for a level of safety, or takes it away.
    fn MPI_T_event_register_callback(
        event_registration: MPI_T_event_registration, cb_safety: MPI_T_cb_safety, info: MPI_Info,
        user_data: *mut c_void, event_cb_function: Option<MPI_T_event_cb_function>,
    ) {
        let _ = info;
        let level = level(cb_safety)?;
        with(event_registration, |known| {
            known.callbacks[level] = event_cb_function.map(|function| ToolCallback { function, data: user_data });
            Ok(())
        })
    }

    /// Registers who hears of dropped events.
    fn MPI_T_event_set_dropped_handler(
        event_registration: MPI_T_event_registration, dropped_cb_function: Option<MPI_T_event_dropped_cb_function>,
    ) {
        with(event_registration, |known| {
            known.dropped = dropped_cb_function;
            Ok(())
        })
    }

    /// One element of an event.
    fn MPI_T_event_read(event_instance: MPI_T_event_instance, element_index: c_int, buffer: ChoiceBufMut) {
        let happening = happening(event_instance)?;
        let element = index(element_index, EVENT_TYPES[happening.kind].elements.len())?;
        if buffer.is_null() {
            return Err(MPI_T_ERR_INVALID);
        }
        store(&happening, element, buffer, 0);
        Ok(())
    }

    /// All elements of an event, each at its displacement.
    fn MPI_T_event_copy(event_instance: MPI_T_event_instance, buffer: ChoiceBufMut) {
        let happening = happening(event_instance)?;
        if buffer.is_null() {
            return Err(MPI_T_ERR_INVALID);
        }
        for element in 0..EVENT_TYPES[happening.kind].elements.len() {
            store(&happening, element, buffer, place(happening.kind, element).1);
        }
        Ok(())
    }

    /// When an event happened.
    fn MPI_T_event_get_timestamp(event_instance: MPI_T_event_instance, event_timestamp: Option<Out<'_, MPI_Count>>) {
        give(event_timestamp, happening(event_instance)?.at as MPI_Count)
    }

    /// Where an event came from.
    fn MPI_T_event_get_source(event_instance: MPI_T_event_instance, source_index: Option<Out<'_, c_int>>) {
        happening(event_instance)?;
        give(source_index, 0)
    }
}
