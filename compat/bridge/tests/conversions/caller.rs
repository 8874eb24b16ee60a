//! A program with the other ABI that calls every function, and compares what arrived and what came back.

use std::fmt::Write;

use tern_abi::tables::{self, Function, FunctionParameter};

use super::Abi;
use super::kinds::{HANDLES, Kind, Way, callee, is_generic, kind, length_of};

/// Rounds in which each function is called, each with other values.
const ROUNDS: usize = 90;

/// Families that are not handles: constants, and expressions that are the same in both ABIs.
const FAMILIES: &[(&str, &[&str])] = &[
    ("RANK", &["=5", "=0", "MPI_PROC_NULL", "MPI_ANY_SOURCE", "MPI_ROOT"]),
    ("TAG", &["=7", "=0", "MPI_ANY_TAG"]),
    (
        "ACCESS_MODE",
        &[
            "MPI_MODE_CREATE",
            "MPI_MODE_RDONLY",
            "MPI_MODE_WRONLY",
            "MPI_MODE_RDWR",
            "MPI_MODE_DELETE_ON_CLOSE",
            "MPI_MODE_UNIQUE_OPEN",
            "MPI_MODE_EXCL",
            "MPI_MODE_APPEND",
            "MPI_MODE_SEQUENTIAL",
            "MPI_MODE_CREATE|MPI_MODE_RDWR",
            "=0",
        ],
    ),
    (
        "ASSERT",
        &[
            "MPI_MODE_NOCHECK",
            "MPI_MODE_NOSTORE",
            "MPI_MODE_NOPUT",
            "MPI_MODE_NOPRECEDE",
            "MPI_MODE_NOSUCCEED",
            "MPI_MODE_NOSTORE|MPI_MODE_NOPUT",
            "=0",
        ],
    ),
    (
        "KEYVAL",
        &[
            "MPI_KEYVAL_INVALID",
            "MPI_TAG_UB",
            "MPI_WTIME_IS_GLOBAL",
            "MPI_APPNUM",
            "MPI_UNIVERSE_SIZE",
            "MPI_WIN_BASE",
            "MPI_WIN_SIZE",
            "MPI_WIN_DISP_UNIT",
            "=5000",
        ],
    ),
    (
        "THREAD_LEVEL",
        &["MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"],
    ),
    ("COMM_COMPARISON", &["MPI_IDENT", "MPI_CONGRUENT", "MPI_SIMILAR", "MPI_UNEQUAL"]),
    ("TOPOLOGY_TYPE", &["MPI_CART", "MPI_GRAPH", "MPI_DIST_GRAPH", "MPI_UNDEFINED"]),
    (
        "SPLIT_TYPE",
        &["MPI_COMM_TYPE_SHARED", "MPI_COMM_TYPE_HW_UNGUIDED", "MPI_COMM_TYPE_HW_GUIDED", "MPI_UNDEFINED"],
    ),
    ("LOCK_TYPE", &["MPI_LOCK_EXCLUSIVE", "MPI_LOCK_SHARED"]),
    ("ORDER", &["MPI_ORDER_C", "MPI_ORDER_FORTRAN"]),
    ("DISTRIB_ENUM", &["MPI_DISTRIBUTE_NONE", "MPI_DISTRIBUTE_BLOCK", "MPI_DISTRIBUTE_CYCLIC"]),
    ("DTYPE_DISTRIBUTION", &["MPI_DISTRIBUTE_DFLT_DARG", "=4"]),
    (
        "COMBINER",
        &[
            "MPI_COMBINER_NAMED",
            "MPI_COMBINER_DUP",
            "MPI_COMBINER_CONTIGUOUS",
            "MPI_COMBINER_VECTOR",
            "MPI_COMBINER_HVECTOR",
            "MPI_COMBINER_INDEXED",
            "MPI_COMBINER_HINDEXED",
            "MPI_COMBINER_INDEXED_BLOCK",
            "MPI_COMBINER_HINDEXED_BLOCK",
            "MPI_COMBINER_STRUCT",
            "MPI_COMBINER_SUBARRAY",
            "MPI_COMBINER_DARRAY",
            "MPI_COMBINER_F90_REAL",
            "MPI_COMBINER_F90_COMPLEX",
            "MPI_COMBINER_F90_INTEGER",
            "MPI_COMBINER_RESIZED",
        ],
    ),
    ("TYPECLASS", &["MPI_TYPECLASS_REAL", "MPI_TYPECLASS_INTEGER", "MPI_TYPECLASS_COMPLEX"]),
    (
        "TOOL_VAR_VERBOSITY",
        &[
            "MPI_T_VERBOSITY_USER_BASIC",
            "MPI_T_VERBOSITY_USER_ALL",
            "MPI_T_VERBOSITY_TUNER_DETAIL",
            "MPI_T_VERBOSITY_MPIDEV_ALL",
        ],
    ),
    (
        "BIND_TYPE",
        &[
            "MPI_T_BIND_NO_OBJECT",
            "MPI_T_BIND_MPI_COMM",
            "MPI_T_BIND_MPI_DATATYPE",
            "MPI_T_BIND_MPI_FILE",
            "MPI_T_BIND_MPI_WIN",
            "MPI_T_BIND_MPI_INFO",
        ],
    ),
    (
        "VARIABLE_SCOPE",
        &["MPI_T_SCOPE_CONSTANT", "MPI_T_SCOPE_READONLY", "MPI_T_SCOPE_LOCAL", "MPI_T_SCOPE_ALL_EQ"],
    ),
    (
        "PVAR_CLASS",
        &[
            "MPI_T_PVAR_CLASS_STATE",
            "MPI_T_PVAR_CLASS_LEVEL",
            "MPI_T_PVAR_CLASS_COUNTER",
            "MPI_T_PVAR_CLASS_TIMER",
            "MPI_T_PVAR_CLASS_GENERIC",
        ],
    ),
    // Open MPI has neither these constants nor others in their place.
    (
        "CALLBACK_SAFETY",
        &[
            "=77",
            "MPI_T_CB_REQUIRE_NONE",
            "MPI_T_CB_REQUIRE_THREAD_SAFE",
            "MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE",
        ],
    ),
    ("SOURCE_ORDERING", &["=77", "MPI_T_SOURCE_ORDERED", "MPI_T_SOURCE_UNORDERED"]),
    ("UPDATE_MODE", &["MPI_SEEK_SET", "MPI_SEEK_CUR", "MPI_SEEK_END"]),
    ("BUFFER", &["&", "MPI_IN_PLACE", "MPI_BOTTOM", "MPI_BUFFER_AUTOMATIC"]),
    ("WEIGHT", &["&", "MPI_UNWEIGHTED", "MPI_WEIGHTS_EMPTY"]),
    ("PVAR", &["MPI_T_PVAR_ALL_HANDLES", "=4242"]),
    ("DISPLACEMENT", &["MPI_DISPLACEMENT_CURRENT", "=8"]),
];

