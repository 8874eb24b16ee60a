//! Every function of libmpi.so.12 converts what goes in and what comes back.

#[path = "../../bridge/tests/conversions/mod.rs"]
mod conversions;

#[test]
fn every_function_converts_its_parameters() {
    conversions::check(&conversions::Abi {
        folder: "mpich",
        column: 1,
        library: "libmpi.so.12",
        made: "libtern_mpich.so",
        release: "MPICH Version:      5.",
    });
}
