//! Events and their sources (section 15.3.8): there are none yet, so no index and no handle is valid.

use std::ffi::{c_char, c_int, c_void};

use tern_abi::*;

use super::text::name_of;
use super::{Outcome, enter, give, tool_entry};

fn no_index() -> Outcome {
    enter().and(Err(MPI_T_ERR_INVALID_INDEX))
}

fn no_handle() -> Outcome {
    enter().and(Err(MPI_T_ERR_INVALID_HANDLE))
}

tool_entry! {
    /// Number of event sources.
    fn MPI_T_source_get_num(num_sources: *mut c_int) {
        let _tools = enter()?;
        give(num_sources, 0)
    }

    /// What a source is.
    fn MPI_T_source_get_info(
        source_index: c_int, name: *mut c_char, name_len: *mut c_int, desc: *mut c_char, desc_len: *mut c_int,
        ordering: *mut MPI_T_source_order, ticks_per_second: *mut MPI_Count, max_ticks: *mut MPI_Count,
        info: *mut MPI_Info,
    ) {
        let _ = (source_index, name, name_len, desc, desc_len, ordering, ticks_per_second, max_ticks, info);
        no_index()
    }

    /// The time of a source.
    fn MPI_T_source_get_timestamp(source_index: c_int, timestamp: *mut MPI_Count) {
        let _ = (source_index, timestamp);
        no_index()
    }

    /// Number of event types.
    fn MPI_T_event_get_num(num_events: *mut c_int) {
        let _tools = enter()?;
        give(num_events, 0)
    }

    /// What an event type is.
    fn MPI_T_event_get_info(
        event_index: c_int, name: *mut c_char, name_len: *mut c_int, verbosity: *mut c_int,
        array_of_datatypes: *mut MPI_Datatype, array_of_displacements: *mut MPI_Aint, num_elements: *mut c_int,
        enumtype: *mut MPI_T_enum, info: *mut MPI_Info, desc: *mut c_char, desc_len: *mut c_int, bind: *mut c_int,
    ) {
        let _ = (event_index, name, name_len, verbosity, array_of_datatypes, array_of_displacements);
        let _ = (num_elements, enumtype, info, desc, desc_len, bind);
        no_index()
    }

    /// Index of the event type of a name.
    fn MPI_T_event_get_index(name: *const c_char, event_index: *mut c_int) {
        let _ = event_index;
        let _tools = enter()?;
        name_of(name).and(Err(MPI_T_ERR_INVALID_NAME))
    }

    /// Registers for an event type.
    fn MPI_T_event_handle_alloc(
        event_index: c_int, obj_handle: *mut c_void, info: MPI_Info,
        event_registration: *mut MPI_T_event_registration,
    ) {
        let _ = (event_index, obj_handle, info, event_registration);
        no_index()
    }

    /// Ends a registration.
    fn MPI_T_event_handle_free(
        event_registration: MPI_T_event_registration, user_data: *mut c_void,
        free_cb_function: Option<MPI_T_event_free_cb_function>,
    ) {
        let _ = (event_registration, user_data, free_cb_function);
        no_handle()
    }

    /// Hints of a registration.
    fn MPI_T_event_handle_get_info(event_registration: MPI_T_event_registration, info_used: *mut MPI_Info) {
        let _ = (event_registration, info_used);
        no_handle()
    }

    /// Sets hints of a registration.
    fn MPI_T_event_handle_set_info(event_registration: MPI_T_event_registration, info: MPI_Info) {
        let _ = (event_registration, info);
        no_handle()
    }

    /// Hints of a callback.
    fn MPI_T_event_callback_get_info(
        event_registration: MPI_T_event_registration, cb_safety: MPI_T_cb_safety, info_used: *mut MPI_Info,
    ) {
        let _ = (event_registration, cb_safety, info_used);
        no_handle()
    }

    /// Sets hints of a callback.
    fn MPI_T_event_callback_set_info(
        event_registration: MPI_T_event_registration, cb_safety: MPI_T_cb_safety, info: MPI_Info,
    ) {
        let _ = (event_registration, cb_safety, info);
        no_handle()
    }

    /// Registers a callback.
    fn MPI_T_event_register_callback(
        event_registration: MPI_T_event_registration, cb_safety: MPI_T_cb_safety, info: MPI_Info,
        user_data: *mut c_void, event_cb_function: Option<MPI_T_event_cb_function>,
    ) {
        let _ = (event_registration, cb_safety, info, user_data, event_cb_function);
        no_handle()
    }

    /// Registers who hears of dropped events.
    fn MPI_T_event_set_dropped_handler(
        event_registration: MPI_T_event_registration, dropped_cb_function: Option<MPI_T_event_dropped_cb_function>,
    ) {
        let _ = (event_registration, dropped_cb_function);
        no_handle()
    }

    /// One element of an event.
    fn MPI_T_event_read(event_instance: MPI_T_event_instance, element_index: c_int, buffer: *mut c_void) {
        let _ = (event_instance, element_index, buffer);
        no_handle()
    }

    /// All elements of an event.
    fn MPI_T_event_copy(event_instance: MPI_T_event_instance, buffer: *mut c_void) {
        let _ = (event_instance, buffer);
        no_handle()
    }

    /// When an event happened.
    fn MPI_T_event_get_timestamp(event_instance: MPI_T_event_instance, event_timestamp: *mut MPI_Count) {
        let _ = (event_instance, event_timestamp);
        no_handle()
    }

    /// Where an event came from.
    fn MPI_T_event_get_source(event_instance: MPI_T_event_instance, source_index: *mut c_int) {
        let _ = (event_instance, source_index);
        no_handle()
    }
}
