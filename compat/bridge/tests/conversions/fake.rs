//! A library that stands for Tern's: it writes down what it is called with, and answers what it was told to.

use std::fmt::Write;

use tern_abi::tables::{self, Function, FunctionParameter};

use super::kinds::{Kind, Way, is_generic, kind};

/// The source of the library.
pub(super) fn source() -> String {
    let mut text = String::from(
        "#include <mpi.h>\n#include <string.h>\n#include \"record.h\"\n\nstruct record records[700];\n\
         #define STANDARD(status) ((struct standard_status *)(status))\n\n\
         double MPI_Wtime(void) { return 12.5; }\ndouble MPI_Wtick(void) { return 0.25; }\n\n\
         int MPI_Get_library_version(char *version, int *length)\n{\n    strcpy(version, \"a library\");\n    \
         *length = 9;\n    return 0;\n}\n\n",
    );
    for (number, function) in
        tables::functions().iter().enumerate().filter(|(_, function)| is_generic(function))
    {
        define(&mut text, number, function);
    }
    text
}

fn define(text: &mut String, number: usize, function: &Function) {
    let mut params: Vec<String> = function.params.iter().map(declared).collect();
    if function.variadic {
        params.push("...".into());
    }
    let params = if params.is_empty() { "void".into() } else { params.join(", ") };
    let mut line = |part: String| writeln!(text, "{part}").expect("a text grows");
    line(format!(
        "int {}({params})\n{{\n    struct record *record = &records[{number}];\n    record->calls++;",
        function.name
    ));
    for (index, param) in function.params.iter().enumerate() {
        line(look(index, param, kind(function, param)));
    }
    line("    if (record->answer) return record->answer;".into());
    for (index, param) in function.params.iter().enumerate() {
        line(answer(index, param, kind(function, param)));
    }
    line("    return 0;\n}\n".into());
}

/// A parameter as C declares it.
pub(super) fn declared(param: &FunctionParameter) -> String {
    match param.ctype.find('[') {
        Some(at) => format!("{} {}{}", &param.ctype[..at], param.name, &param.ctype[at..]),
        None => format!("{} {}", param.ctype, param.name),
    }
}

/// What is written down of a parameter.
fn look(index: usize, param: &FunctionParameter, kind: Kind) -> String {
    let name = param.name;
    let each = |what: &str| format!("    if ({name}) for (int k = 0; k < record->length; k++) {what};");
    match kind {
        Kind::Handle(Way::InOut, _) | Kind::Number(Way::InOut, _) => {
            format!("    record->seen[{index}] = (long)*{name};")
        }
        Kind::Handles(Way::In | Way::InOut, _) | Kind::Numbers(Way::In, _) => {
            each(&format!("record->items[{index}][k] = (long){name}[k]"))
        }
        Kind::Status(Way::In | Way::InOut) => format!("    record->statuses[0] = *STANDARD({name});"),
        Kind::Bound => {
            format!("    record->seen[{index}] = (long){name}; record->items[{index}][0] = *(long *){name};")
        }
        _ => format!("    record->seen[{index}] = (long){name};"),
    }
}

/// What goes out through a parameter.
fn answer(index: usize, param: &FunctionParameter, kind: Kind) -> String {
    let name = param.name;
    let base = param.ctype.trim_end_matches("[]").trim_end_matches('*');
    let each = |what: &str| format!("    if ({name}) for (int k = 0; k < record->length; k++) {what};");
    match kind {
        Kind::Handle(Way::Out | Way::InOut, _) | Kind::Number(Way::Out | Way::InOut, _) | Kind::Small => {
            format!("    if ({name}) *{name} = ({base})record->give[{index}];")
        }
        Kind::Handles(Way::Out | Way::InOut, _) | Kind::Numbers(Way::Out, _) => {
            each(&format!("{name}[k] = ({base})record->give_items[{index}][k]"))
        }
        Kind::Status(Way::Out | Way::InOut) => {
            format!("    if ({name}) *STANDARD({name}) = record->give_statuses[0];")
        }
        Kind::Statuses => each(&format!("STANDARD({name})[k] = record->give_statuses[k]")),
        Kind::Text(_) => format!("    strcpy({name}, record->text);"),
        Kind::TextLength => format!("    *{name} = (int)strlen(record->text);"),
        _ => String::new(),
    }
}