/// What gives a handle of each kind that is not predefined: a function, its arguments with `p` for the handle's place.
const MAKERS: [(&str, &str, &str); 11] = [
    ("MPI_Comm", "MPI_Comm_dup", "MPI_COMM_WORLD, p"),
    ("MPI_Group", "MPI_Comm_group", "MPI_COMM_WORLD, p"),
    ("MPI_Datatype", "MPI_Type_dup", "MPI_INT, p"),
    ("MPI_Op", "MPI_Op_create", "(MPI_User_function *)places, 1, p"),
    ("MPI_Info", "MPI_Info_create", "p"),
    ("MPI_Errhandler", "MPI_Comm_get_errhandler", "MPI_COMM_WORLD, p"),
    ("MPI_Request", "MPI_Ibarrier", "MPI_COMM_WORLD, p"),
    ("MPI_Message", "MPI_Mprobe", "0, 0, MPI_COMM_WORLD, p, MPI_STATUS_IGNORE"),
    ("MPI_Session", "MPI_Session_init", "MPI_INFO_NULL, MPI_ERRORS_RETURN, p"),
    ("MPI_Win", "MPI_Win_create_dynamic", "MPI_INFO_NULL, MPI_COMM_WORLD, p"),
    ("MPI_File", "MPI_File_open", "MPI_COMM_WORLD, \"f\", 0, MPI_INFO_NULL, p"),
];

