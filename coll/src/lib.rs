//! Tern's `coll` room; see ARCHITECTURE.md.
