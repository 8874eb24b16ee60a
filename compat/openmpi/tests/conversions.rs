//! Every function of libmpi.so.40 converts what goes in and what comes back.

#[path = "../../bridge/tests/conversions/mod.rs"]
mod conversions;

#[test]
fn every_function_converts_its_parameters() {
    conversions::check(&conversions::Abi {
        folder: "openmpi",
        column: 2,
        library: "libmpi.so.40",
        made: "libtern_openmpi.so",
        release: "Open MPI v5.",
    });
}