/// Handles of objects, as Tern numbers them.
const MADE: [u32; 3] = [4096, 0x0c00_0405, (1 << 30) - 1];

/// What the library asks for itself: a function, the parameter through which it answers, and the answer.
const ASKED: [(&str, usize, &str); 8] = [
    ("MPI_Comm_rank", 1, "0"),
    ("MPI_Comm_test_inter", 1, "0"),
    ("MPI_Comm_size", 1, "3"),
    ("MPI_Comm_remote_size", 1, "3"),
    ("MPI_Cartdim_get", 1, "1"),
    ("MPI_Topo_test", 1, "MPI_CART"),
    ("MPI_Type_get_envelope", 4, "MPI_COMBINER_NAMED"),
    ("MPI_Type_get_envelope_c", 5, "MPI_COMBINER_NAMED"),
];

/// The table of values: the cell of an ABI for a constant, if it has one.
fn has(abi: &Abi, constant: &str) -> bool {
    let table = include_str!("../../../tables/constants.tsv");
    let row = table.lines().find(|line| line.split('\t').next() == Some(constant));
    row.is_some_and(|row| row.split('\t').nth(abi.column) != Some("-"))
}

fn value(constant: &str) -> i64 {
    let all = tables::constants();
    let found = all.iter().find(|found| found.name == constant);
    found.and_then(tables::Constant::value).unwrap_or_else(|| panic!("{constant} has a value"))
}

/// The number of a function in the records.
fn number(name: &str) -> usize {
    tables::functions()
        .iter()
        .position(|function| function.name == name)
        .expect("the function is in the table")
}

/// The source of the program.
pub(super) fn source(abi: &Abi) -> String {
    let mut text = String::from("#include \"caller.h\"\n\n");
    for name in HANDLES.into_iter().chain(FAMILIES.iter().map(|family| family.0)).chain(["ERROR_CODE"]) {
        writeln!(text, "static struct family of_{name};").unwrap();
    }
    families(&mut text, abi);
    let functions = tables::functions();
    for function in functions.iter().filter(|function| is_generic(function)) {
        call(&mut text, number(callee(function)), function);
    }
    integers(&mut text);
    rest(&mut text, abi);
    main(&mut text, &functions);
    text
}

fn families(text: &mut String, abi: &Abi) {
    text.push_str("\nstatic void make_families(void)\n{\n");
    let mut add = |family: &str, outer: &str, inner: i64| {
        writeln!(text, "    add(&of_{family}, (long)({outer}), {inner}L);").unwrap();
    };
    for (family, constants) in FAMILIES {
        for constant in *constants {
            if let Some(same) = constant.strip_prefix('=') {
                add(family, same, same.parse().unwrap());
            } else if constant.contains('|') {
                add(family, constant, constant.split('|').map(value).sum());
            } else if *constant != "&" && has(abi, constant) {
                add(family, constant, value(constant));
            }
        }
    }
    let last = value("MPI_ERR_LASTCODE");
    add("ERROR_CODE", "MPI_ERR_LASTCODE + 3", last + 3);
    for constant in tables::constants() {
        let Some(value) = constant.value().filter(|_| has(abi, constant.name)) else { continue };
        if HANDLES.contains(&constant.ctype) {
            add(constant.ctype, constant.name, value);
        }
        if is_error(constant.name) {
            add("ERROR_CODE", constant.name, value);
        }
    }
    for (family, member) in [("BUFFER", 0), ("WEIGHT", 0)] {
        writeln!(text, "    add(&of_{family}, (long)places[{member}], (long)places[{member}]);").unwrap();
    }
    made(text);
    text.push_str("}\n\n");
}

fn is_error(name: &str) -> bool {
    (name.starts_with("MPI_ERR_") || name.starts_with("MPI_T_ERR_")) && name != "MPI_ERR_LASTCODE"
}

