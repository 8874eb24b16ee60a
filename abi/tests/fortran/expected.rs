//! What the tables ask of Fortran: chapter 19's rules, from the C types, kinds and directions.

use std::collections::BTreeMap;

use tern_abi::tables::{self, Constant, Function, FunctionParameter};

/// An interface as it must be.
pub(crate) struct Expected {
    pub parameters: Vec<Parameter>,
    pub has_large: bool,
}

pub(crate) struct Parameter {
    pub name: String,
    pub declaration: String,
}

impl Expected {
    pub(crate) fn has_buffers(&self) -> bool {
        self.parameters.iter().any(|parameter| parameter.declaration.starts_with("type(*)"))
    }
}

/// Functions that C has for itself, and those that return a value (their interfaces are in language.inc).
fn is_of_c_only(name: &str) -> bool {
    name.starts_with("MPI_T_")
        || name.ends_with("_toint")
        || name.ends_with("_fromint")
        || ELSEWHERE.contains(&name)
}

const ELSEWHERE: [&str; 5] = ["MPI_Pcontrol", "MPI_Wtime", "MPI_Wtick", "MPI_Aint_add", "MPI_Aint_diff"];

/// Every subroutine of Fortran by name.
pub(crate) fn all() -> BTreeMap<String, Expected> {
    let functions: BTreeMap<&str, Function> = tables::functions()
        .into_iter()
        .map(|function| (function.name, with_default_count(function)))
        .collect();
    let is_large = |name: &str| name.strip_suffix("_c").is_some_and(|name| functions.contains_key(name));
    functions
        .values()
        .filter(|function| !is_of_c_only(function.name) && !is_large(function.name))
        .map(|function| {
            let large = functions.get(format!("{}_c", function.name).as_str());
            (function.name.to_string(), expected(function, large))
        })
        .collect()
}

/// The count of partitioned calls is `MPI_Count` by the standard. Fortran has a form for default integers as well, as programs call it.
fn with_default_count(mut function: Function) -> Function {
    if ["MPI_Precv_init", "MPI_Psend_init"].contains(&function.name) {
        function
            .params
            .iter_mut()
            .filter(|param| param.name == "count")
            .for_each(|param| param.ctype = "int");
    }
    function
}

fn expected(function: &Function, large: Option<&Function>) -> Expected {
    let same_count = large.filter(|large| large.params.len() == function.params.len());
    let parameters =
        function.params.iter().enumerate().filter(|(_, param)| !param.kind.starts_with("ARGUMENT_")).map(
            |(at, param)| Parameter {
                name: name(function, param).into(),
                declaration: declaration(function, param, same_count.map(|large| &large.params[at])),
            },
        );
    Expected {
        parameters: parameters.collect(),
        has_large: large.is_some_and(|large| differs(function, large)),
    }
}

/// The standard's name in Fortran, where the table has that of C's header.
fn name(function: &Function, param: &FunctionParameter) -> &'static str {
    match (function.name, param.name) {
        (_, "indx") => "index",
        ("MPI_Status_get_error" | "MPI_Status_set_error", "error") => "err",
        ("MPI_Precv_init", "dest") => "source",
        (_, name) => name,
    }
}

/// Whether Fortran can tell the large form apart: kinds of integers that are the same number do not, nor do procedures.
fn differs(function: &Function, large: &Function) -> bool {
    if function.params.iter().any(|param| param.kind == "POLYFUNCTION") {
        return false;
    }
    function.params.len() != large.params.len()
        || function
            .params
            .iter()
            .zip(&large.params)
            .any(|(one, other)| base(one) == "int" && base(other) != "int")
}

fn base(param: &FunctionParameter) -> String {
    param.ctype.replace("const ", "").replace(['*', '[', ']', '3'], "").trim().to_string()
}

fn is_buffer(function: &Function, param: &FunctionParameter) -> bool {
    param.kind == "BUFFER"
        || param.kind.is_empty() && param.ctype == "void*" && param.name == "buffer"
        || function.name == "MPI_Free_mem"
}

/// `in`, `out` or `inout`; by the C type where the table has none.
fn direction<'a>(param: &FunctionParameter) -> &'a str {
    match param.direction {
        "in" => "in",
        "out" => "out",
        "inout" => "inout",
        _ if param.ctype.contains("const") || !param.ctype.contains(['*', '[']) => "in",
        _ => "out",
    }
}

