//! engine
#![forbid(unsafe_code)]
pub mod matching;
