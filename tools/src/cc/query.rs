//! Questions about the flags, in the dialects that build systems know (`-show` and `-showme:`…).

use std::ffi::OsString;

use crate::compiler::Compiler;
use crate::flags::InstalledTree;
use crate::request::WrapperArguments;
use crate::words;

/// A question that is answered instead of compiling.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WrapperQuery {
    /// The whole command.
    Command,
    /// The command of a compilation without a link.
    CompileCommand,
    /// The command of a link.
    LinkCommand,
    /// The compiler alone.
    Compiler,
    /// Flags of a compilation.
    CompileFlags,
    /// Flags of a link.
    LinkFlags,
    /// Folders of headers.
    IncludeDirs,
    /// Folders of libraries.
    LibraryDirs,
    /// Names of libraries.
    Libraries,
    /// What this is.
    Version,
    /// How to use it.
    Help,
    /// A part that there is not: the compiler would only wonder at the option.
    Unknown,
}

const HELP: &str = "\
Compiles and links MPI programs: calls the system's compiler with the flags that find Tern.
All options but these go to the compiler:
  -show, -showme       print the command instead of running it
  -compile-info        print the command of a compilation
  -link-info           print the command of a link
  -showme:WHAT         print compile, link, command, incdirs, libdirs, libs, version or help
  --version            print the compiler's version and Tern's
  -cc=COMPILER         C compiler (also from MPICC_CC; default cc)
  -cxx=COMPILER        C++ compiler (also from MPICXX_CXX; default c++)
  -fc=COMPILER         Fortran compiler (also from MPIFORT_FC; default gfortran, or what there is)
  -make-modules        mpifort: compile the modules into the installed tree
With gfortran 10 and newer, mpifort adds -fallow-argument-mismatch and -fallow-invalid-boz, which programs with mpif.h
need; MPIFORT_STRICT=1 leaves them out.
The libraries need not be named: -lmpi and its kin, as other MPIs call theirs, are left out.
  -help                print this";

/// What is said of a part that there is not.
pub(crate) const UNKNOWN: &str = "there is no such part: -showme:WHAT prints compile, link, command, incdirs, libdirs, libs, version or help";

impl WrapperQuery {
    /// The question that an option asks, with one dash or two.
    pub(crate) fn of_option(option: &str) -> Option<Self> {
        let name = option.strip_prefix("--").or_else(|| option.strip_prefix('-'))?;
        Some(match name {
            "show" | "showme" => Self::Command,
            "compile-info" | "compile_info" => Self::CompileCommand,
            "link-info" | "link_info" => Self::LinkCommand,
            "showme:command" => Self::Compiler,
            "showme:compile" => Self::CompileFlags,
            "showme:link" => Self::LinkFlags,
            "showme:incdirs" => Self::IncludeDirs,
            "showme:libdirs" => Self::LibraryDirs,
            "showme:libs" => Self::Libraries,
            "showme:version" => Self::Version,
            // Two dashes are the compiler's own help.
            "help" if option == "-help" => Self::Help,
            "showme:help" => Self::Help,
            _ if name.starts_with("showme:") => Self::Unknown,
            _ => return None,
        })
    }

    /// Whether the answer names folders, of which a build system expects that they are there.
    pub(crate) fn names_folders(self) -> bool {
        !matches!(self, Self::Compiler | Self::Libraries | Self::Version | Self::Help | Self::Unknown)
    }

    /// The answer, ready to print.
    pub(crate) fn answer(
        self,
        compiler: &Compiler,
        tree: &InstalledTree,
        request: &WrapperArguments,
    ) -> String {
        match self {
            Self::Command => words::quote(&command_line(compiler, tree, request)),
            Self::CompileCommand => {
                words::quote(&[&compiler.words[..], &tree.compile_flags(compiler)].concat())
            }
            Self::LinkCommand => words::quote(&[&compiler.words[..], &tree.link_flags(compiler)].concat()),
            Self::Compiler => words::quote(&compiler.words),
            Self::CompileFlags => words::quote(&tree.compile_flags(compiler)),
            Self::LinkFlags => words::quote(&tree.link_flags(compiler)),
            Self::IncludeDirs => words::quote(&[tree.include().into()]),
            Self::LibraryDirs => {
                let folders: Vec<_> =
                    tree.library_folders(compiler).into_iter().map(OsString::from).collect();
                words::quote(&folders)
            }
            Self::Libraries => tree.libraries(compiler.language).join(" "),
            Self::Version => format!("Tern {}", env!("CARGO_PKG_VERSION")),
            Self::Help => HELP.into(),
            Self::Unknown => UNKNOWN.into(),
        }
    }
}

/// The compiler's whole line. Tern's flags come last: the user's own folders are searched first, and
/// libraries follow the objects that need them.
pub(crate) fn command_line(
    compiler: &Compiler,
    tree: &InstalledTree,
    request: &WrapperArguments,
) -> Vec<OsString> {
    let mut line = compiler.words.clone();
    line.extend(request.args.iter().cloned());
    line.extend(tree.compile_flags(compiler));
    // Without any argument, `-show` is asked for all flags.
    if request.links() || request.args.is_empty() && request.query.is_some() {
        line.extend(tree.link_flags(compiler));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiler::Language;

    fn answer(line: &str) -> String {
        let request = WrapperArguments::parse(line.split_whitespace().map(OsString::from));
        let compiler = Compiler::choose(Language::C, Some(&OsString::from("gcc")));
        request.query.expect("a question").answer(&compiler, &InstalledTree::at("/opt/tern"), &request)
    }

    const LINK: &str =
        "-L/opt/tern/lib -Wl,-rpath,/opt/tern/lib -Wl,--enable-new-dtags -lmpi_abi_c2f -lmpi_abi";

    #[test]
    fn show_prints_the_command_that_would_run() {
        assert_eq!(answer("-show"), format!("gcc -I/opt/tern/include {LINK}"));
        assert_eq!(answer("-show -c x.c"), "gcc -c x.c -I/opt/tern/include");
        assert_eq!(answer("x.o -show"), format!("gcc x.o -I/opt/tern/include {LINK}"));
    }

    #[test]
    fn parts_can_be_asked_for() {
        assert_eq!(answer("-showme:compile"), "-I/opt/tern/include");
        assert_eq!(answer("--showme:link"), LINK);
        assert_eq!(answer("-compile_info"), "gcc -I/opt/tern/include");
        assert_eq!(answer("-link-info"), format!("gcc {LINK}"));
        assert_eq!(answer("-showme:libs"), "mpi_abi_c2f mpi_abi");
    }

    #[test]
    fn a_part_that_there_is_not_does_not_go_to_the_compiler() {
        assert_eq!(WrapperQuery::of_option("--showme:all"), Some(WrapperQuery::Unknown));
        assert!(UNKNOWN.contains("incdirs"));
    }

    #[test]
    fn the_compilers_options_are_not_questions() {
        assert_eq!(WrapperQuery::of_option("--help"), None);
        assert_eq!(WrapperQuery::of_option("-shared"), None);
    }
}
