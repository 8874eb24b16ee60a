//! Tern's `engine` room; see ARCHITECTURE.md.
