//! Tern's `abi` room; see ARCHITECTURE.md.
