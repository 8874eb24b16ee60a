//! Which compiler to call.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::words;

/// The language that the wrapper was called for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Language {
    /// C: `mpicc`.
    C,
    /// C++: `mpicxx`, `mpic++`.
    Cxx,
    /// Fortran: `mpifort`, `mpif77`, `mpif90`.
    Fortran,
}

impl Language {
    /// The language of the name that the program was called by.
    pub(crate) fn of_name(name: &str) -> Self {
        match name {
            "mpicxx" | "mpic++" | "mpiCC" => Self::Cxx,
            "mpifort" | "mpif77" | "mpif90" => Self::Fortran,
            _ => Self::C,
        }
    }

    /// The environment variable that overrides the compiler.
    pub(crate) fn variable(self) -> &'static str {
        match self {
            Self::C => "MPICC_CC",
            Self::Cxx => "MPICXX_CXX",
            Self::Fortran => "MPIFORT_FC",
        }
    }

    /// Variables that override the compiler: Tern's, and those of other wrappers.
    pub(crate) fn variables(self) -> [&'static str; 4] {
        let [open_mpi, mpich, intel] = match self {
            Self::C => ["OMPI_CC", "MPICH_CC", "I_MPI_CC"],
            Self::Cxx => ["OMPI_CXX", "MPICH_CXX", "I_MPI_CXX"],
            Self::Fortran => ["OMPI_FC", "MPICH_FC", "I_MPI_FC"],
        };
        [self.variable(), open_mpi, mpich, intel]
    }

    /// The option that overrides the compiler, without its `=`.
    pub(crate) fn option(self) -> &'static str {
        match self {
            Self::C => "-cc",
            Self::Cxx => "-cxx",
            Self::Fortran => "-fc",
        }
    }

    fn default_compiler(self) -> &'static str {
        match self {
            Self::C => "cc",
            Self::Cxx => "c++",
            Self::Fortran => installed_compiler(),
        }
    }
}

/// The compiler to call.
pub(crate) struct Compiler {
    /// What it compiles.
    pub language: Language,
    /// The program and arguments that always follow it (`ccache gcc -m64`).
    pub words: Vec<OsString>,
    /// Where the choice came from, for messages.
    pub origin: &'static str,
}

impl Compiler {
    /// The option wins over the environment variable, and that over the system's compiler.
    pub(crate) fn choose(language: Language, option: Option<&OsString>) -> Self {
        if let Some(words) = option.and_then(|value| words_of(value)) {
            return Self { language, words, origin: language.option() };
        }
        Self::of_variables(language, |name| std::env::var_os(name)).unwrap_or_else(|| Self {
            language,
            words: vec![OsString::from(language.default_compiler())],
            origin: "the system's",
        })
    }

    /// The first variable that says something decides.
    fn of_variables(language: Language, get: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let words = |origin: &'static str| Some((get(origin).and_then(|value| words_of(&value))?, origin));
        let (words, origin) = language.variables().into_iter().find_map(words)?;
        Some(Self { language, words, origin })
    }
}

fn words_of(value: &OsStr) -> Option<Vec<OsString>> {
    Some(words::split(value)).filter(|words| !words.is_empty())
}

/// Compilers to look for, the preferred first.
const COMPILERS: [&str; 5] = ["gfortran", "flang", "flang-new", "ifx", "nvfortran"];

/// The first Fortran compiler that is installed; if none is, the name that the error message will have.
fn installed_compiler() -> &'static str {
    COMPILERS.into_iter().find(|name| in_path(OsStr::new(name)).is_some()).unwrap_or(COMPILERS[0])
}

/// Where a program is, links followed, and what the file system knows of it.
pub(crate) fn in_path(program: &OsStr) -> Option<(PathBuf, Metadata)> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let named = Path::new(program);
    let candidates: Vec<PathBuf> = if named.components().count() > 1 {
        vec![named.to_path_buf()]
    } else {
        std::env::split_paths(&paths).map(|folder| folder.join(named)).collect()
    };
    candidates.into_iter().find_map(|candidate| {
        let path = candidate.canonicalize().ok()?;
        let metadata =
            fs::metadata(&path).ok().filter(|metadata| metadata.is_file() && metadata.mode() & 0o111 != 0)?;
        Some((path, metadata))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_tells_the_language() {
        assert_eq!(["mpicc", "tern-cc"].map(Language::of_name), [Language::C; 2]);
        assert_eq!(["mpicxx", "mpic++"].map(Language::of_name), [Language::Cxx; 2]);
        assert_eq!(["mpifort", "mpif77", "mpif90"].map(Language::of_name), [Language::Fortran; 3]);
    }

    #[test]
    fn an_override_may_have_arguments() {
        let compiler = Compiler::choose(Language::C, Some(&OsString::from("ccache gcc -m64")));
        assert_eq!(compiler.words, ["ccache", "gcc", "-m64"]);
        assert_eq!(compiler.origin, "-cc");
    }

    #[test]
    fn an_empty_override_is_none() {
        assert_eq!(Compiler::choose(Language::Cxx, Some(&OsString::from(" "))).words.len(), 1);
    }

    #[test]
    fn variables_of_other_wrappers_name_the_compiler() {
        let chosen = |variables: &[(&str, &str)]| {
            let get =
                |name: &str| variables.iter().find(|set| set.0 == name).map(|set| OsString::from(set.1));
            Compiler::of_variables(Language::Fortran, get).map(|compiler| (compiler.words, compiler.origin))
        };
        assert_eq!(chosen(&[("OMPI_CC", "clang")]), None);
        assert_eq!(chosen(&[("I_MPI_FC", "ifx -g"), ("MPIFORT_FC", " ")]).unwrap().1, "I_MPI_FC");
        assert_eq!(chosen(&[("OMPI_FC", "flang"), ("MPIFORT_FC", "ifx")]).unwrap().1, "MPIFORT_FC");
    }
}
