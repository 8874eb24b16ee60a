//! `mpirun`: starts the ranks of a job and sees it through.

#![forbid(unsafe_code)]

fn main() {}
