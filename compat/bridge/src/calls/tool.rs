//! The tool interface (chapter 15).

/// Hands the list to the macro `$then`.
#[macro_export]
macro_rules! tool_calls {
    ($then:ident) => {
        $then! {
            fn MPI_T_category_changed(update_number: Pointer);
            fn MPI_T_category_get_categories(cat_index: Int, len: Int, indices: Pointer);
            fn MPI_T_category_get_cvars(cat_index: Int, len: Int, indices: Pointer);
            fn MPI_T_category_get_events(cat_index: Int, len: Int, indices: Pointer);
            fn MPI_T_category_get_index(name: Pointer, cat_index: Pointer);
            fn MPI_T_category_get_info(
                cat_index: Int, name: Pointer, name_len: Pointer, desc: Pointer, desc_len: Pointer,
                num_cvars: Pointer, num_pvars: Pointer, num_categories: Pointer
            );
            fn MPI_T_category_get_num(num_cat: Pointer);
            fn MPI_T_category_get_num_events(cat_index: Int, num_events: Pointer);
            fn MPI_T_category_get_pvars(cat_index: Int, len: Int, indices: Pointer);
            fn MPI_T_cvar_get_index(name: Pointer, cvar_index: Pointer);
            fn MPI_T_cvar_get_info(
                cvar_index: Int, name: Pointer, name_len: Pointer, verbosity: VerbosityOut,
                datatype: HandleOut<Datatype>, enumtype: Pointer, desc: Pointer, desc_len: Pointer, bind: BindOut,
                scope: ScopeOut
            );
            fn MPI_T_cvar_get_num(num_cvar: Pointer);
            fn MPI_T_cvar_handle_alloc(
                cvar_index: Int, obj_handle: Pointer, handle: Pointer, count: Pointer
            ) via cvar_handle_alloc;
            fn MPI_T_cvar_handle_free(handle: Pointer);
            fn MPI_T_cvar_read(handle: Pointer, buf: Place);
            fn MPI_T_cvar_write(handle: Pointer, buf: Place);
            fn MPI_T_enum_get_info(enumtype: Pointer, num: Pointer, name: Pointer, name_len: Pointer);
            fn MPI_T_enum_get_item(enumtype: Pointer, indx: Int, value: Pointer, name: Pointer, name_len: Pointer);
            fn MPI_T_event_callback_get_info(
                event_registration: Pointer, cb_safety: CallbackSafety, info_used: HandleOut<Info>
            );
            fn MPI_T_event_callback_set_info(
                event_registration: Pointer, cb_safety: CallbackSafety, info: In<Info>
            );
            fn MPI_T_event_copy(event_instance: Pointer, buffer: Pointer);
            fn MPI_T_event_get_index(name: Pointer, event_index: Pointer);
            fn MPI_T_event_get_info(
                event_index: Int, name: Pointer, name_len: Pointer, verbosity: VerbosityOut,
                array_of_datatypes: OutList<Datatype>[pointed(num_elements)],
                array_of_displacements: Pointer, num_elements: Pointer,
                enumtype: Pointer, info: HandleOut<Info>, desc: Pointer, desc_len: Pointer, bind: BindOut
            );
            fn MPI_T_event_get_num(num_events: Pointer);
            fn MPI_T_event_get_source(event_instance: Pointer, source_index: Pointer);
            fn MPI_T_event_get_timestamp(event_instance: Pointer, event_timestamp: Pointer);
            fn MPI_T_event_handle_alloc(
                event_index: Int, obj_handle: Pointer, info: In<Info>, event_registration: Pointer
            ) via event_handle_alloc;
            fn MPI_T_event_handle_free(event_registration: Pointer, user_data: Pointer, free_cb_function: Pointer);
            fn MPI_T_event_handle_get_info(event_registration: Pointer, info_used: HandleOut<Info>);
            fn MPI_T_event_handle_set_info(event_registration: Pointer, info: In<Info>);
            fn MPI_T_event_read(event_instance: Pointer, element_index: Int, buffer: Pointer);
            fn MPI_T_event_register_callback(
                event_registration: Pointer, cb_safety: CallbackSafety, info: In<Info>, user_data: Pointer,
                event_cb_function: Pointer
            );
            fn MPI_T_event_set_dropped_handler(event_registration: Pointer, dropped_cb_function: Pointer);
            fn MPI_T_finalize();
            fn MPI_T_init_thread(required: ThreadLevel, provided: ThreadLevelOut);
            fn MPI_T_pvar_get_index(name: Pointer, var_class: PvarClass, pvar_index: Pointer);
            fn MPI_T_pvar_get_info(
                pvar_index: Int, name: Pointer, name_len: Pointer, verbosity: VerbosityOut,
                var_class: PvarClassOut, datatype: HandleOut<Datatype>, enumtype: Pointer, desc: Pointer,
                desc_len: Pointer, bind: BindOut, readonly: Pointer, continuous: Pointer, atomic: Pointer
            );
            fn MPI_T_pvar_get_num(num_pvar: Pointer);
            fn MPI_T_pvar_handle_alloc(
                session: Pointer, pvar_index: Int, obj_handle: Pointer, handle: Pointer, count: Pointer
            ) via pvar_handle_alloc;
            fn MPI_T_pvar_handle_free(session: Pointer, handle: Pointer);
            fn MPI_T_pvar_read(session: Pointer, handle: Pvar, buf: Place);
            fn MPI_T_pvar_readreset(session: Pointer, handle: Pvar, buf: Place);
            fn MPI_T_pvar_reset(session: Pointer, handle: Pvar);
            fn MPI_T_pvar_session_create(session: Pointer);
            fn MPI_T_pvar_session_free(session: Pointer);
            fn MPI_T_pvar_start(session: Pointer, handle: Pvar);
            fn MPI_T_pvar_stop(session: Pointer, handle: Pvar);
            fn MPI_T_pvar_write(session: Pointer, handle: Pvar, buf: Place);
            fn MPI_T_source_get_info(
                source_index: Int, name: Pointer, name_len: Pointer, desc: Pointer, desc_len: Pointer,
                ordering: SourceOrderOut, ticks_per_second: Pointer, max_ticks: Pointer, info: HandleOut<Info>
            );
            fn MPI_T_source_get_num(num_sources: Pointer);
            fn MPI_T_source_get_timestamp(source_index: Int, timestamp: Pointer);
        }
    };
}
