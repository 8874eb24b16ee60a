//! Compiles the reductions that Rust has no types for, or no registers.

fn main() {
    println!("cargo::rerun-if-changed=native/longdouble.c");
    println!("cargo::rerun-if-changed=native/wide.c");
    cc::Build::new()
        .file("native/longdouble.c")
        .file("native/wide.c")
        .std("c11")
        .opt_level(3)
        .warnings(true)
        .extra_warnings(true)
        .compile("tern_native");
}
