//! Tern's `mem` room; see ARCHITECTURE.md.
