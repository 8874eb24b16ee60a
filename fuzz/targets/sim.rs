//! The parameter file of the simulator.

#[path = "../driver.rs"]
mod driver;

pub use driver::Target;

use crate::params::Params;

/// All targets of this room.
pub const TARGETS: &[Target] = &[Target { name: "sim-params", run: params, seeds: files }];

/// Parameters that are understood can be written, and read again.
fn params(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(params) = Params::parse(text) else { return };
    let written = params.to_toml();
    assert!(Params::parse(&written).is_ok(), "{written}");
}

fn files() -> Vec<Vec<u8>> {
    let sizes = b"[[level]]\nname = \"host\"\nsends = true\n[[level.size]]\nbytes = 128\nway_ns = 9\nsend_ns = 1\nreceive_ns = 2\n";
    vec![
        Params::default().to_toml().into_bytes(),
        b"ranks_per_host = 4\n".to_vec(),
        sizes.to_vec(),
        Vec::new(),
    ]
}

#[cfg(test)]
mod tests {
    #[test]
    fn any_bytes_are_survived() {
        super::driver::bounded(super::TARGETS);
    }
}
