//! What build scripts have in common: the compiler's own library becomes a part of what is built.
//!
//! The loader has one library less to find, and the start of a program becomes shorter by 0.1 ms on virtual machines: a constructor of
//! the shared one asks the processor what it is, which a hypervisor answers.

use std::env;
use std::path::Path;
use std::process::Command;

/// Links libgcc statically, where the linker is this machine's own: another one, as that of `make dist`, has its own way.
pub(super) fn link() {
    println!("cargo:rerun-if-env-changed=RUSTC_LINKER");
    let is_native = env::var_os("HOST") == env::var_os("TARGET") && env::var_os("RUSTC_LINKER").is_none();
    let is_plain = env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|env| env == "gnu")
        && env::var_os("CARGO_CFG_SANITIZE").is_none();
    let Some(folder) = folder_of("libgcc_eh.a").filter(|_| is_native && is_plain) else { return };
    println!("cargo:rustc-link-search=native={folder}");
    println!("cargo:rustc-link-lib=static:-bundle=gcc_eh");
    println!("cargo:rustc-link-lib=static:-bundle=gcc");
}

/// Where the C compiler keeps a library of its own.
fn folder_of(library: &str) -> Option<String> {
    let answer = Command::new("cc").arg(format!("-print-file-name={library}")).output().ok()?;
    let path = String::from_utf8(answer.stdout).ok()?;
    // It answers with the name alone if it has none.
    Path::new(path.trim()).parent()?.to_str().filter(|folder| !folder.is_empty()).map(str::to_owned)
}
