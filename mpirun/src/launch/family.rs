//! Which MPI a library is of, and whether its programs can become ranks here.

/// How the programs of an MPI library find each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// The standard ABI, which Tern's own library has.
    Standard,
    /// By PMI-1, which `mpirun` speaks, or by something else, as the site that built it chose.
    Pmi,
    /// By something that `mpirun` does not speak. The name is a person's.
    Foreign(&'static str),
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
const MPICH: [&str; 9] = [
    "libmpich.so",
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
    /// By the name of a library, as a program states it or as it lies in its folder.
    pub fn of(library: &str) -> Option<Family> {
        let begins = |names: &[&str]| names.iter().any(|name| library.starts_with(name));
        if begins(&["libmpi_abi.so", "libmpifort_abi.so"]) {
            return Some(Family::Standard);
        }
        if begins(&OPEN_MPI) {
            return Some(Family::Foreign("Open MPI"));
        }
        if begins(&MPICH) {
            return Some(Family::Pmi);
        }
        let version = library.strip_prefix("libmpi.so")?.trim_start_matches('.').split('.').next();
        Some(match version.unwrap_or_default() {
            version if OF_MPICH.contains(&version) => Family::Pmi,
            _ => Family::Foreign("Open MPI"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_told_apart() {
        let foreign = Some(Family::Foreign("Open MPI"));
        for (library, family) in [
            ("libmpi_abi.so.1", Some(Family::Standard)),
            ("libmpi.so.12", Some(Family::Pmi)),
            ("libmpi.so.12.4.0", Some(Family::Pmi)),
            ("libmpi_gnu_123.so.12", Some(Family::Pmi)),
            ("libmpi.so.40", foreign),
            ("libmpi.so.80.0.1", foreign),
            ("libmpi_mpifh.so.40", foreign),
            ("libmpir.so.1", None),
            ("libc.so.6", None),
        ] {
            assert_eq!(Family::of(library), family, "{library}");
        }
    }
}