/// Handles that are not predefined: the library gives them out first, and must know them later.
fn made(text: &mut String) {
    for (handle, function, arguments) in MAKERS {
        let at = tables::functions()[number(function)]
            .params
            .iter()
            .position(|param| param.ctype.strip_suffix('*') == Some(handle));
        let (number, at) = (number(function), at.expect("the function makes a handle"));
        for inner in MADE {
            writeln!(
                text,
                "    {{ {handle} made, *p = &made; records[{number}].give[{at}] = {inner}; {function}({arguments}); \
                 add(&of_{handle}, (long)made, {inner}); }}"
            )
            .unwrap();
        }
    }
}

/// A function that calls one function of MPI, or its twin.
fn call(text: &mut String, number: usize, function: &Function) {
    let length = length_of(function);
    let mut body = Body { before: String::new(), after: String::new(), arguments: Vec::new() };
    for (index, param) in function.params.iter().enumerate() {
        if length == Some(index) {
            body.length(index, param);
        } else {
            match kind(function, param) {
                Kind::Bound => body.bound(index, function),
                kind => body.parameter(index, param, kind),
            }
        }
    }
    let Body { before, after, arguments } = body;
    let (name, arguments) = (function.name, arguments.join(", "));
    let lengths = if length.is_some() { "(const int[]){3, 20, 1, 2}[round % 4]" } else { "2" };
    write!(
        text,
        "static void call_{name}(int round, int is_twin)\n{{\n    called = \"{name}\";\n    \
         struct record *r = &records[{number}];\n    memset(r, 0, sizeof *r);\n    int length = {lengths};\n    \
         struct pair code = {{0, 0}};\n    if (round % 4 == 3) code = pick(&of_ERROR_CODE, round);\n    \
         r->length = length;\n    r->answer = (int)code.inner;\n{before}    \
         int got = is_twin ? P{name}({arguments}) : {name}({arguments});\n    \
         EXPECT(\"calls\", r->calls, 1);\n    EXPECT(\"the code\", got, code.outer);\n    \
         int failed = code.inner != 0;\n    (void)failed;\n{after}}}\n\n"
    )
    .unwrap();
}

/// The parts of a call.
struct Body {
    before: String,
    after: String,
    arguments: Vec<String>,
}

/// Declarations for the parameter with an index: `$` stands for it.
fn with(index: usize, text: &str) -> String {
    text.replace('$', &index.to_string())
}

impl Body {
    fn add(&mut self, index: usize, before: &str, argument: &str, after: &str) {
        writeln!(self.before, "    {}", with(index, before)).unwrap();
        self.arguments.push(with(index, argument));
        writeln!(self.after, "    {}", with(index, after)).unwrap();
    }

    /// The length of the arrays: a number, or where it lies.
    fn length(&mut self, index: usize, param: &FunctionParameter) {
        let argument = if param.ctype == "int*" { "(void *)places[$]" } else { "length" };
        self.add(index, "memcpy(places[$], &length, sizeof length);", argument, "");
    }

    fn parameter(&mut self, index: usize, param: &FunctionParameter, kind: Kind) {
        let name = param.name;
        let is_address = param.ctype.contains(['*', '[']) || param.kind.ends_with("FUNCTION");
        let cast = if is_address { "void *".into() } else { param.ctype.replace("const ", "") };
        match kind {
            Kind::Same if is_address => self.add(
                index,
                "memset(places[$], 0, sizeof places[$]);",
                "(void *)places[$]",
                &format!("EXPECT(\"{name}\", r->seen[$], places[$]);"),
            ),
            Kind::Same => self.add(
                index,
                "long a$ = 2 + (round + $) % 5;",
                &format!("({cast})a$"),
                &format!("EXPECT(\"{name}\", r->seen[$], a$);"),
            ),
            Kind::Small => {
                self.add(index, "int a$ = 0;", "&a$", &format!("EXPECT(\"{name}\", r->seen[$] != 0, 1);"))
            }
            Kind::Replaced => self.add(
                index,
                "",
                "(void *)places[$]",
                &format!("EXPECT(\"{name}\", r->seen[$] != 0 && r->seen[$] != (long)places[$], 1);"),
            ),
            Kind::Handle(way, family) => self.value(index, name, way, family, family, family),
            Kind::Number(way, family) => {
                let stored = if is_address && way != Way::In { cast_of(param) } else { cast.clone() };
                self.value(index, name, way, family, &stored, &cast);
            }
            Kind::Bound => unreachable!("the function is needed"),
            Kind::Handles(way, family) => self.array(index, name, way, family, family),
            Kind::Numbers(way, family) => self.array(index, name, way, family, "int"),
            Kind::Status(way) => self.status(index, way),
            Kind::Statuses => self.statuses(index),
            Kind::Text(most) => self.text(index, most),
            Kind::TextLength => self.add(
                index,
                "int a$ = -1;",
                "&a$",
                "if (!failed) EXPECT(\"length of the text\", a$, text_length);",
            ),
        }
    }

