//! `mpi.h` against the ABI tables: each constant's type and value, each type's layout, each prototype of
//! each name, parameter by parameter, as text and as the C and C++ compilers understand them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use tern_abi::tables::{self, Constant, Function, FunctionParameter};

const HEADER: &str = include_str!("../include/mpi.h");

#[test]
fn every_prototype_has_the_tables_parameters_and_no_other_exists() {
    let header = collapse_spaces(HEADER);
    let functions = tables::functions();
    for function in &functions {
        for prefix in ["", "P"] {
            let prototype = prototype(function, prefix);
            assert!(header.contains(&prototype), "mpi.h does not declare `{prototype}`");
        }
    }
    assert_eq!(declarations(&header), 2 * functions.len(), "mpi.h declares functions beyond the table");
}

#[test]
fn every_macro_is_in_the_tables() {
    let constants: BTreeSet<_> = tables::constants().iter().map(|constant| constant.name).collect();
    let not_constants = BTreeSet::from(["MPI_H_ABI", "MPI_ABI_Aint", "MPI_ABI_Offset", "MPI_ABI_Fint"]);
    for line in HEADER.lines().filter_map(|line| line.strip_prefix("#define ")) {
        let name = line.split_whitespace().next().unwrap_or_default();
        assert!(constants.contains(name) || not_constants.contains(name), "{name} is not in the table");
    }
}

#[test]
fn c_agrees_with_the_tables() {
    compile_and_run(&Language { compiler: "cc", standard: "-std=gnu11", suffix: "c" }, |source| {
        source.push_str("#define SAME(a, b) __builtin_types_compatible_p(a, b)\n#define TYPE __typeof__\n");
        source.push_str("#define CHECK _Static_assert\n");
    });
}

#[test]
fn cxx_agrees_with_the_tables() {
    compile_and_run(&Language { compiler: "c++", standard: "-std=c++11", suffix: "cc" }, |source| {
        source.push_str("#include <type_traits>\n#define CHECK static_assert\n");
        source.push_str("#define SAME(a, b) (std::is_same<a, b>::value)\n#define TYPE decltype\n");
    });
}

#[test]
fn strict_compilers_have_nothing_to_say() {
    for (compiler, standard, suffix) in [
        ("cc", "-std=c99", "c"),
        ("cc", "-std=c17", "c"),
        ("c++", "-std=c++98", "cc"),
        ("c++", "-std=c++17", "cc"),
    ] {
        let source = write_source(&format!("strict{standard}.{suffix}"), "#include <mpi.h>\n");
        let mut command = compiler_command(compiler, standard);
        command.args(["-pedantic-errors", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]).arg(source);
        run(&mut command);
    }
}

fn declarations(header: &str) -> usize {
    header
        .split(';')
        .map(str::trim_start)
        .filter(|declaration| !declaration.contains("typedef") && !declaration.contains('{'))
        .filter(|declaration| declaration.contains("MPI_") && declaration.ends_with(')'))
        .count()
}

