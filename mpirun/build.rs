//! Makes `mpirun` quick to load.

#[path = "../mpi/libgcc.rs"]
mod libgcc;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../mpi/libgcc.rs");
    libgcc::link();
}