fn declaration(function: &Function, param: &FunctionParameter, large: Option<&FunctionParameter>) -> String {
    let asynchronous = if keeps_buffers(function) { ", asynchronous" } else { "" };
    if is_buffer(function, param) {
        let read_only = param.ctype.starts_with("const") || function.name == "MPI_Free_mem";
        let intent = if read_only { ", intent(in)" } else { "" };
        // Not the standard's word, but without it gfortran takes a variable for out of use once the call returns.
        let target = if asynchronous.is_empty() { "" } else { ", target" };
        return format!("type(*), dimension(..){intent}{asynchronous}{target}");
    }
    let word = word(param, large);
    let shape = shape(param);
    // The header's pointers are not constant.
    let way = if function.name == "MPI_Abi_set_fortran_booleans" { "in" } else { direction(param) };
    match (word.as_str(), way) {
        (word, _) if word.starts_with("CALLBACK") => word.to_string(),
        // May be ignored by address, so they are not said to be written.
        ("STATUS", "out") if param.name == "array_of_statuses" => "STATUSES".into(),
        ("STATUS", "out") => "STATUS".into(),
        (word, "out") if matches!(param.kind, "WEIGHT" | "ERROR_CODE") && !shape.is_empty() => {
            format!("{word}{shape}")
        }
        (word, way) => {
            // Arrays are read, and a communicator is written, when the call has long returned.
            let is_used_later = match way {
                "in" => !shape.is_empty(),
                _ => param.ctype == "MPI_Comm*" && function.name.starts_with("MPI_Comm_idup"),
            };
            let kept = if is_used_later && is_started(function) { asynchronous } else { "" };
            format!("{word}, intent({way}){kept}{shape}")
        }
    }
}

/// Whether buffers are in use after the return (section 19.1.16).
fn keeps_buffers(function: &Function) -> bool {
    const KEEPING: [&str; 20] = [
        "MPI_Put",
        "MPI_Get",
        "MPI_Accumulate",
        "MPI_Get_accumulate",
        "MPI_Rput",
        "MPI_Rget",
        "MPI_Raccumulate",
        "MPI_Rget_accumulate",
        "MPI_Fetch_and_op",
        "MPI_Compare_and_swap",
        "MPI_Win_create",
        "MPI_Win_attach",
        "MPI_Win_detach",
        "MPI_Buffer_attach",
        "MPI_Comm_attach_buffer",
        "MPI_Session_attach_buffer",
        "MPI_Get_address",
        "MPI_Free_mem",
        "MPI_File_begin",
        "MPI_File_end",
    ];
    let split = function.name.starts_with("MPI_File_")
        && (function.name.ends_with("_begin") || function.name.ends_with("_end"));
    is_started(function) || split || KEEPING.contains(&function.name)
}

/// Whether the call starts something that a request, given back, completes.
fn is_started(function: &Function) -> bool {
    function.params.iter().any(|param| param.ctype == "MPI_Request*" && direction(param) == "out")
        && !function.name.starts_with("MPI_R")
        || function.name == "MPI_Recv_init"
        || function.name == "MPI_Rsend_init"
        || function.name.starts_with("MPI_Reduce") && function.name.ends_with("_init")
}

fn shape(param: &FunctionParameter) -> &'static str {
    match (param.kind, param.ctype) {
        ("STRING_2DARRAY", _) => "(count;*)",
        ("STRING", _) => "",
        (_, "int[][3]") => "(3;*)",
        (_, ctype) if ctype.contains("[]") => "(*)",
        _ => "",
    }
}

