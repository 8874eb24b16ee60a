//! Tern's `mpi` room; see ARCHITECTURE.md.
