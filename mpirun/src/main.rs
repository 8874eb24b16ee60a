//! The program `mpirun`.

#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    tern_mpirun::main()
}