    fn value(&mut self, index: usize, name: &str, way: Way, family: &str, stored: &str, cast: &str) {
        let root = if name == "root" {
            format!(" records[{}].give[1] = v$.inner;", number("MPI_Comm_rank"))
        } else {
            String::new()
        };
        let picked = format!("struct pair v$ = pick(&of_{family}, round + $);");
        let other = format!("struct pair w$ = pick(&of_{family}, round / 2 + 3 * $ + 1);");
        match way {
            Way::In => self.add(
                index,
                &format!("{picked}{root}"),
                &format!("({cast})v$.outer"),
                &format!("EXPECT(\"{name}\", r->seen[$], v$.inner);"),
            ),
            Way::Out => self.add(
                index,
                &format!("{picked} {other} {stored} a$ = ({stored})w$.outer; r->give[$] = v$.inner;"),
                "(void *)&a$",
                &format!("EXPECT(\"{name}\", a$, ({stored})(failed ? w$.outer : v$.outer));"),
            ),
            Way::InOut => self.add(
                index,
                &format!("{picked} {other} {stored} a$ = ({stored})v$.outer; r->give[$] = w$.inner;"),
                "(void *)&a$",
                &format!(
                    "EXPECT(\"{name}\", r->seen[$], v$.inner); \
                     EXPECT(\"{name} afterwards\", a$, ({stored})(failed ? v$.outer : w$.outer));"
                ),
            ),
        }
    }

    /// A handle is converted if the variable is bound to one; other addresses are left alone.
    fn bound(&mut self, index: usize, function: &Function) {
        let asked = function.name.replace("handle_alloc", "get_info");
        let number = number(&asked);
        let bind = tables::functions()[number].params.iter().position(|param| param.kind == "BIND_TYPE");
        let before = format!(
            "const int bind$ = (const int[]){{{}, {}, {}}}[round % 3]; records[{number}].answer = 0; \
             records[{number}].give[{}] = bind$; struct pair v$ = bind$ == {} ? pick(&of_MPI_Comm, round) : \
             pick(&of_MPI_Datatype, round); MPI_Comm c$ = (MPI_Comm)pick(&of_MPI_Comm, round).outer; \
             MPI_Datatype d$ = (MPI_Datatype)pick(&of_MPI_Datatype, round).outer; void *a$ = bind$ == {} ? \
             (void *)places[$] : bind$ == {} ? (void *)&c$ : (void *)&d$;",
            value("MPI_T_BIND_NO_OBJECT"),
            value("MPI_T_BIND_MPI_COMM"),
            value("MPI_T_BIND_MPI_DATATYPE"),
            bind.expect("it says what is bound"),
            value("MPI_T_BIND_MPI_COMM"),
            value("MPI_T_BIND_NO_OBJECT"),
            value("MPI_T_BIND_MPI_COMM"),
        );
        let after = "if (a$ == (void *)places[$]) EXPECT(\"what is not bound\", r->seen[$], places[$]); \
             else EXPECT(\"what is bound\", r->items[$][0], v$.inner);";
        self.add(index, &before, "a$", after);
    }

