//! Which MPI a library is of, and whether its programs can become ranks here.

use serde::{Deserialize, Serialize};

/// How the programs of an MPI library find each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// The standard ABI, which Tern's own library has.
    Standard,
    /// By PMI-1, which `mpirun` speaks, or by something else, as the site that built it chose.
    Mpich,
    /// By something that `mpirun` does not speak.
    OpenMpi,
}

/// For which ABI a program is started: `--abi`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Abi {
    /// What the program needs, as far as it can be seen.
    #[default]
    Auto,
    /// The standard one: a program of another MPI runs on the library that it is linked with.
    Standard,
    /// That of MPICH and Intel MPI.
    Mpich,
    /// That of Open MPI.
    OpenMpi,
}

impl Abi {
    /// By its name on the command line.
    pub fn parse(name: &str) -> Option<Abi> {
        match name {
            "auto" => Some(Abi::Auto),
            "standard" => Some(Abi::Standard),
            "mpich" => Some(Abi::Mpich),
            "openmpi" => Some(Abi::OpenMpi),
            _ => None,
        }
    }

    /// The folder of its libraries, below that of Tern's own.
    pub fn folder(self) -> Option<&'static str> {
        match self {
            Abi::Auto | Abi::Standard => None,
            Abi::Mpich => Some("mpich"),
            Abi::OpenMpi => Some("openmpi"),
        }
    }
}

impl From<Family> for Abi {
    fn from(family: Family) -> Abi {
        match family {
            Family::Standard => Abi::Standard,
            Family::Mpich => Abi::Mpich,
            Family::OpenMpi => Abi::OpenMpi,
        }
    }
}

/// Libraries of Open MPI that stand beside `libmpi.so`.
const OPEN_MPI: [&str; 7] = [
    "libmpi_cxx.so",
    "libmpi_mpifh.so",
    "libmpi_usempif08.so",
    "libmpi_usempi_ignore_tkr.so",
    "libmpi_usempi.so",
    "libmpi_ibm.so",
    "libopen-rte.so",
];

/// Libraries of MPICH and of what descends from it.
const MPICH: [&str; 11] = [
    "libmpich.so",
    "libmpichcxx.so",
    "libmpichfort.so",
    "libmpicxx.so",
    "libmpifort.so",
    "libmpichf90.so",
    "libmpi_cray.so",
    "libmpi_gnu",
    "libmpi_intel.so",
    "libmpi_nvidia.so",
    "libmpi_aocc.so",
];

/// The version of `libmpi.so` that MPICH's relatives have agreed on, and what developers build without one.
const OF_MPICH: [&str; 3] = ["12", "0", ""];

impl Family {
    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Family::Standard => "the standard ABI",
            Family::Mpich => "MPICH",
            Family::OpenMpi => "Open MPI",
        }
    }

    /// By the name of a library, as a program states it or as it lies in its folder.
    pub fn of(library: &str) -> Option<Family> {
        let begins = |names: &[&str]| names.iter().any(|name| library.starts_with(name));
        if begins(&["libmpi_abi.so", "libmpifort_abi.so"]) {
            return Some(Family::Standard);
        }
        if begins(&OPEN_MPI) {
            return Some(Family::OpenMpi);
        }
        if begins(&MPICH) {
            return Some(Family::Mpich);
        }
        let version = library.strip_prefix("libmpi.so")?.trim_start_matches('.').split('.').next();
        Some(match version.unwrap_or_default() {
            version if OF_MPICH.contains(&version) => Family::Mpich,
            _ => Family::OpenMpi,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_told_apart() {
        let foreign = Some(Family::OpenMpi);
        for (library, family) in [
            ("libmpi_abi.so.1", Some(Family::Standard)),
            ("libmpi.so.12", Some(Family::Mpich)),
            ("libmpi.so.12.4.0", Some(Family::Mpich)),
            ("libmpi_gnu_123.so.12", Some(Family::Mpich)),
            ("libmpi.so.40", foreign),
            ("libmpi.so.80.0.1", foreign),
            ("libmpi_mpifh.so.40", foreign),
            ("libmpichcxx.so.12", Some(Family::Mpich)),
            ("libmpir.so.1", None),
            ("libc.so.6", None),
        ] {
            assert_eq!(Family::of(library), family, "{library}");
        }
    }
}
