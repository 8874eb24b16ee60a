//! Tern's `transport` room; see ARCHITECTURE.md.
