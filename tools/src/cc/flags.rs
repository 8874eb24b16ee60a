//! Which compiler to call, and which flags find Tern.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use crate::gfortran;
use crate::modules;
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
            Self::Fortran => modules::installed_compiler(),
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

/// An installed tree: `bin`, `include` and `lib` side by side.
pub(crate) struct InstalledTree {
    prefix: PathBuf,
}

impl InstalledTree {
    /// The tree whose `bin` holds this program; symbolic links to it are followed.
    pub(crate) fn around_this_program() -> Result<Self, String> {
        let program =
            std::env::current_exe().map_err(|error| format!("cannot find my own place: {error}"))?;
        match program.parent().and_then(|bin| bin.parent()) {
            Some(prefix) => Ok(Self { prefix: prefix.to_path_buf() }),
            None => Err(format!("{} is not in the bin folder of an installed tree", program.display())),
        }
    }

    /// A tree at a known place.
    #[cfg(test)]
    pub(crate) fn at(prefix: &str) -> Self {
        Self { prefix: PathBuf::from(prefix) }
    }

    /// Whether the header and the library are where they must be.
    pub(crate) fn check(&self) -> Result<(), String> {
        for file in [self.include().join("mpi.h"), self.lib().join("libmpi_abi.so")] {
            if !file.exists() {
                return Err(format!(
                    "{} is missing: this wrapper works from the bin folder of an installed tree \
                     (make install PREFIX=...)",
                    file.display()
                ));
            }
        }
        Ok(())
    }

    /// The folder of `mpi.h`.
    pub(crate) fn include(&self) -> PathBuf {
        self.prefix.join("include")
    }

    /// The folder of the modules' sources, and that of the modules compiled at installation.
    pub(crate) fn module_sources(&self) -> PathBuf {
        self.prefix.join("share/tern/fortran")
    }

    /// The folder that holds one folder of compiled modules for each compiler.
    pub(crate) fn installed_modules(&self) -> PathBuf {
        self.prefix.join("lib/tern/fortran")
    }

    /// The folder of `libmpi_abi.so`.
    pub(crate) fn lib(&self) -> PathBuf {
        self.prefix.join("lib")
    }

    /// What a compilation needs.
    pub(crate) fn compile_flags(&self, compiler: &Compiler) -> Vec<OsString> {
        let mut flags = vec![joined("-I", self.include())];
        if compiler.language == Language::Fortran {
            flags.push(joined("-I", modules::folder(self, compiler)));
            flags.extend(gfortran::leniency(compiler));
        }
        flags
    }

    /// Names of the libraries, those that need others first.
    pub(crate) fn libraries(&self, language: Language) -> &'static [&'static str] {
        match language {
            Language::Fortran => &[modules::ARCHIVE, "mpifort_abi", "mpi_abi"],
            Language::C | Language::Cxx => &["mpi_abi_c2f", "mpi_abi"],
        }
    }

    /// Folders of the libraries.
    pub(crate) fn library_folders(&self, compiler: &Compiler) -> Vec<PathBuf> {
        match compiler.language {
            Language::Fortran => vec![self.lib(), modules::folder(self, compiler)],
            Language::C | Language::Cxx => vec![self.lib()],
        }
    }

    /// What a link needs.
    ///
    /// The library's place goes into DT_RUNPATH, not DT_RPATH: LD_LIBRARY_PATH comes before it, and that
    /// is how a program is moved to another library of the same ABI.
    pub(crate) fn link_flags(&self, compiler: &Compiler) -> Vec<OsString> {
        let mut flags: Vec<OsString> =
            self.library_folders(compiler).into_iter().map(|folder| joined("-L", folder)).collect();
        flags.push(joined("-Wl,-rpath,", self.lib()));
        flags.push("-Wl,--enable-new-dtags".into());
        flags.extend(self.libraries(compiler.language).iter().map(|name| format!("-l{name}").into()));
        flags
    }
}

fn joined(option: &str, path: PathBuf) -> OsString {
    let mut flag = OsString::from(option);
    flag.push(path);
    flag
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
