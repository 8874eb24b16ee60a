//! Compiles the reductions that Rust has no types for.

fn main() {
    println!("cargo::rerun-if-changed=native/longdouble.c");
    cc::Build::new()
        .file("native/longdouble.c")
        .std("c11")
        .opt_level(3)
        .warnings(true)
        .extra_warnings(true)
        .compile("tern_native");
}
