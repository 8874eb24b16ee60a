//! Tern's `runtime` room; see ARCHITECTURE.md.
