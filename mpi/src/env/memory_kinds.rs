//! Kinds of memory (MPI 5.0 section 11.4.3): which of those that a program asks for its buffers may be.
//!
//! `system` is memory of the operating system and the language, `mpi` that of `MPI_Alloc_mem` and of windows. Tern moves bytes
//! that the processor reaches and knows no memory of devices, so it names no other kind.

use crate::env::hints::Info;

/// The key of info objects.
pub(crate) const KEY: &str = "mpi_memory_alloc_kinds";

/// The kinds that are there in any case.
const ALWAYS: [&str; 2] = ["system", "mpi"];
/// What may restrict the kind `mpi`.
const MPI_RESTRICTORS: [&str; 3] = ["alloc_mem", "win_allocate", "win_allocate_shared"];

/// Which of the kinds in `requested`, a list with commas, are there; beside them those that always are.
pub(crate) fn supported(requested: &str) -> String {
    let mut kinds: Vec<&str> = ALWAYS.to_vec();
    for kind in requested.split(',').map(str::trim) {
        if is_supported(kind) && !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds.join(",")
}

fn is_supported(kind: &str) -> bool {
    match kind.split_once(':') {
        None => ALWAYS.contains(&kind),
        Some(("mpi", restrictors)) => restrictors.split(':').all(|one| MPI_RESTRICTORS.contains(&one)),
        Some(_) => false,
    }
}

/// What the hints of a session ask for.
pub(crate) fn requested(hints: &Info) -> String {
    hints.get(KEY).unwrap_or_default().to_owned()
}

/// What `mpirun -memory-alloc-kinds` has asked for, for the world model.
pub(crate) fn of_world() -> String {
    crate::core::settings::from_environment().map(|environment| environment.memory_kinds).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_named_and_nothing_else() {
        assert_eq!(supported(""), "system,mpi");
        assert_eq!(supported("cuda:device, mpi ,system"), "system,mpi");
        assert_eq!(supported("mpi:alloc_mem:win_allocate,rocm"), "system,mpi,mpi:alloc_mem:win_allocate");
        assert_eq!(supported("mpi:alloc_mem:device,system:pinned"), "system,mpi");
    }
}
