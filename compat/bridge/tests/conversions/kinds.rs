//! How the test looks at a parameter: from the Forum's kind and the C type in the standard's table, not from the library's
//! own lists.

use tern_abi::tables::{Function, FunctionParameter};

/// Types of handles.
pub(super) const HANDLES: [&str; 11] = [
    "MPI_Comm",
    "MPI_Group",
    "MPI_Datatype",
    "MPI_Op",
    "MPI_Info",
    "MPI_Errhandler",
    "MPI_Request",
    "MPI_Message",
    "MPI_Session",
    "MPI_Win",
    "MPI_File",
];

/// Which way a value goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    In,
    Out,
    InOut,
}

/// What is tested of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Arrives as it was passed: numbers and addresses.
    Same,
    /// A handle of a type.
    Handle(Way, &'static str),
    /// An array of them.
    Handles(Way, &'static str),
    /// A number of a family of constants.
    Number(Way, &'static str),
    /// An array of them.
    Numbers(Way, &'static str),
    Status(Way),
    Statuses,
    /// A text with a most length.
    Text(&'static str),
    /// The length of the text before it.
    TextLength,
    /// The place of a number of processes or dimensions, which the library may ask for itself.
    Small,
    /// The place of a handle to which a variable or event is bound.
    Bound,
    /// A function or its state, in whose place another arrives.
    Replaced,
}

/// Texts that the call writes without being told a length.
const TEXTS: [(&str, &str); 9] = [
    ("MPI_Get_processor_name", "MPI_MAX_PROCESSOR_NAME"),
    ("MPI_Error_string", "MPI_MAX_ERROR_STRING"),
    ("MPI_Comm_get_name", "MPI_MAX_OBJECT_NAME"),
    ("MPI_Type_get_name", "MPI_MAX_OBJECT_NAME"),
    ("MPI_Win_get_name", "MPI_MAX_OBJECT_NAME"),
    ("MPI_Open_port", "MPI_MAX_PORT_NAME"),
    ("MPI_Lookup_name", "MPI_MAX_PORT_NAME"),
    ("MPI_Info_get_nthkey", "MPI_MAX_INFO_KEY"),
    ("MPI_File_get_view", "MPI_MAX_DATAREP_STRING"),
];

/// What the Forum's table does not say, or what has no constants there.
const EXCEPTIONS: [(&str, &str, Kind); 26] = [
    ("MPI_Status_get_source", "source", Kind::Number(Way::Out, "RANK")),
    ("MPI_Status_set_source", "source", Kind::Number(Way::In, "RANK")),
    ("MPI_Status_get_tag", "tag", Kind::Number(Way::Out, "TAG")),
    ("MPI_Status_set_tag", "tag", Kind::Number(Way::In, "TAG")),
    ("MPI_Precv_init", "dest", Kind::Number(Way::In, "RANK")),
    ("MPI_Precv_init_c", "dest", Kind::Number(Way::In, "RANK")),
    ("MPI_Remove_error_class", "errorclass", Kind::Number(Way::In, "ERROR_CODE")),
    ("MPI_Remove_error_code", "errorcode", Kind::Number(Way::In, "ERROR_CODE")),
    ("MPI_Remove_error_string", "errorcode", Kind::Number(Way::In, "ERROR_CODE")),
    ("MPI_Comm_attach_buffer", "buffer", Kind::Number(Way::In, "BUFFER")),
    ("MPI_Comm_attach_buffer_c", "buffer", Kind::Number(Way::In, "BUFFER")),
    ("MPI_Session_attach_buffer", "buffer", Kind::Number(Way::In, "BUFFER")),
    ("MPI_Session_attach_buffer_c", "buffer", Kind::Number(Way::In, "BUFFER")),
    ("MPI_Group_translate_ranks", "ranks1", Kind::Numbers(Way::In, "RANK")),
    ("MPI_Group_translate_ranks", "ranks2", Kind::Numbers(Way::Out, "RANK")),
    // A code for the environment, which is the program's.
    ("MPI_Abort", "errorcode", Kind::Same),
    ("MPI_File_set_view", "disp", Kind::Number(Way::In, "DISPLACEMENT")),
    // Addresses of memory, never of a message.
    ("MPI_Get_address", "location", Kind::Same),
    ("MPI_Free_mem", "base", Kind::Same),
    ("MPI_Win_create", "base", Kind::Same),
    ("MPI_Win_attach", "base", Kind::Same),
    ("MPI_Win_detach", "base", Kind::Same),
    ("MPI_Win_create_c", "base", Kind::Same),
    ("MPI_T_event_handle_free", "user_data", Kind::Same),
    ("MPI_T_event_register_callback", "user_data", Kind::Same),
    // Of the codes of new processes there are as many as the call makes.
    ("MPI_Comm_spawn", "array_of_errcodes", Kind::Same),
];

/// Kinds of the Forum's that have constants.
const FAMILIES: [&str; 23] = [
    "RANK",
    "TAG",
    "ACCESS_MODE",
    "ASSERT",
    "KEYVAL",
    "ERROR_CODE",
    "THREAD_LEVEL",
    "COMM_COMPARISON",
    "TOPOLOGY_TYPE",
    "SPLIT_TYPE",
    "LOCK_TYPE",
    "ORDER",
    "DISTRIB_ENUM",
    "DTYPE_DISTRIBUTION",
    "COMBINER",
    "TYPECLASS",
    "TOOL_VAR_VERBOSITY",
    "BIND_TYPE",
    "VARIABLE_SCOPE",
    "PVAR_CLASS",
    "CALLBACK_SAFETY",
    "SOURCE_ORDERING",
    "UPDATE_MODE",
];

/// The family of a kind of the Forum's.
fn family(kind: &str) -> Option<&'static str> {
    let name = match kind {
        "RANK_NNI" => "RANK",
        "ERROR_CLASS" => "ERROR_CODE",
        "GROUP_COMPARISON" => "COMM_COMPARISON",
        other => other,
    };
    FAMILIES.into_iter().find(|family| *family == name)
}

/// What is tested of a parameter of a function.
pub(super) fn kind(function: &Function, param: &FunctionParameter) -> Kind {
    if let Some(found) = EXCEPTIONS.iter().find(|(name, of, _)| *name == function.name && *of == param.name) {
        return found.2;
    }
    let bare = param.ctype.trim_start_matches("const ");
    let (base, is_array) = match bare.strip_suffix("[]") {
        Some(base) => (base, true),
        None => (bare.trim_end_matches('*'), false),
    };
    let way = if param.ctype.starts_with("const ") || base == bare {
        Way::In
    } else if param.direction == "inout" || (param.direction == "in" && !is_array) {
        Way::InOut
    } else {
        Way::Out
    };
    if let Some(handle) = HANDLES.into_iter().find(|handle| *handle == base) {
        return if is_array { Kind::Handles(way, handle) } else { Kind::Handle(way, handle) };
    }
    of_value(function, param, base, is_array, way)
}

fn of_value(function: &Function, param: &FunctionParameter, base: &str, is_array: bool, way: Way) -> Kind {
    let text = TEXTS.iter().find(|text| text.0 == function.name);
    match (param.kind, base) {
        (_, "MPI_Status") if param.name.starts_with("array") => Kind::Statuses,
        (_, "MPI_Status") => Kind::Status(way),
        ("STRING", "char") if way == Way::Out => text.map_or(Kind::Same, |text| Kind::Text(text.1)),
        ("STRING_LENGTH", _) if text.is_some() => Kind::TextLength,
        ("TOOL_MPI_OBJ", _) => Kind::Bound,
        ("BUFFER", "void") => Kind::Number(Way::In, "BUFFER"),
        ("WEIGHT", _) if way == Way::In => Kind::Number(Way::In, "WEIGHT"),
        ("PVAR", "MPI_T_pvar_handle") if way == Way::In && !is_made(function) => {
            Kind::Number(Way::In, "PVAR")
        }
        ("EXTRA_STATE" | "EXTRA_STATE2" | "FUNCTION" | "POLYFUNCTION", _) => Kind::Replaced,
        // A new key is the program's.
        ("KEYVAL", _) if way == Way::Out => Kind::Same,
        ("COMM_SIZE" | "NUM_DIMS" | "DEGREE", _) if way == Way::Out => Kind::Small,
        ("DISTRIB_ENUM", _) => Kind::Numbers(Way::In, "DISTRIB_ENUM"),
        ("DTYPE_DISTRIBUTION", _) => Kind::Numbers(Way::In, "DTYPE_DISTRIBUTION"),
        ("RANK" | "RANK_NNI" | "ERROR_CODE", _) if is_array || param.ctype.contains('[') => Kind::Same,
        (kind, _) => family(kind).map_or(Kind::Same, |family| Kind::Number(way, family)),
    }
}

/// Whether a call takes the handle of one variable only.
fn is_made(function: &Function) -> bool {
    function.name.ends_with("_free") || function.name.ends_with("_alloc")
}

/// Functions that do not call Tern's of their name, or have results of another kind.
pub(super) fn is_generic(function: &Function) -> bool {
    const LOCAL: [&str; 4] =
        ["MPI_Abi_get_version", "MPI_Get_library_version", "MPI_Status_get_error", "MPI_Status_set_error"];
    function.result == "int" && !function.name.ends_with("_toint") && !LOCAL.contains(&function.name)
}

/// The parameter that says how long the arrays are.
pub(super) fn length_of(function: &Function) -> Option<usize> {
    let names = ["count", "incount", "n", "ndims", "max_datatypes", "num_elements"];
    function
        .params
        .iter()
        .position(|param| names.contains(&param.name) && ["int", "int*", "MPI_Count"].contains(&param.ctype))
}

/// The function of Tern's that is called: what is deprecated may come by its heir.
pub(super) fn callee(function: &Function) -> &'static str {
    if function.name == "MPI_Attr_get" { "MPI_Comm_get_attr" } else { function.name }
}
