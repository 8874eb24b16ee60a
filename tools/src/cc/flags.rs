//! Which flags find Tern.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::compiler::{Compiler, Language};
use crate::gfortran;
use crate::modules;

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