    fn array(&mut self, index: usize, name: &str, way: Way, family: &str, stored: &str) {
        let at = |base: &str| format!("pick(&of_{family}, round + $ + {base})");
        let (first, second) = (at("k"), at("2 * k + 5"));
        let before = format!(
            "{stored} a$[ELEMENTS_MAX]; for (int k = 0; k < ELEMENTS_MAX; k++) {{ a$[k] = ({stored}){first}.outer; \
             r->give_items[$][k] = {second}.inner; }}"
        );
        let skipped = if name == "sendtypes" { "(long)v0.outer == (long)MPI_IN_PLACE" } else { "0" };
        let inward = format!(
            "for (int k = 0; k < length && !({skipped}); k++) EXPECT(\"{name}\", r->items[$][k], {first}.inner);"
        );
        let outward = format!(
            "for (int k = 0; k < length && !failed; k++) \
             EXPECT(\"{name} afterwards\", a$[k], ({stored}){second}.outer);"
        );
        let after = match way {
            Way::In => inward,
            Way::Out => outward,
            Way::InOut => inward + " " + &outward,
        };
        self.add(index, &before, "(void *)a$", &after);
    }

    fn status(&mut self, index: usize, way: Way) {
        let sample = |number: &str, outer: &str, inner: &str| {
            format!(
                "both_statuses({number}, pick(&of_RANK, {number}), pick(&of_TAG, {number}), \
                 pick(&of_ERROR_CODE, {number}), &{outer}, &{inner});"
            )
        };
        let out = sample("round + 1", "s$", "r->give_statuses[0]");
        match way {
            Way::In => self.add(
                index,
                &format!("MPI_Status a$; struct standard_status i$; {}", sample("round", "a$", "i$")),
                "&a$",
                "expect_standard(round, &r->statuses[0], &i$);",
            ),
            Way::InOut => self.add(
                index,
                &format!(
                    "MPI_Status a$, s$; struct standard_status i$; {} {out}",
                    sample("round", "a$", "i$")
                ),
                "&a$",
                "expect_standard(round, &r->statuses[0], &i$); if (!failed) expect_status(round, &a$, &s$);",
            ),
            Way::Out => self.add(
                index,
                &format!("MPI_Status a$, s$; {out} int ignored$ = round % 5 == 2;"),
                "ignored$ ? MPI_STATUS_IGNORE : &a$",
                "if (ignored$) EXPECT(\"a status that is ignored\", r->seen[$], 0); \
                 else if (!failed) expect_status(round, &a$, &s$);",
            ),
        }
    }

    fn statuses(&mut self, index: usize) {
        let before = "MPI_Status a$[ELEMENTS_MAX], s$[ELEMENTS_MAX]; int ignored$ = round % 5 == 2; \
             for (int k = 0; k < ELEMENTS_MAX; k++) both_statuses(round + k, pick(&of_RANK, round + k), \
             pick(&of_TAG, round + k), pick(&of_ERROR_CODE, round + k), &s$[k], &r->give_statuses[k]);";
        let after = "if (ignored$) EXPECT(\"statuses that are ignored\", r->seen[$], 0); \
             else for (int k = 0; k < length && !failed; k++) expect_status(round, &a$[k], &s$[k]);";
        self.add(index, before, "ignored$ ? MPI_STATUSES_IGNORE : a$", after);
    }

    /// A short text, and one that is as long as the standard allows.
    fn text(&mut self, index: usize, most: &str) {
        let before = format!(
            "static char full$[{0}], a$[{most} + 1]; memset(full$, 'x', {0} - 1); memset(a$, '#', sizeof a$); \
             r->text = round % 2 ? \"tern\" : full$; long text_length = (long)strlen(r->text); \
             if (text_length > {most} - 1) text_length = {most} - 1;",
            value(most)
        );
        let after = format!(
            "if (!failed) {{ EXPECT(\"the text\", strncmp(a$, r->text, (size_t)text_length), 0); \
             EXPECT(\"its end\", a$[text_length], 0); }} EXPECT(\"what is behind it\", a$[{most}], '#');"
        );
        self.add(index, &before, "a$", &after);
    }
}

/// The type of what lies at an address.
fn cast_of(param: &FunctionParameter) -> String {
    param.ctype.trim_start_matches("const ").trim_end_matches('*').into()
}

