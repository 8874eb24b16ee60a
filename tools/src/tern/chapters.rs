//! Which function belongs to which chapter of MPI 5.0.

/// The title of a function's chapter, or of the part of it that is built at a time of its own.
pub(crate) fn chapter_of(function: &str) -> &'static str {
    let name = function.strip_prefix("MPI_").unwrap_or(function);
    let name = name.strip_suffix("_c").unwrap_or(name);
    let fitting = CHAPTERS.iter().find(|(_, forms)| forms.iter().any(|form| fits(form, name)));
    fitting.map_or(OTHERS, |(title, _)| title)
}

/// All titles, in the standard's order.
pub(crate) fn titles() -> Vec<&'static str> {
    let number = |title: &str| title.split(' ').next().and_then(|word| word.parse::<u32>().ok());
    let mut titles: Vec<&str> = CHAPTERS.iter().map(|(title, _)| *title).collect();
    titles.sort_by_key(|title| (number(title), *title));
    titles.dedup();
    titles
}

/// A form is a name in which one star, or one at either end, stands for anything.
fn fits(form: &str, name: &str) -> bool {
    if let Some(middle) = form.strip_prefix('*').and_then(|rest| rest.strip_suffix('*')) {
        return name.contains(middle);
    }
    match form.split_once('*') {
        Some((start, end)) => {
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
        None => name == form,
    }
}

/// The chapter with the most names that have nothing in common.
const OTHERS: &str = "3 Point-to-point communication";

/// Names without `MPI_` and `_c`. The more special forms come first.
const CHAPTERS: &[(&str, &[&str])] = &[
    ("20 Application binary interface", &["Abi_*", "*_toint", "*_fromint"]),
    (
        "19 Language bindings",
        &[
            "*_c2f",
            "*_f2c",
            "*_f2f08",
            "*_f082f",
            "*_c2f08",
            "*_f082c",
            "Type_create_f90*",
            "Type_match_size",
        ],
    ),
    ("15 Tool support", &["T_*", "Pcontrol"]),
    ("16 Deprecated interfaces", &["Attr_*", "Keyval_*"]),
    (
        "9 Environment and error handling",
        &[
            "*errhandler*",
            "Errhandler_*",
            "Error_*",
            "Add_error_*",
            "Remove_error_*",
            "Get_version",
            "Get_library_version",
            "Get_processor_name",
            "Get_hw_resource_info",
            "Alloc_mem",
            "Free_mem",
            "Wtime",
            "Wtick",
        ],
    ),
    ("7 Groups, communicators, caching", &["*_attr", "*_keyval", "*_get_name", "*_set_name"]),
    ("14 Files", &["File_*", "Register_datarep"]),
    (
        "12 One-sided communication",
        &[
            "Win_*",
            "Put",
            "Get",
            "Rput",
            "Rget",
            "Accumulate",
            "Raccumulate",
            "Get_accumulate",
            "Rget_accumulate",
            "Fetch_and_op",
            "Compare_and_swap",
        ],
    ),
    ("4 Partitioned communication", &["Psend_init", "Precv_init", "Pready*", "Parrived"]),
    ("13 Generalized requests, statuses", &["Grequest_*", "Status_set_*"]),
    (
        "11 Sessions model",
        &[
            "Session_init",
            "Session_finalize",
            "Session_get_*",
            "Group_from_session_pset",
            "*_from_group",
            "*_from_groups",
        ],
    ),
    (
        "11 Spawning and connecting",
        &[
            "Comm_spawn*",
            "Comm_accept",
            "Comm_connect",
            "Comm_join",
            "Comm_get_parent",
            "Open_port",
            "Close_port",
            "Publish_name",
            "Unpublish_name",
            "Lookup_name",
        ],
    ),
    (
        "11 Start and end",
        &[
            "Init",
            "Init_thread",
            "Initialized",
            "Finalize",
            "Finalized",
            "Abort",
            "Query_thread",
            "Is_thread_main",
            "Comm_disconnect",
        ],
    ),
    ("10 Info", &["Info_*"]),
    (
        "8 Topologies, neighborhood collectives",
        &["Cart*", "Graph*", "Dist_graph_*", "Dims_create", "Topo_test", "*eighbor_*"],
    ),
    (OTHERS, &["*_buffer"]),
    ("7 Groups, communicators, caching", &["Comm_*", "Group_*", "Intercomm_*"]),
    ("5 Datatypes", &["Type_*", "Pack*", "Unpack*", "Get_address", "Get_elements*", "Aint_*"]),
    ("6 Operations", &["Op_*", "Reduce_local"]),
    (
        "6 Collectives, persistent",
        &[
            "All*_init",
            "Barrier_init",
            "Bcast_init",
            "Exscan_init",
            "Gather*_init",
            "Reduce*_init",
            "Scan_init",
            "Scatter*_init",
        ],
    ),
    (
        "6 Collectives, blocking",
        &["All*", "Barrier", "Bcast", "Exscan", "Gather*", "Reduce*", "Scan", "Scatter*"],
    ),
    (
        "6 Collectives, non-blocking",
        &["Iall*", "Ibarrier", "Ibcast", "Iexscan", "Igather*", "Ireduce*", "Iscan", "Iscatter*"],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use tern_abi::tables::functions;

    #[test]
    fn special_names_are_not_taken_by_general_forms() {
        let chapter = |name| chapter_of(name).split(' ').next().unwrap();
        assert_eq!(chapter("MPI_Send_c"), "3");
        assert_eq!(chapter("MPI_Comm_attach_buffer"), "3");
        assert_eq!(chapter("MPI_Get_count"), "3");
        assert_eq!(chapter("MPI_Get"), "12");
        assert_eq!(chapter("MPI_Type_get_attr"), "7");
        assert_eq!(chapter("MPI_Type_get_extent_c"), "5");
        assert_eq!(chapter("MPI_File_call_errhandler"), "9");
        assert_eq!(chapter("MPI_Comm_toint"), "20");
        assert_eq!(chapter_of("MPI_Allreduce_init_c"), "6 Collectives, persistent");
        assert_eq!(chapter_of("MPI_Allreduce_c"), "6 Collectives, blocking");
        assert_eq!(chapter_of("MPI_Ireduce_scatter"), "6 Collectives, non-blocking");
        assert_eq!(chapter_of("MPI_Ineighbor_alltoallw"), chapter_of("MPI_Dims_create"));
    }

    #[test]
    fn all_chapters_have_functions_and_those_without_a_form_are_of_point_to_point() {
        let functions = functions();
        for title in titles() {
            assert!(functions.iter().any(|function| chapter_of(function.name) == title), "{title}");
        }
        let general = functions.iter().filter(|function| chapter_of(function.name) == OTHERS);
        let words = [
            "end",
            "ecv",
            "robe",
            "Wait",
            "Test",
            "Request",
            "Status",
            "Start",
            "uffer",
            "Cancel",
            "Get_count",
        ];
        for function in general {
            assert!(words.iter().any(|word| function.name.contains(word)), "{}", function.name);
        }
    }
}