fn collapse_spaces(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The prototype as C writes it, with parameter names.
fn prototype(function: &Function, prefix: &str) -> String {
    let mut params: Vec<String> = function.params.iter().map(named_param).collect();
    if function.variadic {
        params.push("...".into());
    }
    if params.is_empty() {
        params.push("void".into());
    }
    format!("{} {prefix}{}({});", function.result, function.name, params.join(", "))
}

/// `const int[]` and `counts` make `const int counts[]`; `void*` and `buf` make `void *buf`.
fn named_param(param: &FunctionParameter) -> String {
    let (base, array) = param.ctype.split_at(param.ctype.find('[').unwrap_or(param.ctype.len()));
    let stem = base.trim_end_matches('*');
    format!("{stem} {}{}{array}", &base[stem.len()..], param.name)
}

struct Language {
    compiler: &'static str,
    standard: &'static str,
    suffix: &'static str,
}

/// Types are asserted by the compiler; values by running the program, which prints each one that is wrong.
fn compile_and_run(language: &Language, preamble: impl FnOnce(&mut String)) {
    let mut source = String::from("#include <mpi.h>\n#include <stddef.h>\n#include <stdio.h>\n");
    preamble(&mut source);
    assert_types(&mut source, language.suffix == "cc");
    for function in tables::functions() {
        assert_prototype(&mut source, &function);
    }
    check_values(&mut source);
    let source_path = write_source(&format!("abi.{}", language.suffix), &source);
    let program = source_path.with_extension(format!("{}.out", language.suffix));
    run(compiler_command(language.compiler, language.standard).arg(source_path).arg("-o").arg(&program));
    run(&mut Command::new(program));
}

fn assert_types(source: &mut String, cxx: bool) {
    for (name, ctype) in [("MPI_Aint", "intptr_t"), ("MPI_Count", "int64_t"), ("MPI_Offset", "int64_t")] {
        source.push_str(&format!("CHECK(SAME({name}, {ctype}), \"{name}\");\n"));
    }
    for handle in tables::handle_types() {
        source.push_str(&format!("CHECK(SAME({0}, struct {1} *), \"{0}\");\n", handle.name, handle.tag));
    }
    for callback in tables::callbacks() {
        let (name, result, params) = (callback.name, callback.result, callback.params);
        source.push_str(&format!("CHECK(SAME({name}, {result} ({params})), \"{name}\");\n"));
    }
    for object in ["Comm", "File", "Win"] {
        let (old, new) = (format!("MPI_{object}_errhandler_fn"), format!("MPI_{object}_errhandler_function"));
        source.push_str(&format!("CHECK(SAME({old}, {new}), \"{old}\");\n"));
    }
    for constant in tables::constants().iter().filter(|constant| !constant.is_alias()) {
        // An enumerator has the type int in C and its enumeration's in C++.
        let enumerator = constant.ctype.starts_with("enum ");
        let ctype = if enumerator && !cxx { "int" } else { constant.ctype };
        source.push_str(&format!("CHECK(SAME(TYPE({0}), {ctype}), \"{0}\");\n", constant.name));
    }
    source.push_str("CHECK(sizeof(MPI_Status) == 32, \"MPI_Status\");\n");
    for (field, offset) in [("MPI_SOURCE", 0), ("MPI_TAG", 4), ("MPI_ERROR", 8), ("MPI_internal", 12)] {
        source.push_str(&format!("CHECK(offsetof(MPI_Status, {field}) == {offset}, \"{field}\");\n"));
    }
}

fn assert_prototype(source: &mut String, function: &Function) {
    let mut params: Vec<String> = function.params.iter().map(anonymous_param).collect();
    if function.variadic {
        params.push("...".into());
    }
    if params.is_empty() {
        params.push("void".into());
    }
    for prefix in ["", "P"] {
        let name = format!("{prefix}{}", function.name);
        let expected = format!("{} ({})", function.result, params.join(", "));
        source.push_str(&format!("CHECK(SAME(TYPE({name}), {expected}), \"{name}\");\n"));
    }
}

fn anonymous_param(param: &FunctionParameter) -> String {
    named_param(&FunctionParameter { name: "", ..*param })
}

fn check_values(source: &mut String) {
    source.push_str("struct value { const char *name; long long is, must_be; } values[] = {\n");
    for constant in tables::constants() {
        source.push_str(&value_row(&constant).unwrap_or_default());
    }
    source.push_str("{0, 0, 0}};\nint main(void) {\n    int wrong = 0;\n");
    source.push_str("    for (struct value *v = values; v->name; v++)\n        if (v->is != v->must_be)\n");
    source.push_str(
        "            wrong = printf(\"%s is %lld, must be %lld\\n\", v->name, v->is, v->must_be);\n",
    );
    source.push_str("    return wrong != 0;\n}\n");
}

fn value_row(constant: &Constant) -> Option<String> {
    let name = constant.name;
    if let Some(value) = constant.value() {
        return Some(format!("{{\"{name}\", (long long)({name}), {value}}},\n"));
    }
    // The one alias of types has no value to compare.
    (name != "MPI_ABI_Count")
        .then(|| format!("{{\"{name}\", (long long)({name}), (long long)({})}},\n", constant.text))
}

fn write_source(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
    path
}

fn compiler_command(compiler: &str, standard: &str) -> Command {
    let mut command = Command::new(compiler);
    command.arg(standard).arg("-I").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"));
    command
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?} failed:\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