/// Handles become integers and come back the same.
fn integers(text: &mut String) {
    text.push_str("static void call_integers(int round)\n{\n");
    for handle in HANDLES {
        let stem = handle.replace("Datatype", "Type");
        writeln!(
            text,
            "    called = \"{stem}_toint\";\n    for (int k = 0; k < of_{handle}.count; k++) {{\n        \
             {handle} h = ({handle})pick(&of_{handle}, k).outer;\n        \
             EXPECT(\"a handle and its integer\", {stem}_fromint({stem}_toint(h)), h);\n        \
             EXPECT(\"a handle and Fortran's\", {stem}_f2c({stem}_c2f(h)), h);\n    }}"
        )
        .unwrap();
    }
    text.push_str("}\n\n");
}

/// Functions with results of their own, and error codes that the ABI lacks.
fn rest(text: &mut String, abi: &Abi) {
    text.push_str(
        "static void call_rest(int round)\n{\n    called = \"the rest\";\n    int major = 0, minor = 0, error = 0;\n    \
         MPI_Status status;\n    EXPECT(\"seconds\", MPI_Wtime() * 4, 50);\n    EXPECT(\"ticks\", PMPI_Wtick() * 4, 1);\n    \
         EXPECT(\"a sum\", MPI_Aint_add(40, 2), 42);\n    EXPECT(\"a difference\", MPI_Aint_diff(40, 2), 38);\n    \
         MPI_Abi_get_version(&major, &minor);\n    EXPECT(\"the standard ABI\", major, -1);\n    \
         MPI_Status_set_error(&status, MPI_ERR_TAG);\n    EXPECT(\"a status's error\", status.MPI_ERROR, MPI_ERR_TAG);\n    \
         MPI_Status_get_error(&status, &error);\n    EXPECT(\"the error read\", error, MPI_ERR_TAG);\n",
    );
    writeln!(
        text,
        "    char version[MPI_MAX_LIBRARY_VERSION_STRING];\n    int length = 0;\n    \
         MPI_Get_library_version(version, &length);\n    EXPECT(\"a length\", (int)strlen(version), length);\n    \
         EXPECT(\"whose ABI\", strncmp(version, \"{0}\", strlen(\"{0}\")), 0);\n    \
         EXPECT(\"the library\", strcmp(version + length - 9, \"a library\"), 0);",
        abi.release
    )
    .unwrap();
    let barrier = number("MPI_Barrier");
    for constant in tables::constants() {
        if is_error(constant.name) && !constant.is_alias() && !has(abi, constant.name) {
            writeln!(
                text,
                "    records[{barrier}].answer = {};\n    \
                 EXPECT(\"{}\", MPI_Barrier(MPI_COMM_WORLD), MPI_ERR_UNKNOWN);",
                value(constant.name),
                constant.name
            )
            .unwrap();
        }
    }
    text.push_str("}\n\n");
}

fn main(text: &mut String, functions: &[Function]) {
    let asked: String = ASKED
        .iter()
        .map(|(name, at, answer)| {
            let answer = answer.parse().unwrap_or_else(|_| value(answer));
            format!("    records[{0}].answer = 0;\n    records[{0}].give[{at}] = {answer};\n", number(name))
        })
        .collect();
    let calls: String = functions
        .iter()
        .filter(|function| is_generic(function))
        .map(|function| format!("        ask(); call_{}(round, twin);\n", function.name))
        .collect();
    write!(
        text,
        "static void ask(void)\n{{\n{asked}}}\n\nint main(void)\n{{\n    \
         void *library = dlopen(\"libmpi_abi.so.1\", RTLD_NOW | RTLD_NOLOAD);\n    \
         if (!library || !(records = dlsym(library, \"records\"))) return 2;\n    make_families();\n    \
         for (int round = 0; round < {ROUNDS}; round++) for (int twin = 0; twin < 2; twin++) {{\n{calls}    }}\n    \
         call_integers(0);\n    call_rest(0);\n    printf(\"%d comparisons, %d differences\\n\", comparisons, differences);\n    \
         return differences != 0;\n}}\n"
    )
    .unwrap();
}