fn word(param: &FunctionParameter, large: Option<&FunctionParameter>) -> String {
    let ctype = base(param);
    let number = large.map_or(ctype.clone(), base);
    match param.kind {
        "STRING" | "STRING_ARRAY" | "STRING_2DARRAY" => "character(len=*)".into(),
        "FUNCTION" | "POLYFUNCTION" => format!("CALLBACK({ctype})"),
        "C_BUFFER" | "C_BUFFER2" => "POINTER".into(),
        "ATTRIBUTE_VAL" | "EXTRA_STATE" => "integer(MPI_ADDRESS_KIND)".into(),
        // Of MPI-1.
        "ATTRIBUTE_VAL_10" | "EXTRA_STATE2" => "integer".into(),
        "LOGICAL" => "logical".into(),
        "" if matches!(param.name, "flag" | "is_set" | "logical_true" | "logical_false") => "logical".into(),
        "" if param.name == "buffer_addr" => "POINTER".into(),
        _ => match ctype.strip_prefix("MPI_") {
            Some("Aint" | "Count" | "Offset") | None => integer(&ctype, &number),
            Some(handle) => handle.to_uppercase(),
        },
    }
}

/// An integer of C, by its types with and without large counts.
fn integer(ctype: &str, large: &str) -> String {
    match (ctype, large) {
        ("int", "MPI_Count") => "COUNT",
        ("int", "MPI_Aint") => "DISPLACEMENT",
        ("MPI_Aint", "MPI_Count") => "EXTENT",
        ("MPI_Offset", "MPI_Count") => "OFFSET",
        ("MPI_Aint", _) => "integer(MPI_ADDRESS_KIND)",
        ("MPI_Count", _) => "integer(MPI_COUNT_KIND)",
        ("MPI_Offset", _) => "integer(MPI_OFFSET_KIND)",
        _ => "integer",
    }
    .into()
}

/// The words of the glue that fit a declaration.
pub(crate) fn glue_words(declaration: &str) -> &'static [&'static str] {
    let reads = declaration.contains("intent(in)");
    let word = declaration.split([',', '(']).next().unwrap_or_default();
    let kind = declaration.split(", ").next().unwrap_or_default().split("(*)").next().unwrap_or_default();
    match (word, reads) {
        ("type", _) => &["Choice"],
        ("character", true) => &["TextIn", "ChoiceText"],
        ("character", false) => &["TextOut"],
        ("CALLBACK", _) => &[
            "Function *",
            "Extent *",
            "OldCopier *",
            "OldDeleter *",
            "MPI_User_function *",
            "MPI_Comm_errhandler_function *",
            "MPI_File_errhandler_function *",
            "MPI_Session_errhandler_function *",
            "MPI_Win_errhandler_function *",
        ],
        ("POINTER", _) => &["void **"],
        ("STATUS" | "STATUSES", true) => &["StatusIn"],
        ("STATUS" | "STATUSES", false) => &["StatusOut"],
        ("COUNT", true) => &["CountIn"],
        ("COUNT", false) => &["CountOut"],
        ("DISPLACEMENT", true) => &["DisplIn", "In"],
        ("DISPLACEMENT", false) => &["DisplOut", "Out"],
        ("EXTENT", true) => &["ExtentIn", "AintIn"],
        ("EXTENT", false) => &["ExtentOut", "AintOut"],
        ("OFFSET", true) => &["OffsetIn"],
        ("OFFSET", false) => &["OffsetOut"],
        ("integer", true) if kind.contains("ADDRESS") => &["AintIn", "In"],
        ("integer", false) if kind.contains("ADDRESS") => &["AintOut"],
        ("integer", true) if kind.contains("COUNT") => &["LongIn"],
        ("integer", false) if kind.contains("COUNT") => &["LongOut"],
        ("integer", true) if kind.contains("OFFSET") => &["OffsetIn"],
        ("integer", false) if kind.contains("OFFSET") => &["OffsetOut"],
        // Default integers, logicals and handles.
        (_, true) => &["In"],
        (_, false) => &["Out"],
    }
}

/// The value that a constant has in Fortran, if Fortran has it as a number.
pub(crate) fn value(constant: &Constant) -> Option<i64> {
    let of_c_only = ["MPI_T_", "MPI_F_", "MPIX_"].iter().any(|prefix| constant.name.starts_with(prefix));
    let is_number =
        constant.ctype == "int" || tables::handle_types().iter().any(|handle| handle.name == constant.ctype);
    if of_c_only || !is_number {
        return None;
    }
    // Lengths of strings do not count C's final null (section 19.3.9).
    let shorter = i64::from(constant.name.starts_with("MPI_MAX_"));
    constant.value().map(|value| value - shorter)
}
