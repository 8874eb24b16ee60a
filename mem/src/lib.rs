//! Tern's `mem` room; see ARCHITECTURE.md.

pub mod basic;
