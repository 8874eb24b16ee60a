//! Of both libraries for programs of other ABIs: gives the library its name, and names the library that it needs. That one may
//! not be built yet, so an empty library of its name is linked with: the functions are found when the program starts.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=../build.rs");
    let folder = std::env::var("OUT_DIR").expect("cargo names a folder");
    let empty = Path::new(&folder).join("libmpi_abi.so");
    let compiler =
        std::env::var("TERN_CROSS_CC").or_else(|_| std::env::var("CC")).unwrap_or_else(|_| "cc".into());
    let made = Command::new(&compiler)
        .args(["-shared", "-nostdlib", "-x", "c", "/dev/null", "-Wl,-soname,libmpi_abi.so.1", "-o"])
        .arg(&empty)
        .status();
    assert!(made.is_ok_and(|status| status.success()), "{compiler} cannot make {}", empty.display());
    let library = match std::env::var("CARGO_PKG_NAME").as_deref() {
        Ok("tern-mpich") => "libmpi.so.12",
        Ok("tern-openmpi") => "libmpi.so.40",
        other => panic!("{other:?} has no name for its library here"),
    };
    for argument in [
        format!("-Wl,-soname,{library}").as_str(),
        &format!("-L{folder}"),
        "-Wl,--no-as-needed",
        "-lmpi_abi",
        "-Wl,-rpath,$ORIGIN:$ORIGIN/..",
        "-Wl,--enable-new-dtags",
        // As the library beneath, which calls functions of this one: see there.
        "-Wl,-z,nodelete",
    ] {
        println!("cargo:rustc-cdylib-link-arg={argument}");
    }
}
