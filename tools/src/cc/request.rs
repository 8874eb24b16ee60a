//! What the command line asks for.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use crate::query::WrapperQuery;

/// The command line, with the wrapper's own options taken out.
#[derive(Default)]
pub(crate) struct WrapperArguments {
    /// A question about the flags, instead of a compilation.
    pub query: Option<WrapperQuery>,
    /// Whether Fortran's modules shall be compiled into the installed tree (`-make-modules`).
    pub makes_modules: bool,
    /// The compiler given by `-cc=`, `-cxx=` or `-fc=`.
    pub compiler: Option<OsString>,
    /// All that goes to the compiler, in order.
    pub args: Vec<OsString>,
    /// Whether the compiler will stop before linking (`-c`, `-E`, `-S`, `-M`…).
    pub stops_early: bool,
    /// Whether something to compile or link was named.
    pub has_input: bool,
}

impl WrapperArguments {
    /// Reads a command line, the program's name left out.
    pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Self {
        let mut request = Self::default();
        let mut value_follows = false;
        for arg in args {
            if std::mem::replace(&mut value_follows, false) {
                request.args.push(arg);
            } else if !request.take_own(&arg) {
                value_follows = takes_value(&arg);
                request.stops_early |= stops_early(&arg);
                request.has_input |= is_input(&arg);
                request.args.push(arg);
            }
        }
        request
    }

    /// Whether flags of the link belong on the compiler's line: `mpicc -v` must not try to link nothing.
    pub(crate) fn links(&self) -> bool {
        self.has_input && !self.stops_early
    }

    /// Whether only the version is asked for.
    pub(crate) fn asks_version(&self) -> bool {
        self.args == ["--version"] && self.query.is_none()
    }

    /// Handles an option of the wrapper; false leaves it to the compiler.
    fn take_own(&mut self, arg: &OsStr) -> bool {
        if let Some(query) = arg.to_str().and_then(WrapperQuery::of_option) {
            self.query = Some(query);
            return true;
        }
        if arg == "-make-modules" {
            self.makes_modules = true;
            return true;
        }
        if arg.to_str().is_some_and(|arg| OTHER_LIBRARIES.contains(&arg)) {
            self.has_input = true;
            return true;
        }
        for option in ["-cc=", "-cxx=", "-fc="] {
            if let Some(compiler) = arg.as_bytes().strip_prefix(option.as_bytes()) {
                self.compiler = Some(OsStr::from_bytes(compiler).to_os_string());
                return true;
            }
        }
        false
    }
}

/// Names that makefiles give for the libraries of other MPIs. Those of this one are added anyway, and the linker might find another one
/// under such a name in the system's folders, whose ABI is not that of the header.
const OTHER_LIBRARIES: &[&str] = &[
    "-lmpi",
    "-lmpich",
    "-lmpifort",
    "-lmpi_mpifh",
    "-lmpi_usempi",
    "-lmpi_usempif08",
    "-lmpi_usempi_ignore_tkr",
];

fn is_input(arg: &OsStr) -> bool {
    let bytes = arg.as_bytes();
    bytes == b"-" || bytes.first().is_some_and(|first| *first != b'-') || bytes.starts_with(b"-l")
}

fn stops_early(arg: &OsStr) -> bool {
    matches!(arg.as_bytes(), b"-c" | b"-E" | b"-S" | b"-M" | b"-MM" | b"-fsyntax-only")
}

/// Options of GCC and Clang whose value is the next argument, so that the value is not taken for an input.
fn takes_value(arg: &OsStr) -> bool {
    const OPTIONS: &[&str] = &[
        "-o",
        "-x",
        "-I",
        "-D",
        "-U",
        "-J",
        "-L",
        "-l",
        "-T",
        "-u",
        "-z",
        "-e",
        "-B",
        "-MF",
        "-MT",
        "-MQ",
        "-include",
        "-imacros",
        "-isystem",
        "-iquote",
        "-idirafter",
        "-iprefix",
        "-iwithprefix",
        "-isysroot",
        "-aux-info",
        "--param",
        "-Xlinker",
        "-Xpreprocessor",
        "-Xassembler",
        "-Xclang",
        "-wrapper",
        "-target",
        "-mllvm",
        "-specs",
        "--sysroot",
        "-dumpbase",
        "-dumpdir",
    ];
    arg.to_str().is_some_and(|arg| OPTIONS.contains(&arg))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> WrapperArguments {
        WrapperArguments::parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn a_source_is_compiled_and_linked() {
        assert!(parse("-O2 hello.c -o hello").links());
        assert!(parse("a.o b.o -o all").links());
        assert!(parse("-x c -").links());
    }

    #[test]
    fn compile_only_does_not_link() {
        for option in ["-c", "-E", "-S", "-M", "-MM", "-fsyntax-only"] {
            assert!(!parse(&format!("{option} hello.c")).links(), "{option}");
        }
        assert!(parse("-MD hello.c -o hello").links());
    }

    #[test]
    fn without_input_there_is_nothing_to_link() {
        assert!(!parse("-v").links());
        assert!(!parse("--version -o out -I include").links());
    }

    #[test]
    fn the_version_is_asked_for_alone() {
        assert!(parse("--version").asks_version() && parse("-cc=clang --version").asks_version());
        assert!(!parse("--version x.c").asks_version() && !parse("-show --version").asks_version());
    }

    #[test]
    fn values_of_options_are_left_alone() {
        let request = parse("-o -show -c x.c");
        assert!(request.query.is_none());
        assert_eq!(request.args, ["-o", "-show", "-c", "x.c"]);
    }

    #[test]
    fn names_of_other_libraries_are_left_out() {
        let request = parse("hello.c -lmpi -lm -lmpi_mpifh -o hello -lmpi_other");
        assert_eq!(request.args, ["hello.c", "-lm", "-o", "hello", "-lmpi_other"]);
        assert!(request.links() && parse("-lmpi").links());
    }

    #[test]
    fn own_options_are_taken_out() {
        let request = parse("-cc=clang -show -O2 x.c");
        assert_eq!(request.compiler.as_deref(), Some(OsStr::new("clang")));
        assert_eq!(request.query, Some(WrapperQuery::Command));
        assert_eq!(request.args, ["-O2", "x.c"]);
    }
}
