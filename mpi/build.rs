//! Gives the library the name that programs of the standard ABI look for, and makes it quick to load.

mod libgcc;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=libgcc.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmpi_abi.so.1");
    // The addresses in the table of calls are the library's own, and need no lookup by name each time that a program starts.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic-functions");
    // A plugin that is unloaded takes its libraries along. This one has told threads, signals and forks where to find its functions.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    libgcc::link();
}
